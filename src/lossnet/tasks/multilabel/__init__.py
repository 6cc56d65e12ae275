"""Rows of features with a set of labels each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lossnet._lazy import lazy

if TYPE_CHECKING:
    from lossnet.tasks.multilabel.builtin import BUILTIN
    from lossnet.tasks.multilabel.classifier import EXPECTED_FAILED_CHECKS, MultiLabelClassifier
    from lossnet.tasks.multilabel.dataset import MultiLabelData
    from lossnet.tasks.multilabel.digits import contradicts, digits_attributes, digits_completion
    from lossnet.tasks.multilabel.ising_model import Ising, ising
    from lossnet.tasks.multilabel.loading import load, load_files, load_splits
    from lossnet.tasks.multilabel.metric_registry import METRICS, Metric, evaluate, get_metric
    from lossnet.tasks.multilabel.metrics import (
        example_f1,
        hamming,
        hamming_loss,
        macro_f1,
        mean_average_precision,
        micro_f1,
        subset_accuracy,
    )
    from lossnet.tasks.multilabel.splits import Splits
    from lossnet.tasks.multilabel.stratified import stratified_split
    from lossnet.tasks.multilabel.thresholds import apply_threshold, default_grid, tune_threshold

__all__ = [
    "BUILTIN",
    "EXPECTED_FAILED_CHECKS",
    "METRICS",
    "Ising",
    "Metric",
    "MultiLabelClassifier",
    "MultiLabelData",
    "Splits",
    "apply_threshold",
    "contradicts",
    "default_grid",
    "digits_attributes",
    "digits_completion",
    "evaluate",
    "example_f1",
    "get_metric",
    "hamming",
    "hamming_loss",
    "ising",
    "load",
    "load_files",
    "load_splits",
    "macro_f1",
    "mean_average_precision",
    "micro_f1",
    "stratified_split",
    "subset_accuracy",
    "tune_threshold",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "BUILTIN": "builtin",
        "EXPECTED_FAILED_CHECKS": "classifier",
        "Ising": "ising_model",
        "METRICS": "metric_registry",
        "Metric": "metric_registry",
        "MultiLabelClassifier": "classifier",
        "MultiLabelData": "dataset",
        "Splits": "splits",
        "apply_threshold": "thresholds",
        "contradicts": "digits",
        "default_grid": "thresholds",
        "digits_attributes": "digits",
        "digits_completion": "digits",
        "evaluate": "metric_registry",
        "example_f1": "metrics",
        "get_metric": "metric_registry",
        "hamming": "metrics",
        "hamming_loss": "metrics",
        "ising": "ising_model",
        "load": "loading",
        "load_files": "loading",
        "load_splits": "loading",
        "macro_f1": "metrics",
        "mean_average_precision": "metrics",
        "micro_f1": "metrics",
        "stratified_split": "stratified",
        "subset_accuracy": "metrics",
        "tune_threshold": "thresholds",
    },
)
