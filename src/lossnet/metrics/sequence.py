"""Metrics of tag sequences by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lossnet.metrics.spans import span_scores, token_accuracy

Tagged = Sequence[Sequence[str]]


def span_f1(true: Tagged, predicted: Tagged) -> float:
    """F1 of spans over all types, as conlleval counts them."""
    return span_scores(true, predicted).f1


def strict_span_f1(true: Tagged, predicted: Tagged) -> float:
    """F1 of spans over all types; an ``I-`` without a ``B-`` before it makes no span."""
    return span_scores(true, predicted, mode="strict").f1


SEQUENCE_METRICS: dict[str, Callable[[Tagged, Tagged], float]] = {
    "accuracy": token_accuracy,
    "span-f1": span_f1,
    "strict-span-f1": strict_span_f1,
}
