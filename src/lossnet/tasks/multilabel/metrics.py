"""Multi-label metrics, higher is better (but :func:`hamming_loss`), vectorised over all rows.

Shapes: ``Y`` (n, L) gold 0/1, ``P`` (n, L) predicted 0/1, ``proba`` (n, L). For one row or one
label, ``tp`` counts gold and predicted, ``predicted`` counts predicted, ``gold`` counts gold.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnet.errors import SettingError
from lossnet.tasks.multilabel.arrays import (
    Bools,
    Floats,
    check_same_shape,
    indicator,
    probabilities,
)

Counts = NDArray[np.intp]


def f1_of_counts(tp: Counts, predicted: Counts, gold: Counts, *, empty: float) -> Floats:
    """F1 = 2 tp / (predicted + gold), elementwise; ``empty`` where the denominator is 0."""
    total = np.add(predicted, gold)
    f1 = 2.0 * tp / np.maximum(total, 1)
    f1[total == 0] = empty
    return f1


def _pair(Y: ArrayLike, P: ArrayLike) -> tuple[Bools, Bools]:
    gold, predicted = indicator(Y, "Y"), indicator(P, "P")
    check_same_shape(gold, predicted, "Y and P")
    return gold, predicted


def _counts(gold: Bools, predicted: Bools, axis: int) -> tuple[Counts, Counts, Counts]:
    both = gold & predicted
    return (
        np.count_nonzero(both, axis=axis),
        np.count_nonzero(predicted, axis=axis),
        np.count_nonzero(gold, axis=axis),
    )


def example_f1(Y: ArrayLike, P: ArrayLike, *, empty: Literal["one", "drop"] = "one") -> float:
    """Mean over rows of the row's F1, 2 |Y_i ∩ P_i| / (|Y_i| + |P_i|).

    A row whose gold and predicted sets are both empty counts 1; a row with only one of them
    empty counts 0. The papers drop rows without a gold label: ``empty="drop"`` does so, and
    gives NaN if no row has a label.

    >>> example_f1([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]])
    0.8333333333333333
    """
    if empty not in ("one", "drop"):
        raise SettingError(f"empty={empty!r}: expected 'one' or 'drop'")
    gold, predicted = _pair(Y, P)
    if empty == "drop":
        rows = gold.any(axis=1)
        if not rows.any():
            return float("nan")
        gold, predicted = gold[rows], predicted[rows]
    return float(f1_of_counts(*_counts(gold, predicted, axis=1), empty=1.0).mean())


def micro_f1(Y: ArrayLike, P: ArrayLike) -> float:
    """F1 of all n L decisions pooled, 2 Σ tp / Σ (predicted + gold); 0 if there is none."""
    tp, predicted, gold = (c.sum(keepdims=True) for c in _counts(*_pair(Y, P), axis=1))
    return float(f1_of_counts(tp, predicted, gold, empty=0.0)[0])


def macro_f1(Y: ArrayLike, P: ArrayLike) -> float:
    """Mean over labels of the label's F1; a label neither gold nor predicted anywhere counts 0.

    The same as scikit-learn's ``f1_score(average="macro", zero_division=0)``.
    """
    return float(f1_of_counts(*_counts(*_pair(Y, P), axis=0), empty=0.0).mean())


def subset_accuracy(Y: ArrayLike, P: ArrayLike) -> float:
    """Share of rows whose whole label set is right (exact match)."""
    gold, predicted = _pair(Y, P)
    return float((gold == predicted).all(axis=1).mean())


def hamming_loss(Y: ArrayLike, P: ArrayLike) -> float:
    """Share of the n L decisions that are wrong; lower is better."""
    gold, predicted = _pair(Y, P)
    return float(np.count_nonzero(gold != predicted) / gold.size)


def hamming(Y: ArrayLike, P: ArrayLike) -> float:
    """Share of the n L decisions that are right, 1 - :func:`hamming_loss`; higher is better."""
    return 1.0 - hamming_loss(Y, P)


def mean_average_precision(Y: ArrayLike, proba: ArrayLike) -> float:
    """Mean over rows with a gold label of the row's average precision.

    AP_i = 1/|Y_i| Σ_{l in Y_i} |{k in Y_i: p_k >= p_l}| / |{k: p_k >= p_l}|

    Tied labels share the precision at the end of their tie, as in scikit-learn's
    ``average_precision_score(average="samples")``; unlike there, rows without a gold label are
    left out. NaN if no row has one.
    """
    gold, values = indicator(Y, "Y"), probabilities(proba)
    check_same_shape(gold, values, "Y and proba")
    rows = gold.any(axis=1)
    if not rows.any():
        return float("nan")
    gold, values = gold[rows], -values[rows]
    order = np.argsort(values, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    gold = np.take_along_axis(gold, order, axis=1)
    end = _last_of_tie(values)
    row, position = np.nonzero(gold)
    last = end[row, position]
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
