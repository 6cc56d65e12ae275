"""How long training takes, by a few real batches of every phase."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from lossnet.training.callback import Callback

if TYPE_CHECKING:
    from lossnet.training.loop import Trainer

#: Batches of a phase that are timed, at most.
BATCHES = 3


class RehearsalOverError(Exception):
    """Raised to end a fit that was only rehearsed."""


@dataclass(frozen=True)
class PhaseTime:
    """What a phase of training takes.

    Args:
        name: of the phase.
        epochs: most epochs it may run.
        patience: epochs without a better validation metric that end it; None never does.
        batches: batches of an epoch.
        batch_size: rows of a batch.
        batch: seconds of a batch.
        validation: seconds of measuring the validation rows after an epoch.
    """

    name: str
    epochs: int
    patience: int | None
    batches: int
    batch_size: int
    batch: float
    validation: float

    @property
    def epoch(self) -> float:
        """Seconds of an epoch."""
        return self.batches * self.batch + self.validation

    @property
    def fewest(self) -> int:
        """Epochs if the first is the best."""
        return self.epochs if self.patience is None else min(self.epochs, self.patience + 1)


class Rehearsal(Callback):
    """A callback that times every phase after the first batch, then ends the fit.

    Attributes:
        phases: what each phase takes.
        nets: the number of weights of each net.
        trained: the names of the nets that some phase trains.
        threads: how many threads the arithmetic uses.
        seconds: what the timing itself took.
    """

    phases: list[PhaseTime]
    nets: dict[str, int]
    trained: set[str]
    threads: int
    seconds: float

    def on_batch(self, trainer: Trainer, losses: Mapping[str, float]) -> None:
        """Time all phases and raise :class:`RehearsalOverError`."""
        began, self.threads = time.perf_counter(), torch.get_num_threads()
        sizes = {name: list(net.parameters()) for name, net in trainer.nets.items()}
        self.nets = {name: sum(w.numel() for w in own) for name, own in sizes.items()}
        self.trained = {name for phase in trainer.method.phases for name in phase.trained}
        self.phases = []
        for index in range(len(trainer.method.phases)):
            trainer.phase_index = index
            trainer._start_phase()
            self.phases.append(_timed(trainer))
        self.seconds = time.perf_counter() - began
        raise RehearsalOverError


def _timed(trainer: Trainer) -> PhaseTime:
    """The phase that the trainer is in; its nets are changed."""
    batches = trainer._batches()
    # The first batch warms up: memory is allocated, the optimiser starts.
    trainer._batch(*batches[0], 0, len(batches))
    few = batches[1 : 1 + BATCHES] or batches[:1]
    began = time.perf_counter()
    for number, (rows, unlabelled) in enumerate(few):
        trainer._batch(rows, unlabelled, number, len(batches))
    each = (time.perf_counter() - began) / len(few)
    began = time.perf_counter()
    if trainer.score is not None:
        trainer._validate(trainer.score)
    seconds = time.perf_counter() - began
    return PhaseTime(
        trainer.phase.name,
        trainer.phase_epochs,
        None if trainer.score is None else trainer.phase_patience,
        len(batches),
        trainer.batch_size,
        each,
        seconds,
    )
