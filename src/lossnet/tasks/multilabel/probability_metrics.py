"""Metrics of probabilities, higher is better; :mod:`.metrics` says what shapes and NaN mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnet.errors import DataError
from lossnet.tasks.multilabel.arrays import Floats, gold_and

#: Probabilities are kept so far from 0 and 1, where a single entry would be worth any loss.
_FLOOR = 1e-7


def mean_average_precision(Y: ArrayLike, proba: ArrayLike) -> float:
    """Mean over rows with a gold label of the row's average precision.

    AP_i = 1/|Y_i| Σ_{l in Y_i} |{k in Y_i: p_k >= p_l}| / |{k: p_k >= p_l}|

    Tied labels share the precision at the end of their tie, as in scikit-learn's
    ``average_precision_score(average="samples")``; unlike there, rows without a gold label are
    left out. NaN if no row has one.
    """
    gold, values, _ = gold_and(Y, proba, "proba")
    rows = gold.any(axis=1)
    if not rows.any():
        return float("nan")
    gold, values = gold[rows], -values[rows]
    order = np.argsort(values, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    gold = np.take_along_axis(gold, order, axis=1)
    row, position = np.nonzero(gold)
    last = _last_of_tie(values)[row, position]
    hits = np.cumsum(gold, axis=1, dtype=np.int32)[row, last]
    per_row = np.bincount(row, weights=hits / (last + 1.0), minlength=len(gold))
    return float((per_row / gold.sum(axis=1)).mean())


def _last_of_tie(ordered: Floats) -> NDArray[Any]:
    """For each position of each sorted row, the last position that holds the same value."""
    width = ordered.shape[1]
    end = np.broadcast_to(np.arange(width, dtype=np.int32), ordered.shape)
    tied = ordered[:, 1:] == ordered[:, :-1]
    if not tied.any():
        return end
    end = end.copy()
    end[:, :-1][tied] = width
    return np.minimum.accumulate(end[:, ::-1], axis=1)[:, ::-1]


def neg_log_loss(Y: ArrayLike, proba: ArrayLike) -> float:
    """Minus the log loss: mean over known entries of log p of what is true, in nats.

    Probabilities are kept 1e-7 away from 0 and 1.

    >>> round(neg_log_loss([[1, 0]], [[0.5, 0.5]]), 4)
    -0.6931
    """
    gold, values, known = gold_and(Y, proba, "proba")
    given = values if known is None else values[known]
    if given.min() < 0 or given.max() > 1:
        strange = given.min() if given.min() < 0 else given.max()
        raise DataError(f"proba holds {strange:g}: expected probabilities, from 0 to 1")
    p = np.clip(np.asarray(values, dtype=np.float64), _FLOOR, 1.0 - _FLOOR)
    logs = np.where(gold, np.log(p), np.log1p(-p))
    return float(logs.mean() if known is None else logs[known].mean())
