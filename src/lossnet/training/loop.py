"""The training loop, the only one: it runs the phases of any method."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from torch import Tensor, nn

from lossnet.devices import device_of, generator_on
from lossnet.errors import SettingError, TrainingError
from lossnet.method import Method, Phase
from lossnet.parameters import Count, check_value
from lossnet.precision import Precision, check_precision
from lossnet.proposals.proposal import Proposal
from lossnet.spaces import Space
from lossnet.streams import Streams, stream_seed
from lossnet.training.callback import Callback, Stoppable, losses_of
from lossnet.training.checks import check_finite, check_gradients, check_rows
from lossnet.training.predict import over_batches
from lossnet.training.processes import current, warn_if_alone
from lossnet.training.schedule import scheduled_rates
from lossnet.training.share import Share
from lossnet.training.source import Source, paired
from lossnet.training.step import build_optimiser, parameters_of, step
from lossnet.training.threads import flush_denormals, suitable_threads
from lossnet.training.worth import held_out_nats, without_energy


@dataclass(eq=False, repr=False)
class Trainer(Stoppable):
    """Runs a method's phases on batches of a source.

    Every random choice comes from ``seed``: the order of rows, the candidates and each net's
    dropout have streams of their own, so that leaving one part out moves no other. The order of
    rows is the same in every phase.

    Args:
        method: what to run.
        nets: the nets by name, changed in place.
        space: what an output is.
        data: the training rows.
        unlabelled: rows without a truth, for phases that train on them; where a phase uses both
            kinds, an epoch passes once over the longer and repeats the shorter in a new order.
        score: metric of a proposal's predictions on validation data, higher is better; None
            trains ``max_epochs`` and keeps the last weights.
        validation: validation rows, for phases that monitor their loss.
        batch_size: rows per batch.
        max_epochs: largest number of epochs of each phase, or of its ``share``.
        patience: epochs without improvement after which a phase ends, or its ``share`` of them.
        accumulate: pieces in which a batch is processed, in the memory of one piece; gradients are
            averaged by rows. With more than 1, every step and piece has passes of its own.
        precision: what the nets' passes are computed in; ``"bfloat16"`` by ``torch.autocast``,
            with weights, losses and optimisers in float32.
        seed: source of all randomness.
        draw_by_row: draw a row's candidates from the seed, the step and the row alone, so that
            they are the same in any number of processes; slower where candidates are sparse.
        callbacks: called before the first batch, after every batch and epoch, and at the end;
            of several processes, by the first alone.
    """

    method: Method
    nets: Mapping[str, nn.Module]
    space: Space
    data: Source
    _: KW_ONLY
    score: Callable[[Proposal], float] | None = None
    validation: Source | None = None
    unlabelled: Source | None = None
    batch_size: Count = 32
    max_epochs: Count = 100
    patience: Count = 10
    accumulate: Count = 1
    precision: Precision = "float32"
    seed: int = 0
    draw_by_row: bool = False
    callbacks: list[Callback] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("batch_size", "max_epochs", "patience", "accumulate"):
            check_value(name, Count, getattr(self, name))
        if missing := sorted(self.method.nets - set(self.nets)):
            raise SettingError(f"method {self.method.name!r} needs a net named {missing[0]!r}")
        known = (self.data, self.validation, self.unlabelled)
        self.sources = dict(zip(("train", "validation", "unlabelled"), known, strict=True))
        check_rows(self.method, self.sources, validated=self.score is not None)
        self.callbacks = list(self.callbacks)
        self.device = device_of(self.nets.values())
        check_precision(self.precision, self.device)
        check_gradients(self.method, self.accumulate, self.precision)
        self.processes = current()
        warn_if_alone(self.processes)
        self.processes.synchronise(self.nets)
        self.generator = generator_on(self.device, stream_seed(self.seed, "proposals"))
        self.streams = Streams(self.seed, self.nets, self.device)
        self.history: list[dict[str, Any]] = []
        self.phase_index = 0
        self._start_phase()

    @property
    def phase(self) -> Phase:
        """The phase that runs now."""
        return self.method.phases[self.phase_index]

    @property
    def _source(self) -> Source:
        """The rows this phase trains on."""
        source = self.sources[self.phase.rows]
        assert source is not None
        return source

    def run(self) -> list[dict[str, Any]]:
        """Run every phase from where training stands; return the history, one row per epoch."""
        first = self._source.batch(slice(math.ceil(self.batch_size / self.accumulate)))
        # Softplus energies produce denormal numbers, several times slower than others.
        with suitable_threads(self.nets.values(), first), flush_denormals():
            try:
                self._call("on_start")
                self._run_phases()
            finally:
                for callback in self.callbacks if self.processes.first else ():
                    callback.on_end(self)
        return self.history

    def _run_phases(self) -> None:
        while True:
            while not self._phase_over():
                self._epoch()
            self._restore_best()
            if self.phase_index == len(self.method.phases) - 1:
                return
            self.phase_index += 1
            self._start_phase()

    def _start_phase(self) -> None:
        # Every phase sees the same order of rows: what a net is given then depends on its own
        # phase alone, and a task-net trained after a loss-net starts as one trained by itself.
        self.order = generator_on("cpu", stream_seed(self.seed, "order"))
        self.order_unlabelled = generator_on("cpu", stream_seed(self.seed, "order beside"))
        limits = self.max_epochs, self.patience
        self.phase_epochs, self.phase_patience = (math.ceil(self.phase.share * n) for n in limits)
        self.epoch, self.phase_ended = 0, False
        self.best: float | None = None
        self.best_weights: dict[str, dict[str, Tensor]] = {}
        self.epochs_since_best = 0
        self._follow(self.validation is None or not self.phase.gated)
        for copy, model in self.phase.copies.items():
            self.nets[copy].load_state_dict(self.nets[model].state_dict())
        self.parameters = [parameters_of(update, self.nets) for update in self.phase.updates]
        self.optimisers = [build_optimiser(update, self.nets) for update in self.phase.updates]

    def _follow(self, follows: bool) -> None:
        """Train by the loss-net's opinion from now on, or without."""
        self.follows = follows
        self.updates = self.phase.updates if follows else without_energy(self.phase)

    def _phase_over(self) -> bool:
        ended = self.epoch > 0 and (self.phase_ended or self.stopped)
        patient = self.score is None or self.epochs_since_best < self.phase_patience
        return ended or self.epoch >= self.phase_epochs or not patient

    def _epoch(self) -> None:
        began = time.perf_counter()
        if self.processes.count > 1:
            self._start_streams()
        sums: dict[str, float] = {}
        batches = self._batches()
        for number, (rows, unlabelled) in enumerate(batches):
            measures = self._batch(rows, unlabelled, number, len(batches))
            for name, value in measures.items():
                sums[name] = sums.get(name, 0.0) + value
            self._call("on_batch", losses_of(measures))
            if self.phase_ended:
                break
        for optimiser in self.optimisers:
            optimiser.settle()
        where = f"(phase {self.phase.name!r}, epoch {self.epoch + 1}, by batch {number + 1})"
        check_finite(self.phase.updates, self.parameters, where)
        self.epoch += 1
        row: dict[str, Any] = {"phase": self.phase.name, "epoch": self.epoch}
        row |= {name: value / (number + 1) for name, value in sums.items()}
        row |= scheduled_rates(self.phase.updates, self.optimisers)
        row |= {} if self.score is None else self._validate(self.score)
        row |= self._weigh()
        row["seconds"] = time.perf_counter() - began
        self.history.append(row)
        self._call("on_epoch")

    def _start_streams(self) -> None:
        """Random streams of this process for the epoch to come, whatever it drew before.

        So a run resumes with any number of processes.
        """
        where = f"{self.phase_index}/{self.epoch}/{self.processes.rank}"
        self.streams = Streams(stream_seed(self.seed, where), self.nets, self.device)
        if not self.draw_by_row:
            seed = stream_seed(self.seed, f"proposals/{where}")
            self.generator = generator_on(self.device, seed)

    @property
    def _unlabelled(self) -> Source | None:
        """The unlabelled rows that come with the others in this phase."""
        return self.sources["unlabelled"] if self.phase.uses_unlabelled else None

    @property
    def batches_per_epoch(self) -> int:
        """About how many batches an epoch of this phase has."""
        rows = len(self._source), len(self._unlabelled or ())
        return math.ceil(max(rows) / self.batch_size)

    def _batches(self) -> list[tuple[Tensor, Tensor | None]]:
        """The rows of an epoch's batches, and the unlabelled rows that come with each."""
        if self._unlabelled is None:
            return [(rows, None) for rows in self._source.shuffled(self.batch_size, self.order)]
        generators = self.order, self.order_unlabelled
        return list(paired(self._source, self._unlabelled, self.batch_size, *generators))

    def _batch(
        self, rows: Tensor, unlabelled: Tensor | None, number: int, batches: int
    ) -> dict[str, float]:
        """Every update of the phase on one batch; the means of what their steps measured."""
        share = Share(self, rows, unlabelled)
        where = f" (phase {self.phase.name!r}, epoch {self.epoch + 1}, batch {number + 1})"
        means: dict[str, float] = {}
        turns = list(zip(self.updates, self.optimisers, self.parameters, strict=True))
        for repeat, turn in itertools.product(range(self.phase.repeats), turns):
            update, optimiser, parameters = turn
            steps = update.steps * self.phase.repeats
            for index in range(repeat * update.steps, (repeat + 1) * update.steps):
                within = (number + (index + 0.5) / steps) / batches
                optimiser.progress = (self.epoch + within) / self.phase_epochs
                how: dict[str, Any] = {"where": where, "reduce": share.reduce}
                measures = step(update, share.given(), optimiser, parameters, **how)
                for name, value in measures.items():
                    means[name] = means.get(name, 0.0) + value / steps
        return means | share.reports()

    def _validate(self, score: Callable[[Proposal], float]) -> dict[str, float]:
        if self.phase.monitor == "loss":
            assert self.validation is not None
            rows = self.nets, self.space, self.validation
            how: dict[str, Any] = {"seed": self.seed, "precision": self.precision}
            objective = self.phase.updates[0].objective
            value = self.processes.from_first(
                lambda: -float(over_batches(objective, *rows, **how).mean())
            )
            row = {"validation_loss": -value}
        else:
            value = self.processes.from_first(lambda: score(self.phase.predict))
            row = {"metric": value}
        if math.isnan(value):
            where = f"(phase {self.phase.name!r}, epoch {self.epoch})"
            raise TrainingError(
                f"the validation {self.phase.monitor} became nan {where}: early stopping fails"
            )
        # F1 of spans and IoU are 0 until the first hit: among such epochs the last has learnt most,
        # and they are no reason to stop or to lower the learning rate.
        waiting = self.phase.monitor == "metric" and value == self.best == 0.0
        if self.best is None or value > self.best or waiting:
            self.best, self.epochs_since_best = value, 0
            self.best_weights = {
                name: {key: tensor.clone() for key, tensor in self.nets[name].state_dict().items()}
                for name in self.phase.trained
            }
        else:
            self.epochs_since_best += 1
            self._lower_learning_rates()
        return row

    def _weigh(self) -> dict[str, float]:
        """Follow the loss-net in the next epoch if it is worth it, in a phase that asks."""
        if not self.phase.gated or self.validation is None:
            return {}
        rows = self.method.meaning, self.nets, self.space, self.validation
        how: dict[str, Any] = {"seed": self.seed, "precision": self.precision}
        nats = self.processes.from_first(lambda: held_out_nats(*rows, **how))
        self._follow(nats is None or nats > 0)
        return {} if nats is None else {"held-out nats": nats}

    def _lower_learning_rates(self) -> None:
        for update, optimiser in zip(self.phase.updates, self.optimisers, strict=True):
            plateau = update.optimiser.plateau
            if plateau and self.epochs_since_best % plateau == 0:
                optimiser.scale *= 0.5

    def _restore_best(self) -> None:
        for name, weights in self.best_weights.items():
            self.nets[name].load_state_dict(weights)
