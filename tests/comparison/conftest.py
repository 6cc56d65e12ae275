"""A small comparison."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparison_helpers import SMALL, rows

import lossnet
from lossnet.comparison import Comparison


@pytest.fixture(scope="session")
def compared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Comparison, Path]:
    """Two methods and all baselines over two seeds, and their folder."""
    out = tmp_path_factory.mktemp("compared") / "out"
    methods = ["cross-entropy", "seal-nce"]
    return lossnet.compare(*rows(), methods=methods, seeds=2, parameters=SMALL, out=out), out
