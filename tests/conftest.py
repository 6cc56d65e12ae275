"""Where the shared benchmark data lies, and a shorthand to write small files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


def shared_data() -> Path | None:
    """The folder of benchmark data: ``LOSSNET_DATA``, else ``../shared/data``; None if absent."""
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    folder = Path(os.environ.get("LOSSNET_DATA", beside))
    return folder if folder.is_dir() else None


def benchmark_sets(kind: str) -> Path:
    """The folder of one kind of benchmark sets; the test is skipped where it is absent."""
    folder = shared_data()
    if folder is None or not (folder / kind).is_dir():
        pytest.skip("benchmark data is absent: set LOSSNET_DATA or put it at ../shared/data")
    return folder / kind


@pytest.fixture
def mlc() -> Path:
    """The folder of multi-label benchmark sets."""
    return benchmark_sets("mlc")


@pytest.fixture
def shared_texts() -> Path:
    """The folder of texts with many labels."""
    return benchmark_sets("text")


@pytest.fixture
def shared_images() -> Path:
    """The folder of images."""
    return benchmark_sets("image")


@pytest.fixture
def shared_roles() -> Path:
    """The folder of PropBank's roles on the English Web Treebank."""
    return benchmark_sets("sequence/srl_ewt")


@pytest.fixture
def shared_trees() -> Path:
    """The folder of the English Web Treebank's trees."""
    return benchmark_sets("sequence/trees_ewt")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write text to a file of the test's own folder."""

    def _write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return _write
