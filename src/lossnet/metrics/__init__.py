"""Metrics of multi-label, sequence and image predictions, thresholds and splits; numpy alone."""

from lossnet.metrics.images import (
    IMAGE_METRICS,
    class_ious,
    evaluate_masks,
    global_iou,
    image_ious,
    mean_iou,
    pixel_accuracy,
)
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
    "IMAGE_METRICS",
    "METRICS",
    "Metric",
    "SpanScore",
    "SpanScores",
    "apply_threshold",
    "class_ious",
    "default_grid",
    "evaluate",
    "evaluate_masks",
    "example_f1",
    "get_metric",
    "global_iou",
    "hamming",
    "hamming_loss",
    "image_ious",
    "macro_f1",
    "mean_average_precision",
    "mean_iou",
    "micro_f1",
    "pixel_accuracy",
    "span_scores",
    "stratified_split",
    "subset_accuracy",
    "token_accuracy",
    "tune_threshold",
]
