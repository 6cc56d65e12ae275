"""The threshold a classifier cuts its probabilities at, and the metric it is judged by."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lossnet.checks import check_choice, check_share
from lossnet.errors import DataError
from lossnet.tasks.multilabel.metric_registry import Metric, get_metric
from lossnet.tasks.multilabel.thresholds import tune_threshold

TUNED = ("tuned", "tuned-per-label")


def check_threshold(setting: Any) -> None:
    """Raise unless the setting is one of :data:`TUNED` or a number from 0 to 1."""
    if isinstance(setting, str):
        check_choice("threshold", setting, TUNED)
    else:
        check_share("threshold", setting, one=True)


def choose_threshold(
    setting: float | str, metric: Metric, Y: np.ndarray, proba: np.ndarray
) -> float | np.ndarray:
    """The threshold: tuned for the metric as the setting says, or the number given.

    A metric of probabilities knows no threshold; it is then tuned for example-F1.
    """
    if not isinstance(setting, str):
        return float(setting)
    tuned_for = metric if metric.needs == "labels" else get_metric("example-f1")
    found, _ = tune_threshold(Y, proba, metric=tuned_for, per_label=setting == "tuned-per-label")
    return float(found) if found.ndim == 0 else found


def validation_metric(
    setting: float | str, metric: Metric, Y: np.ndarray, proba: np.ndarray
) -> float:
    """The metric at the fixed threshold, or at the best shared one where it is to be tuned."""
    if metric.needs == "labels" and isinstance(setting, str):
        return float(tune_threshold(Y, proba, metric=metric)[1])
    return _finite(metric, metric(Y, proba, 0.5 if isinstance(setting, str) else setting))


def check_metric(metric: Metric, Y: np.ndarray) -> None:
    """Raise where the metric gives no number for a perfect prediction of validation data."""
    _finite(metric, metric(Y, Y.astype(np.float64)))


def _finite(metric: Metric, value: float) -> float:
    if not math.isfinite(value):
        raise DataError(
            f"metric {metric.name!r} is {value} on the validation data; give validation data that "
            "it is defined on (map needs a row with a label), or choose another metric"
        )
    return value
