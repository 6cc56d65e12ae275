"""Metrics by name, and all of them at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import ArrayLike

from lossnet.errors import SettingError, unknown
from lossnet.tasks.multilabel import metrics as multilabel
from lossnet.tasks.multilabel.arrays import indicator, probabilities
from lossnet.tasks.multilabel.thresholds import apply_threshold

MetricFunction = Callable[[Any, Any], float]


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
        Metric("example-f1", multilabel.example_f1),
        Metric("micro-f1", multilabel.micro_f1),
        Metric("macro-f1", multilabel.macro_f1),
        Metric("subset-accuracy", multilabel.subset_accuracy),
        Metric("hamming", multilabel.hamming),
        Metric("map", multilabel.mean_average_precision, needs="probabilities"),
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
