"""Small comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lossnet
from lossnet.comparison import Comparison

#: Parameters of a fit that takes no time.
SMALL = {"hidden": (8,), "global_hidden": 4, "max_epochs": 2, "decode": "threshold"}


def rows(n: int = 60, *, seed: int = 0, labels: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Four features, and labels that follow them."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, (X[:, [k % 4 for k in range(labels)]] > 0).astype(int)


@pytest.fixture(scope="session")
def compared(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Comparison, Path]:
    """Two methods and all baselines over two seeds, and their folder."""
    out = tmp_path_factory.mktemp("compared") / "out"
    given: dict[str, Any] = {"methods": ["cross-entropy", "seal-nce"], "parameters": SMALL}
    return lossnet.compare(*rows(), seeds=2, out=out, **given), out
