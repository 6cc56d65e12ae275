"""Metrics of multi-label and sequence predictions, thresholds and splits; numpy alone."""

from lossnet.metrics.multilabel import (
    example_f1,
    hamming,
    hamming_loss,
    macro_f1,
    mean_average_precision,
    micro_f1,
    subset_accuracy,
)
from lossnet.metrics.registry import METRICS, Metric, evaluate, get_metric
from lossnet.metrics.spans import SpanScore, SpanScores, span_scores, token_accuracy
from lossnet.metrics.split import stratified_split
from lossnet.metrics.thresholds import apply_threshold, default_grid, tune_threshold

__all__ = [
    "METRICS",
    "Metric",
    "SpanScore",
    "SpanScores",
    "apply_threshold",
    "default_grid",
    "evaluate",
    "example_f1",
    "get_metric",
    "hamming",
    "hamming_loss",
    "macro_f1",
    "mean_average_precision",
    "micro_f1",
    "span_scores",
    "stratified_split",
    "subset_accuracy",
    "token_accuracy",
    "tune_threshold",
]
