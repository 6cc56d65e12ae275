"""A method: which nets, trained on what, in which order, and what predicts at the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lossnet.errors import SettingError, unknown
from lossnet.gradients.base import GradientRule
from lossnet.gradients.rules import Direct
from lossnet.objectives import Compare, Objective
from lossnet.proposals.base import Proposal
from lossnet.proposals.net import NetOutput


@dataclass(frozen=True)
class Optimiser:
    """Settings of AdamW for one net.

    Args:
        lr: learning rate.
        weight_decay: decoupled weight decay.
        clip: largest gradient norm; None leaves gradients as they are.
        plateau: halve the learning rate after this many epochs without a better validation
            metric; None never does.
    """

    lr: float = 1e-3
    weight_decay: float = 1e-5
    clip: float | None = None
    plateau: int | None = None

    def __post_init__(self) -> None:
        if not self.lr > 0:
            raise SettingError(f"the learning rate is {self.lr}; give a number above 0")
        if not self.weight_decay >= 0:
            raise SettingError(f"the weight decay is {self.weight_decay}; give 0 or more")
        if self.clip is not None and not self.clip > 0:
            raise SettingError(f"clip is {self.clip}; give a norm above 0, or None")
        if self.plateau is not None and self.plateau < 1:
            raise SettingError(f"plateau is {self.plateau}; give 1 epoch or more, or None")


@dataclass(frozen=True)
class Update:
    """Train one net on one objective.

    Args:
        trains: name of the net.
        objective: what it minimises.
        steps: how many optimiser steps a batch.
        optimiser: settings of its optimiser.
        gradient: how the gradient is found.
    """

    trains: str
    objective: Objective
    steps: int = 1
    optimiser: Optimiser = field(default_factory=Optimiser)
    gradient: GradientRule = field(default_factory=Direct)

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise SettingError(f"{self.trains!r} is trained {self.steps} steps a batch; give 1 up")
        self.objective.check(keep_path=self.gradient.keeps_path, trains=self.trains)


@dataclass(frozen=True)
class Phase:
    """A stretch of training: its updates run in order on every batch, until it stops improving.

    Nets that no update of the phase trains are frozen: in eval mode, dropout off.

    Args:
        updates: the updates.
        predict: what validation predicts with.
        monitor: what early stopping watches: the validation ``"metric"``, or the ``"loss"`` of
            the first update on validation data, where the phase's predictions mean little.
        name: shown in progress and history.
    """

    updates: tuple[Update, ...]
    predict: Proposal = field(default_factory=NetOutput)
    monitor: Literal["metric", "loss"] = "metric"
    name: str = "train"

    def __post_init__(self) -> None:
        if not self.updates:
            raise SettingError(f"phase {self.name!r} has no update")
        if self.monitor not in ("metric", "loss"):
            raise unknown("monitor", self.monitor, ["metric", "loss"])
        if len(self.trained) < len(self.updates):
            raise SettingError(f"phase {self.name!r} trains one net in two updates; join them")

    @property
    def trained(self) -> frozenset[str]:
        """The nets this phase trains."""
        return frozenset(update.trains for update in self.updates)


@dataclass(frozen=True)
class Method:
    """Phases in order, and the proposal that predicts; checked when built.

    Args:
        name: the method's name.
        phases: the phases.
        predict: the proposal that predicts once training is over.
    """

    name: str
    phases: tuple[Phase, ...]
    predict: Proposal = field(default_factory=NetOutput)

    def __post_init__(self) -> None:
        if not self.phases:
            raise SettingError(f"method {self.name!r} has no phase")
        for proposal in (self.predict, *(phase.predict for phase in self.phases)):
            if proposal.needs_target:
                raise SettingError(
                    f"method {self.name!r} predicts with {type(proposal).__name__}, which needs "
                    "the truth; predict with NetOutput or a GBI without a cost"
                )
        trained = frozenset().union(*(phase.trained for phase in self.phases))
        if missing := self.nets - trained:
            raise SettingError(
                f"method {self.name!r} uses {', '.join(sorted(missing))} without ever training it"
            )

    @property
    def nets(self) -> frozenset[str]:
        """Every net the method trains or runs."""
        names = set(self.predict.nets)
        for phase in self.phases:
            names |= phase.predict.nets
            for update in phase.updates:
                names |= {update.trains} | update.objective.nets
        return frozenset(names)

    @property
    def task_net_predicts(self) -> bool:
        """Whether prediction is one pass of the task-net."""
        return isinstance(self.predict, NetOutput)

    @property
    def descends_on_energy(self) -> bool:
        """Whether outputs are found on the energy itself, in training or in prediction."""
        proposals = [self.predict]
        for phase in self.phases:
            proposals.append(phase.predict)
            for update in phase.updates:
                objective = update.objective
                if isinstance(objective, Compare):
                    proposals.append(objective.proposal)
                else:
                    proposals.append(objective.prediction)
        return any("energy" in proposal.nets for proposal in proposals)

    @property
    def steps_a_batch(self) -> dict[str, int]:
        """Optimiser steps a batch for each net, over the phase that takes most of them."""
        return {
            name: max(
                update.steps
                for phase in self.phases
                for update in phase.updates
                if update.trains == name
            )
            for name in sorted(self.nets)
        }
