"""Rows of features with a set of labels each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lossnet._lazy import lazy

if TYPE_CHECKING:
    from lossnet.tasks.multilabel.builtin import BUILTIN
    from lossnet.tasks.multilabel.classifier import EXPECTED_FAILED_CHECKS, MultiLabelClassifier
    from lossnet.tasks.multilabel.dataset import MultiLabelData
    from lossnet.tasks.multilabel.digits import contradicts, digits_attributes, digits_completion
    from lossnet.tasks.multilabel.inference_report import (
        InferenceGap,
        inference_gap,
        refinement_curve,
    )
    from lossnet.tasks.multilabel.ising_model import Ising, ising
    from lossnet.tasks.multilabel.loading import load, load_files, load_splits
    from lossnet.tasks.multilabel.metrics import (
        METRICS,
        Metric,
        apply_threshold,
        evaluate,
        example_f1,
        get_metric,
        hamming,
        hamming_loss,
        macro_f1,
        mean_average_precision,
        micro_f1,
        subset_accuracy,
    )
    from lossnet.tasks.multilabel.stratified import stratified_split
    from lossnet.tasks.multilabel.thresholds import default_grid, tune_threshold

__all__ = [
    "BUILTIN",
    "EXPECTED_FAILED_CHECKS",
    "METRICS",
    "InferenceGap",
    "Ising",
    "Metric",
    "MultiLabelClassifier",
    "MultiLabelData",
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
    "inference_gap",
    "ising",
    "load",
    "load_files",
    "load_splits",
    "macro_f1",
    "mean_average_precision",
    "micro_f1",
    "refinement_curve",
    "stratified_split",
    "subset_accuracy",
    "tune_threshold",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "BUILTIN": "builtin",
        "EXPECTED_FAILED_CHECKS": "classifier",
        "InferenceGap": "inference_report",
        "Ising": "ising_model",
        "METRICS": "metrics",
        "Metric": "metrics",
        "MultiLabelClassifier": "classifier",
        "MultiLabelData": "dataset",
        "apply_threshold": "metrics",
        "contradicts": "digits",
        "default_grid": "thresholds",
        "digits_attributes": "digits",
        "digits_completion": "digits",
        "evaluate": "metrics",
        "example_f1": "metrics",
        "get_metric": "metrics",
        "hamming": "metrics",
        "hamming_loss": "metrics",
        "inference_gap": "inference_report",
        "ising": "ising_model",
        "load": "loading",
        "load_files": "loading",
        "load_splits": "loading",
        "macro_f1": "metrics",
        "mean_average_precision": "metrics",
        "micro_f1": "metrics",
        "refinement_curve": "inference_report",
        "stratified_split": "stratified",
        "subset_accuracy": "metrics",
        "tune_threshold": "thresholds",
    },
)
