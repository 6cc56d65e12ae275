"""Multi-label metrics, higher is better (but :func:`hamming_loss`), vectorised over all rows.

Shapes: ``Y`` (n, L) gold 0/1, ``P`` (n, L) predicted 0/1, ``proba`` (n, L), arrays or anything
that converts to one, also scipy sparse. For one row or one label, ``tp`` counts gold and predicted,
``predicted`` counts predicted, ``gold`` counts gold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnet.errors import DataError, SettingError, unknown

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Counts = NDArray[np.intp]
MetricFunction = Callable[[Any, Any], float]


def _matrix(values: Any, name: str) -> NDArray[Any]:
    """``values`` (array, nested list, tensor, scipy sparse matrix) as a dense (n, L) array."""
    dense = values.toarray() if hasattr(values, "toarray") else values
    array = np.asarray(dense)
    if array.ndim != 2 or array.shape[0] == 0 or array.shape[1] == 0:
        raise DataError(
            f"{name} has shape {array.shape}: expected (rows, labels) with at least one of each"
        )
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} has dtype {array.dtype}: expected booleans or numbers")
    return array


def indicator(values: ArrayLike, name: str = "Y") -> Bools:
    """A 0/1 matrix (n, L), dense or scipy sparse, as booleans; other values are an error."""
    array = _matrix(values, name)
    check_binary(array, name)
    return array.astype(bool, copy=False)


def check_binary(array: NDArray[Any], name: str, labels: Sequence[str] | None = None) -> None:
    """Raise with the first row and label of a matrix (n, L) that is not 0 or 1."""
    if array.dtype in (bool, np.uint8) and array.max(initial=0) <= 1:
        return  # no copies of a large matrix
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} holds {array.dtype} values; expected only 0 and 1")
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        row, label = np.argwhere(wrong)[0]
        called = "" if labels is None else f" ({labels[label]})"
        raise DataError(
            f"{name} is not binary: row {row}, label {label}{called} is {array[row, label]}; "
            "expected only 0 and 1 (apply_threshold cuts probabilities)"
        )


def probabilities(values: ArrayLike, name: str = "proba") -> Floats:
    """A matrix (n, L) of finite float64 numbers; NaN and infinity are an error."""
    array = _matrix(values, name).astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        row, label = np.argwhere(~np.isfinite(array))[0]
        raise DataError(f"{name}[{row}, {label}] is {array[row, label]}: expected finite numbers")
    return array


def check_same_shape(first: NDArray[Any], second: NDArray[Any], names: str) -> None:
    """Raise :class:`DataError` unless the two arrays have one shape."""
    if first.shape != second.shape:
        raise DataError(f"{names} have shapes {first.shape} and {second.shape}: expected the same")


def f1_of_counts(tp: Counts, predicted: Counts, gold: Counts, *, empty: float) -> Floats:
    """F1 = 2 tp / (predicted + gold), elementwise; ``empty`` where the denominator is 0."""
    total = np.add(predicted, gold)
    return np.where(total == 0, empty, 2.0 * tp / np.maximum(total, 1))


def _pair(Y: ArrayLike, P: ArrayLike) -> tuple[Bools, Bools]:
    gold, predicted = indicator(Y, "Y"), indicator(P, "P")
    check_same_shape(gold, predicted, "Y and P")
    return gold, predicted


def _counts(gold: Bools, predicted: Bools, axis: int) -> tuple[Counts, Counts, Counts]:
    tp, found, true = (np.count_nonzero(b, axis) for b in (gold & predicted, predicted, gold))
    return tp, found, true


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
    tp, predicted, gold = (c.sum() for c in _counts(*_pair(Y, P), axis=1))
    return float(f1_of_counts(tp, predicted, gold, empty=0.0))


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


def apply_threshold(proba: ArrayLike, threshold: ArrayLike = 0.5) -> NDArray[np.uint8]:
    """1 where ``proba >= threshold``, else 0; one threshold, or (L,) for one a label.

    >>> apply_threshold([[0.2, 0.7]], [0.1, 0.8]).tolist()
    [[1, 0]]
    """
    values = probabilities(proba)
    cut = np.asarray(threshold, dtype=np.float64)
    if cut.ndim > 1 or (cut.ndim == 1 and len(cut) != values.shape[1]):
        raise DataError(
            f"threshold has shape {cut.shape}: expected one number or one for each of the "
            f"{values.shape[1]} labels"
        )
    if np.isnan(cut).any():
        raise DataError("threshold holds NaN: expected numbers")
    return (values >= cut).view(np.uint8)


@dataclass(frozen=True)
class Metric:
    """A metric, higher is better: ``function(Y, P)``, or ``function(Y, proba)``.

    Args:
        name: as written on a command line and in a results file.
        function: takes two (n, L) arrays, gold labels first, and gives one number.
        needs: whether the second array holds 0/1 labels or probabilities.
    """

    name: str
    function: MetricFunction
    needs: Literal["labels", "probabilities"] = "labels"

    def __call__(self, Y: ArrayLike, proba: ArrayLike, threshold: ArrayLike = 0.5) -> float:
        """The metric of ``proba``, cut at ``threshold`` first where labels are needed."""
        if self.needs == "labels":
            return float(self.function(Y, apply_threshold(proba, threshold)))
        return float(self.function(Y, proba))


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("example-f1", example_f1),
        Metric("micro-f1", micro_f1),
        Metric("macro-f1", macro_f1),
        Metric("subset-accuracy", subset_accuracy),
        Metric("hamming", hamming),
        Metric("map", mean_average_precision, needs="probabilities"),
    )
}


def get_metric(metric: str | Metric | MetricFunction) -> Metric:
    """The metric of that name; a function ``(Y, P) -> float`` of 0/1 labels is wrapped.

    Wrap a function of probabilities yourself: ``Metric("name", f, needs="probabilities")``.
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS)
        return METRICS[metric]
    if callable(metric):
        return Metric(getattr(metric, "__name__", type(metric).__name__), metric)
    raise SettingError(
        f"metric={metric!r}: expected a name ({', '.join(METRICS)}), a Metric or a function"
    )


def evaluate(Y: ArrayLike, proba: ArrayLike, threshold: ArrayLike = 0.5) -> dict[str, float]:
    """Every metric of :data:`METRICS`, with ``proba`` cut at ``threshold`` (one, or one a label).

    >>> evaluate([[1, 0], [0, 1]], [[0.9, 0.2], [0.1, 0.4]])["example-f1"]
    0.5
    """
    gold, values = indicator(Y, "Y"), probabilities(proba)
    predicted = apply_threshold(values, threshold).view(bool)
    return {
        name: float(metric.function(gold, predicted if metric.needs == "labels" else values))
        for name, metric in METRICS.items()
    }
