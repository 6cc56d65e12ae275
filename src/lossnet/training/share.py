"""This process's share of a batch, in one context or in pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.gradients.base import Gradient
from lossnet.noise import row_seeds
from lossnet.training.pieces import Piece, cut
from lossnet.training.source import Source
from lossnet.training.weights import WeightedRows

if TYPE_CHECKING:
    from lossnet.training.loop import Trainer


class Share:
    """What a trainer's steps on one batch are taken on: its rows, or a share of them.

    Args:
        trainer: whose phase, nets and random streams they are.
        rows, unlabelled: numbers of the batch's rows, in all processes.
    """

    def __init__(self, trainer: Trainer, rows: Tensor, unlabelled: Tensor | None) -> None:
        self._trainer, self._processes = trainer, trainer.processes
        self._piece = self._processes.piece(rows, unlabelled, self._weight_of(rows))
        once = trainer.accumulate == 1
        self._context = self._made(self._piece, self._seed()) if once else None
        self._reports: dict[str, Any] = {} if self._context is None else self._context.reports

    def given(self) -> Context | Iterator[tuple[float, Context]]:
        """What one step is taken on: the context, or new ones of all pieces with their shares."""
        return self._context or self._pieces(self._seed())

    def reduce(self, found: Gradient, parameters: Sequence[Tensor]) -> Gradient:
        """The gradient of the complete batch, of this share's."""
        return self._processes.average_gradient(found, parameters, self._piece.share)

    def reports(self) -> dict[str, float]:
        """The means of what objectives reported on the batch."""
        own = {name: float(total / count) for name, (total, count) in self._reports.items()}
        return self._processes.means(own, self._piece.share)

    def _weight_of(self, rows: Tensor) -> Tensor | None:
        source = self._trainer._source
        return source.weight_of(rows) if isinstance(source, WeightedRows) else None

    def _pieces(self, seed: int | None) -> Iterator[tuple[float, Context]]:
        own, count = self._piece, self._trainer.accumulate
        for piece in cut(own.rows, own.unlabelled, count, self._weight_of(own.rows)):
            weight = piece.unlabelled_weight * own.unlabelled_weight
            context = self._made(replace(piece, unlabelled_weight=weight), seed)
            yield piece.share, context
            for name, (total, count) in context.reports.items():
                before, times = self._reports.get(name, (0.0, 0.0))
                self._reports[name] = before + piece.share * total, times + piece.share * count

    def _seed(self) -> int | None:
        """A seed of the candidates, the same in all processes, if they are drawn row by row."""
        trainer = self._trainer
        if not trainer.draw_by_row:
            return None
        limit, generator = 2**62, trainer.generator
        return int(torch.randint(limit, (), generator=generator, device=trainer.device))

    def _made(self, piece: Piece, seed: int | None) -> Context:
        """The context of some rows."""
        trainer, average, unlabelled = self._trainer, None, None
        if self._processes.count > 1:
            average = partial(self._processes.average, share=piece.share)
        if trainer._unlabelled is not None and piece.unlabelled is not None:
            unlabelled = _batch(trainer._unlabelled, piece.unlabelled, seed)
        return Context(
            trainer.nets,
            _batch(trainer._source, piece.rows, seed),
            trainer.space,
            generator=trainer.generator,
            training=trainer.phase.trained,
            streams=trainer.streams,
            unlabelled=unlabelled,
            unlabelled_weight=piece.unlabelled_weight,
            precision=trainer.precision,
            average=average,
        )


def _batch(source: Source, rows: Tensor, seed: int | None) -> Batch:
    """The batch of some rows, with seeds of their candidates where they are drawn row by row."""
    batch = source.batch(rows)
    return batch if seed is None else replace(batch, row_seed=row_seeds(seed, rows))
