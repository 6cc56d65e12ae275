"""Gradient accumulation: a batch in pieces, in the memory of one piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.gradients.base import Gradient
from lossnet.method import Update


@dataclass(frozen=True)
class Piece:
    """Some rows of a batch, and some of the unlabelled rows that come with it.

    Attributes:
        rows, unlabelled: numbers of the rows.
        share: the share of the batch's rows, by weight.
        unlabelled_weight: what a mean over the unlabelled rows counts: their own share of the
            unlabelled rows, relative to ``share``.
    """

    rows: Tensor
    unlabelled: Tensor | None
    share: float
    unlabelled_weight: float = 1.0


def cut(
    rows: Tensor, unlabelled: Tensor | None, count: int, row_weight: Tensor | None = None
) -> Iterator[Piece]:
    """A batch in ``count`` pieces, or as many as it has rows, of about equal size.

    ``row_weight`` is that of each row, above 0; None: all alike.
    """
    count = min(count, len(rows))
    others = None if unlabelled is None else unlabelled.tensor_split(count)
    weights = None if row_weight is None else row_weight.tensor_split(count)
    for number, own in enumerate(rows.tensor_split(count)):
        share = len(own) / len(rows)
        if weights is not None and row_weight is not None:
            share = float(weights[number].double().sum() / row_weight.double().sum())
        if others is None or unlabelled is None:
            yield Piece(own, None, share)
            continue
        weight = len(others[number]) / len(unlabelled) / share
        # A piece for which no unlabelled row is left borrows one, which counts nothing.
        yield Piece(own, others[number] if weight else unlabelled[:1], share, weight)


def accumulated(
    update: Update, pieces: Iterable[tuple[float, Context]], parameters: Sequence[Tensor]
) -> Gradient:
    """The gradient of a batch: the mean of its pieces', each with its share of the rows."""
    losses: list[Tensor] = []
    measures: dict[str, float] = {}
    sums: list[Tensor | None] = [None] * len(parameters)
    for share, context in pieces:
        found = update.gradient(update.objective, context, update.trained, parameters)
        context.invalidate(context.nets)  # its passes go before those of the next piece are made
        losses.append(share * found.loss)
        for name, measure in found.measures.items():
            measures[name] = measures.get(name, 0.0) + share * measure
        for index, value in enumerate(found.values):
            if value is not None:
                total = sums[index]
                sums[index] = value * share if total is None else total.add_(value, alpha=share)
    return Gradient(torch.stack(losses).sum(), sums, measures)
