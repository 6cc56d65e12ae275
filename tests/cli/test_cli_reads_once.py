"""``evaluate`` opens every file of its data once, also with several models."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import (
    SMALL,
    SMALL_IMAGES,
    SMALL_TAGGER,
    Result,
    discs,
    write_csv,
    write_ner,
    write_ner_folder,
    write_pairs,
)

Run = Callable[..., Result]
_OPENED: list[str] = []
_HOOKED: list[bool] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _HOOKED and event == "open" and isinstance(arguments[0], str):
        _OPENED.append(arguments[0])


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The names of the files opened from now on. A hook cannot be removed, only silenced."""
    if not getattr(sys, "_lossnet_hook", False):
        sys.addaudithook(_hook)
        sys._lossnet_hook = True  # type: ignore[attr-defined]
    _OPENED.clear()
    _HOOKED.append(True)
    yield _OPENED
    _HOOKED.clear()


def _csv_parts(folder: Path) -> Path:
    for seed, part in enumerate(("train", "test")):
        write_csv(folder / f"a-{part}.csv", seed=seed)
    return folder


def _npz(folder: Path) -> Path:
    images, masks = discs(12)
    np.savez(folder / "a.npz", images=images, masks=masks)
    return folder / "a.npz"


SOURCES = {
    "rows": (lambda f: write_csv(f / "a.csv"), SMALL),
    "parts of rows": (_csv_parts, SMALL),
    "sentences": (lambda f: write_ner(f / "a.conll", pos=True), SMALL_TAGGER),
    "parts of sentences": (lambda f: write_ner_folder(f / "ner"), SMALL_TAGGER),
    "pictures": (lambda f: write_pairs(f / "discs", 12), SMALL_IMAGES),
    "arrays": (_npz, SMALL_IMAGES),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_file_is_opened_once(lossnet: Run, tmp_path: Path, opened: Any, kind: str) -> None:
    (tmp_path / "data").mkdir()
    write, settings = SOURCES[kind]
    data, model = write(tmp_path / "data"), tmp_path / "model"
    assert lossnet("train", data, "--out", model, *settings).code == 0
    shutil.copytree(model, tmp_path / "other")
    for more in ([], ["--compare-with", tmp_path / "other"]):
        opened.clear()
        result = lossnet("evaluate", model, data, *more)
        assert result.code == 0, result.err
        times = Counter(name for name in opened if Path(name).is_relative_to(tmp_path / "data"))
        assert set(times.values()) == {1}, times
