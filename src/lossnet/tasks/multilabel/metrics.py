"""Multi-label metrics, higher is better (but :func:`hamming_loss`), vectorised over all rows.

Shapes: ``Y`` (n, L) gold 0/1, ``P`` (n, L) predicted 0/1, ``proba`` (n, L), arrays or anything
that converts to one, also scipy sparse; of more than 2^26 entries, sparse ``Y`` and ``P`` stay so.
For one row or one label, ``tp`` counts gold and predicted, ``predicted`` counts predicted, ``gold``
counts gold.

NaN in Y is a label that is not known: only known entries count, and rows or labels without any are
left out of means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnet.errors import DataError, SettingError, unknown
from lossnet.tasks.multilabel.arrays import (
    Bools,
    Floats,
    gold_and,
    is_large,
    probabilities,
    sparse_counts,
    without_nan,
)
from lossnet.tasks.multilabel.probability_metrics import mean_average_precision, neg_log_loss

Counts = NDArray[np.intp]
MetricFunction = Callable[[Any, Any], float]


def f1_of_counts(
    tp: Counts, predicted: Counts, gold: Counts, *, empty: float, beta: float = 1.0
) -> Floats:
    """F = (1 + β²) tp / (predicted + β² gold), elementwise; ``empty`` where that is 0 / 0."""
    total = predicted + beta**2 * gold
    return np.where(total == 0, empty, (1.0 + beta**2) * tp / np.where(total == 0, 1.0, total))


def _sum(counts: Counts) -> Counts:
    return np.sum(counts, axis=-1)


#: Metrics of counts: whether to count by row (0) or by label (1), and the metric of tp, predicted
#: and gold (..., n or L) and of the number of entries. So every threshold takes one pass.
COUNTED: dict[str, tuple[int, Callable[..., Floats]]] = {
    "example-f1": (0, lambda tp, p, g, size: f1_of_counts(tp, p, g, empty=1.0).mean(-1)),
    "example-f2": (0, lambda tp, p, g, size: f1_of_counts(tp, p, g, empty=1.0, beta=2).mean(-1)),
    "example-f0.5": (0, lambda tp, p, g, size: f1_of_counts(tp, p, g, empty=1, beta=0.5).mean(-1)),
    "jaccard": (0, lambda tp, p, g, size: f1_of_counts(tp, u := p + g - tp, u, empty=1.0).mean(-1)),
    "micro-f1": (1, lambda tp, p, g, size: f1_of_counts(_sum(tp), _sum(p), _sum(g), empty=0.0)),
    "macro-f1": (1, lambda tp, p, g, size: f1_of_counts(tp, p, g, empty=0.0).mean(-1)),
    "subset-accuracy": (0, lambda tp, p, g, size: ((tp == g) & (p == g)).mean(-1)),
    "hamming": (1, lambda tp, p, g, size: 1.0 - (_sum(p) + _sum(g) - 2 * _sum(tp)) / size),
}


def _counted(name: str, Y: Any, P: Any) -> float:
    axis, metric = COUNTED[name]
    if _stay_sparse(Y, P):
        return float(metric(*sparse_counts(Y, P, axis), math.prod(Y.shape)))
    gold, found, known = gold_and(Y, P, "P")
    counts = (np.count_nonzero(on, axis=1 - axis) for on in (gold & found, found, gold))
    return float(of_counts(name, counts, gold.size, known))


def _stay_sparse(Y: Any, P: Any) -> bool:
    """Whether both are sparse, and too large to be made dense."""
    return is_large(Y) and hasattr(P, "tocsr")


def of_counts(name: str, counts: Iterable[Any], size: int, known: Bools | None) -> Any:
    """A metric of :data:`COUNTED`; rows (or labels) without a known entry are left out."""
    axis, metric = COUNTED[name]
    if known is not None:
        some = known.any(axis=1 - axis)
        counts, size = [one[..., some] for one in counts], int(known.sum())
    return metric(*counts, size)


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
    if empty == "drop":
        gold, predicted, _ = gold_and(Y, P, "P")
        rows = gold.any(axis=1)
        if not rows.any():
            return float("nan")
        Y, P = gold[rows], predicted[rows]  # labels that are not known are off in both
    return _counted("example-f1", Y, P)


def micro_f1(Y: ArrayLike, P: ArrayLike) -> float:
    """F1 of all n L decisions pooled, 2 Σ tp / Σ (predicted + gold); 0 if there is none."""
    return _counted("micro-f1", Y, P)


def macro_f1(Y: ArrayLike, P: ArrayLike) -> float:
    """Mean over labels of the label's F1; a label neither gold nor predicted anywhere counts 0.

    The same as scikit-learn's ``f1_score(average="macro", zero_division=0)``.
    """
    return _counted("macro-f1", Y, P)


def subset_accuracy(Y: ArrayLike, P: ArrayLike) -> float:
    """Share of rows whose whole label set is right (exact match)."""
    return _counted("subset-accuracy", Y, P)


def jaccard(Y: ArrayLike, P: ArrayLike) -> float:
    """Mean over rows of |Y_i ∩ P_i| / |Y_i ∪ P_i|; 1 where both are empty.

    >>> jaccard([[1, 1, 0]], [[1, 0, 0]])
    0.5
    """
    return _counted("jaccard", Y, P)


def hamming_loss(Y: ArrayLike, P: ArrayLike) -> float:
    """Share of the n L decisions that are wrong; lower is better."""
    if _stay_sparse(Y, P):
        return 1.0 - _counted("hamming", Y, P)
    gold, predicted, known = gold_and(Y, P, "P")
    size = gold.size if known is None else np.count_nonzero(known)
    return float(np.count_nonzero(gold != predicted) / size)


def hamming(Y: ArrayLike, P: ArrayLike) -> float:
    """Share of the n L decisions that are right, 1 - :func:`hamming_loss`; higher is better."""
    return 1.0 - hamming_loss(Y, P)


def apply_threshold(proba: ArrayLike, threshold: ArrayLike = 0.5) -> NDArray[np.uint8]:
    """1 where ``proba >= threshold``, else 0; one threshold, or (L,) for one a label.

    >>> apply_threshold([[0.2, 0.7]], [0.1, 0.8]).tolist()
    [[1, 0]]
    """
    values = probabilities(proba)
    cut = np.asarray(threshold, dtype=np.float64)
    if cut.ndim > 1 or (cut.ndim == 1 and len(cut) != values.shape[1]):
        expected = f"one number or one for each of the {values.shape[1]} labels"
        raise DataError(f"threshold has shape {cut.shape}: expected {expected}")
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
        """The metric of ``proba``, cut at ``threshold`` first where labels are needed.

        A function of your own gets no NaN: entries that are not known are 0 in both arrays, and
        rows without a known entry are left out.
        """
        second = apply_threshold(proba, threshold) if self.needs == "labels" else proba
        return float(self.function(*((Y, second) if self.own else without_nan(Y, second))))

    @property
    def own(self) -> bool:
        """Whether it is one of the library's metrics, not a user's own of that name."""
        return self == METRICS.get(self.name)

    def of_rows(self, Y: Bools, P: Bools) -> Floats:
        """The metric of each row by itself, ``(n,)``; every row has a known entry."""
        if self.name not in COUNTED or not self.own:
            Y, P = without_nan(Y, P)
            return np.array([self.function(Y[k : k + 1], P[k : k + 1]) for k in range(len(Y))])
        gold, found, known = gold_and(Y, P, "P")
        counts = (on.sum(1, keepdims=True) for on in (gold & found, found, gold))
        size = gold.shape[1] if known is None else np.maximum(known.sum(1), 1)
        return COUNTED[self.name][1](*counts, size)


METRICS: dict[str, Metric] = {
    "example-f1": Metric("example-f1", example_f1),
    "example-f2": Metric("example-f2", partial(_counted, "example-f2")),
    "example-f0.5": Metric("example-f0.5", partial(_counted, "example-f0.5")),
    "jaccard": Metric("jaccard", jaccard),
    "micro-f1": Metric("micro-f1", micro_f1),
    "macro-f1": Metric("macro-f1", macro_f1),
    "subset-accuracy": Metric("subset-accuracy", subset_accuracy),
    "hamming": Metric("hamming", hamming),
    "map": Metric("map", mean_average_precision, needs="probabilities"),
    "neg-log-loss": Metric("neg-log-loss", neg_log_loss, needs="probabilities"),
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
    known = ", ".join(METRICS)
    raise SettingError(f"metric={metric!r}: expected a name ({known}), a Metric or a function")


def evaluate(Y: ArrayLike, proba: ArrayLike, threshold: ArrayLike = 0.5) -> dict[str, float]:
    """The usual metrics, with ``proba`` cut at ``threshold`` (one, or one a label).

    Where Y has NaN, ``entries`` is the number of known entries, which alone are counted. Sparse
    predicted labels take the place of ``proba`` where Y is sparse and large; there is no ``map``.

    >>> evaluate([[1, 0], [0, 1]], [[0.9, 0.2], [0.1, 0.4]])["example-f1"]
    0.5
    """
    rare = "example-f2", "example-f0.5", "jaccard", "neg-log-loss"
    if _stay_sparse(Y, proba):
        usual = [name for name in METRICS if name not in (*rare, "map")]
        return {name: float(METRICS[name].function(Y, proba)) for name in usual}
    gold, _, known = gold_and(Y, proba, "proba")
    values, truth = probabilities(proba), gold if known is None else np.where(known, gold, np.nan)
    predicted = apply_threshold(values, threshold).view(bool)
    found = {
        name: float(metric.function(truth, predicted if metric.needs == "labels" else values))
        for name, metric in METRICS.items()
        if name not in rare
    }
    return found if known is None else found | {"entries": int(known.sum())}
