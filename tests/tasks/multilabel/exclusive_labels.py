"""Rows of which exactly one label is on."""

from __future__ import annotations

import numpy as np


def one_of_three(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One of three labels is on; the inputs say little about which."""
    rng = np.random.default_rng(seed)
    which = rng.integers(3, size=rows)
    Y = np.eye(3, dtype=int)[which]
    return (Y + 1.5 * rng.normal(size=Y.shape)).astype(np.float32), Y
