"""What a fitted model's inference does: refinement step by step, and two nets side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lossnet.errors import SettingError
from lossnet.plain_text import aligned
from lossnet.tasks.multilabel.metrics import apply_threshold, get_metric

if TYPE_CHECKING:
    from lossnet.tasks.multilabel.classifier import MultiLabelClassifier

Differences = tuple[tuple[str, str, int], ...]
CHANGES = ("off -> on", "on -> off")


def refinement_curve(
    model: MultiLabelClassifier, X: Any, Y: Any = None, *, steps: int = 30
) -> np.ndarray:
    """The model's metric after 0, 1, ... ``steps`` refinement steps, ``(steps + 1,)``.

    For methods that predict by descending on the energy, such as ``alen`` and ``dvn``, and for
    any with a loss-net once ``refine`` is set. Every step is cut at the model's ``threshold_``,
    which is tuned for the number of steps it predicts with.
    """
    data, metric = model._scored((X, Y)), get_metric(model.metric)
    path = model._calibrated(model._path(model._descent(steps), data))
    return np.array([metric(data.Y, proba, model.threshold_) for proba in path])


@dataclass(frozen=True)
class InferenceGap:
    """How a test-time net and a cost-augmented net differ (paper 003, Table 3).

    Args:
        metric: name of the metric.
        test_time: its value for the test-time net A.
        cost_augmented: its value for the cost-augmented net F.
        differences: where A is right and F differs: label, what A has -> what F has, count;
            the most frequent first.
    """

    metric: str
    test_time: float
    cost_augmented: float
    differences: Differences

    @property
    def gap(self) -> float:
        """How much higher the test-time net scores."""
        return self.test_time - self.cost_augmented

    def __str__(self) -> str:
        nets = {"test-time net": self.test_time, "cost-augmented net": self.cost_augmented}
        both = {**nets, "gap": self.gap}.items()
        values = aligned([[what, f"{self.metric} {value:.4f}"] for what, value in both])
        if not self.differences:
            return f"{values}\n\nthe nets agree wherever the test-time net is right"
        head = ["label", "test-time -> cost-augmented", "count"]
        rows = [[label, change, str(count)] for label, change, count in self.differences]
        return f"{values}\n\n{aligned([head, *rows], right=[2])}"


def inference_gap(
    model: MultiLabelClassifier, X: Any, Y: Any = None, *, most: int = 10
) -> InferenceGap:
    """How the model's two inference networks differ on ``(X, Y)``.

    Both are cut at the model's ``threshold_``. A stacked cost-augmented net is shown the truth,
    as in training.

    Args:
        model: fitted with ``infnet`` or ``infnet-plus``.
        X: rows, or data with labels.
        Y: their labels.
        most: how many of the differences are listed.
    """
    from sklearn.utils.validation import check_is_fitted

    from lossnet.proposals import NetOutput

    if most < 0:
        raise SettingError(f"most must be at least 0, got {most}")
    check_is_fitted(model, "nets_")
    if missing := {"task", "augmented"} - set(model.nets_):
        lacks = f"has no net {min(missing)!r} as it is set, or it was not kept"
        use = "methods with both nets are infnet (with loss='margin') and infnet-plus"
        raise SettingError(f"{model.method_.name!r} {lacks}; {use}")
    data, metric = model._scored((X, Y)), get_metric(model.metric)
    nets = ("task", "augmented")
    outputs = [model._calibrated(model._outputs(NetOutput(net), data)) for net in nets]
    on, other = (apply_threshold(p, model.threshold_) for p in outputs)
    test_time, augmented = (metric(data.Y, p, model.threshold_) for p in outputs)
    found = _differences(data.Y, on, other, model.label_names_)[:most]
    return InferenceGap(metric.name, test_time, augmented, found)


def _differences(gold: Any, on: Any, other: Any, names: list[str]) -> Differences:
    """Label, change and count of what ``other`` changes where ``on`` is right, most first."""
    changed = (on == gold) & (other != on)  # nothing equals NaN, a label that is not known
    counts = np.array([(changed & (on == value)).sum(0) for value in (0, 1)])
    found = [
        (name, CHANGES[value], int(counts[value, label]))
        for label, name in enumerate(names)
        for value in (0, 1)
        if counts[value, label]
    ]
    return tuple(sorted(found, key=lambda difference: -difference[2]))
