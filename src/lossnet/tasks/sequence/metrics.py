"""Metrics of tag sequences by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lossnet.tasks.sequence.span_metrics import span_scores, token_accuracy

Tagged = Sequence[Sequence[str]]


def accuracy(true: Tagged, predicted: Tagged, scheme: str | None = None) -> float:
    """Share of tokens whose tag is right, whatever the scheme."""
    return token_accuracy(true, predicted)


def span_f1(true: Tagged, predicted: Tagged, scheme: str | None = None) -> float:
    """F1 of spans over all types, as conlleval counts them."""
    return span_scores(true, predicted, scheme=scheme).f1


def strict_span_f1(true: Tagged, predicted: Tagged, scheme: str | None = None) -> float:
    """F1 of spans over all types; an ``I-`` without a ``B-`` before it makes no span."""
    return span_scores(true, predicted, mode="strict", scheme=scheme).f1


#: ``(true, predicted, scheme) -> number``; the scheme as in :func:`span_scores`.
SEQUENCE_METRICS: dict[str, Callable[[Tagged, Tagged, str | None], float]] = {
    "accuracy": accuracy,
    "span-f1": span_f1,
    "strict-span-f1": strict_span_f1,
}
