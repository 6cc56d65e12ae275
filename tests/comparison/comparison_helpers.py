"""What the tests of comparisons share."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from lossnet.comparison import Comparison, MeasuredRun
from lossnet.comparison.storage import _pack

#: Parameters of a fit that takes no time.
SMALL = {"hidden": (8,), "global_hidden": 4, "max_epochs": 2, "decode": "threshold"}


def rows(n: int = 60, *, seed: int = 0, labels: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Four features, and labels that follow them."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, (X[:, [k % 4 for k in range(labels)]] > 0).astype(int)


def plain(run: MeasuredRun) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """All of a run but its times."""
    history = [{k: v for k, v in row.items() if k != "seconds"} for row in run.history]
    return _pack(replace(run, seconds=0.0, predictions_per_second=0.0, history=history))


def assert_same(one: Comparison, other: Comparison) -> None:
    assert [(r.method, r.seed) for r in one.runs] == [(r.method, r.seed) for r in other.runs]
    for a, b in zip(one.runs, other.runs, strict=True):
        (about, arrays), (about_b, arrays_b) = plain(a), plain(b)
        assert json.dumps(about, sort_keys=True) == json.dumps(about_b, sort_keys=True)
        assert arrays.keys() == arrays_b.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(array, arrays_b[name], err_msg=f"{a.method} {name}")
