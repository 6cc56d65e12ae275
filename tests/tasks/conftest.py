"""A small multi-label task, and a classifier that learns it in a moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lossnet import MultiLabelClassifier


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    """X (80, 6) and Y (80, 3): two labels by the sign of a feature, the third where both are on."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)).astype(np.float32)
    first, second = X[:, 0] > 0, X[:, 1] > 0
    return X, np.stack([first, second, first & second], axis=1).astype(int)


@pytest.fixture
def classifier() -> Callable[..., MultiLabelClassifier]:
    """A function that makes a quick classifier, its arguments in place of the quick defaults."""

    def make(method: Any = "cross-entropy", **params: Any) -> MultiLabelClassifier:
        quick = {"hidden": (8,), "global_hidden": 4, "max_epochs": 4, "random_state": 0}
        return MultiLabelClassifier(method, **{**quick, **params})

    return make
