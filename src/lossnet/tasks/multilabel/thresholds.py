"""Thresholds tuned on validation data, all of a grid in one pass.

A label is predicted where ``proba >= threshold``, compared in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnet.checks import check_choice, check_share
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel.arrays import gold_and
from lossnet.tasks.multilabel.metrics import COUNTED, Metric, f1_of_counts, get_metric, of_counts

Array = NDArray[Any]
SMALL = (0.001, 0.002, 0.003, 0.005, 0.0075)
"""Thresholds below 0.01 in the default grid, for labels that are rare or badly calibrated."""


def default_grid() -> Array:
    """104 thresholds: five below 0.01, then 0.01, 0.02, ... 0.99."""
    return np.concatenate([SMALL, np.arange(1, 100) / 100])


def tune_threshold(
    Y: ArrayLike,
    proba: ArrayLike,
    *,
    metric: str | Metric | Callable[..., float] = "example-f1",
    per_label: bool = False,
    grid: ArrayLike | None = None,
    min_positives: int = 3,
) -> tuple[Array, float]:
    """The threshold of ``grid`` with the highest metric, and that metric.

    Of equally good thresholds the one nearest 0.5 is taken, the higher one of two as near.

    With ``per_label`` each label has its own. It maximises the label's own F1 (for ``hamming``
    its accuracy, which makes the sum the best there is); a label with fewer than
    ``min_positives`` gold rows, or whose F1 its own threshold does not raise, keeps the shared
    one. If all these together leave the metric lower than the shared threshold does, every
    label keeps the shared one, so the value is never lower than with one threshold.

    Args:
        Y: (n, L) gold 0/1, NaN where not known.
        proba: (n, L).
        metric: a name, or a function of (Y, P); a function is called once a threshold.
        per_label: one threshold a label.
        grid: the thresholds to try, in any order; :func:`default_grid` if None.
        min_positives: labels with fewer gold rows keep the shared threshold.

    Returns:
        The threshold, shape () or (L,), and the metric with it.
    """
    chosen = get_metric(metric)
    if chosen.needs == "probabilities":
        raise SettingError(f"metric {chosen.name!r} does not depend on a threshold; choose another")
    gold, values, known = gold_and(Y, proba, "proba")
    cuts = _grid(grid, values if known is None else values[known])
    # Equally good thresholds are told apart by their order: nearest 0.5 first, then the higher.
    order = np.lexsort((-cuts, np.round(np.abs(cuts - 0.5), 12)))

    if chosen.name in COUNTED and chosen.own:
        found = curve(chosen.name, gold, values, cuts, known)
    else:
        found = np.array([chosen(Y, proba, cut) for cut in cuts])
        if np.isnan(found).any():
            raise DataError(f"metric {chosen.name!r} is NaN on this data")
    best = order[np.argmax(found[order])]
    shared, value = np.array(cuts[best]), float(found[best])
    if not per_label:
        return shared, value

    tp, predicted, true = _counts(gold, values, cuts, axis=1)
    if chosen.name == "hamming":
        count = len(gold) if known is None else np.maximum(known.sum(0), 1)
        labels = 1.0 - (predicted + true - 2 * tp) / count
    else:
        labels = f1_of_counts(tp, predicted, true, empty=0.0)
    own = order[np.argmax(labels[order], axis=0)]
    better = np.take_along_axis(labels, own[None], axis=0)[0] > labels[best]
    better &= np.count_nonzero(gold, axis=0) >= min_positives
    thresholds = np.where(better, cuts[own], shared)
    own_value = chosen(Y, proba, thresholds)
    if own_value < value:
        return np.full(gold.shape[1], shared), value
    return thresholds, own_value


def _grid(grid: ArrayLike | None, values: Array) -> Array:
    if grid is None:
        if values.min() < 0 or values.max() > 1:
            span = f"{values.min():.4g} to {values.max():.4g}"
            rule = "expected probabilities in [0, 1]; give a grid to tune on other scores"
            raise DataError(f"proba ranges from {span}: {rule}")
        return default_grid()
    cuts = np.unique(np.asarray(grid, dtype=np.float64))
    if cuts.size == 0 or not np.isfinite(cuts).all():
        raise SettingError("grid must hold at least one threshold, all of them finite")
    return cuts


def _counts(gold: Array, values: Array, cuts: Array, axis: int) -> tuple[Array, Array, Array]:
    """tp and predicted of every row (``axis`` 0) or label (1) at every threshold, and gold.

    Shapes (m, n or L), gold's (n or L,). Each probability falls in one bin, the number of
    thresholds it reaches; the counts at a threshold are the bins above it, summed.
    """
    index = np.flatnonzero(values >= cuts[0])
    bins = _reached(values.ravel()[index], cuts) - 1
    unit = index // gold.shape[1] if axis == 0 else index % gold.shape[1]
    size = gold.shape[axis]
    cell = bins * size + unit

    def above(cells: Array) -> Array:
        counts = np.bincount(cells, minlength=len(cuts) * size).reshape(len(cuts), size)
        return np.cumsum(counts[::-1], axis=0)[::-1]

    hit = gold.ravel()[index]
    return above(cell[hit]), above(cell), np.count_nonzero(gold, axis=1 - axis)


def _reached(values: Array, cuts: Array) -> Array:
    """How many of the sorted ``cuts`` each value reaches; searchsorted, four times as fast.

    [0, 1] is divided into 4096 cells, an exact product in floating point. Where no cell holds
    two cuts, the count is the cell's own and one comparison more.
    """
    cells = 4096
    table = np.searchsorted(cuts, np.arange(cells + 1) / cells, side="right")
    inside = values.size and values.min() >= 0 and values.max() <= 1
    if not inside or np.diff(table).max() > 1:
        return np.searchsorted(cuts, values, side="right")
    count = table[(values * cells).astype(np.intp)]
    count += values >= np.append(cuts, np.inf)[count]
    return count


def curve(name: str, gold: Array, values: Array, cuts: Array, known: Array | None = None) -> Array:
    """A metric of :data:`COUNTED` at every threshold; see :func:`gold_and` for the arguments."""
    counts = _counts(gold, values, cuts, COUNTED[name][0])
    found: Array = of_counts(name, counts, gold.size, known)
    return found


def check_threshold(setting: Any) -> None:
    """Raise unless the setting says how to tune, or is a number from 0 to 1."""
    if isinstance(setting, str):
        check_choice("threshold", setting, ("tuned", "tuned-per-label"))
    else:
        check_share("threshold", setting, one=True)


def choose_threshold(setting: float | str, metric: Metric, Y: Array, proba: Array) -> float | Array:
    """The threshold: tuned for the metric as the setting says, or the number given.

    A metric of probabilities knows no threshold; it is then tuned for example-F1.
    """
    if not isinstance(setting, str):
        return float(setting)
    tuned_for = metric if metric.needs == "labels" else get_metric("example-f1")
    found, _ = tune_threshold(Y, proba, metric=tuned_for, per_label=setting == "tuned-per-label")
    return float(found) if found.ndim == 0 else found


def validation_metric(setting: float | str, metric: Metric, Y: Array, proba: Array) -> float:
    """The metric at the fixed threshold, or at the best shared one where it is to be tuned."""
    if metric.needs == "labels" and isinstance(setting, str):
        return float(tune_threshold(Y, proba, metric=metric)[1])
    return _finite(metric, metric(Y, proba, 0.5 if isinstance(setting, str) else setting))


def check_metric(metric: Metric, Y: Array) -> None:
    """Raise where the metric gives no number for a perfect prediction of validation data."""
    _finite(metric, metric(Y, np.nan_to_num(Y.astype(np.float64))))


def _finite(metric: Metric, value: float) -> float:
    if not math.isfinite(value):
        remedy = "give rows that it is defined on (map needs a label), or choose another metric"
        raise DataError(f"metric {metric.name!r} is {value} on the validation data; {remedy}")
    return value
