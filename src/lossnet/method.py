"""A method: which nets, trained on what, in which order, and what predicts at the end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lossnet.contrasts.meaning import ORDER, Meaning
from lossnet.errors import SettingError, unknown
from lossnet.gradients.base import GradientRule
from lossnet.gradients.rules import Direct
from lossnet.needs import NOTHING, TARGET, UNLABELLED
from lossnet.nets.base import Derivation
from lossnet.objectives import Objective
from lossnet.parameters import Checked, Count, Positive, Weight, check_value
from lossnet.proposals.net import NetOutput
from lossnet.proposals.proposal import Proposal

Rows = Literal["train", "validation", "unlabelled"]
Decay = Literal["linear", "cosine", False]


@dataclass(frozen=True)
class Optimiser(Checked):
    """Settings of AdamW for one net.

    Args:
        lr: learning rate.
        weight_decay: decoupled weight decay.
        clip: largest gradient norm; None leaves gradients as they are.
        plateau: halve the learning rate after this many epochs without a better validation
            metric; None never does.
        beta1: momentum; adversarial training works better with less, 0.5 in paper 004.
        encoder_lr: learning rate of modules with the attribute ``pretrained = True``; None takes
            their ``suggested_lr``, or 5e-5.
        warmup: share of the phase's steps, over all its epochs, in which the learning rates rise
            linearly from 0; None is 0.1 where the update trains a pretrained module, else 0.
        decay: let them then fall to 0 at ``max_epochs``, ``"linear"`` or ``"cosine"``; False keeps
            them; None is ``"linear"`` where the update trains a pretrained module, else False.
            Both multiply with what ``plateau`` leaves.
    """

    lr: Positive = 1e-3
    weight_decay: Weight = 1e-5
    clip: Positive | None = None
    plateau: Count | None = None
    beta1: float = 0.9
    encoder_lr: Positive | None = None
    warmup: Weight | None = None
    decay: Decay | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.beta1 < 1:
            raise SettingError(f"beta1 must be from 0 to below 1, got {self.beta1}")
        if self.warmup is not None and not self.warmup < 1:
            raise SettingError(f"warmup must be below 1 or None, got {self.warmup}")

    @property
    def for_adamw(self) -> dict[str, Any]:
        """What AdamW takes besides learning rates."""
        return {"betas": (self.beta1, 0.999), "weight_decay": self.weight_decay}


@dataclass(frozen=True)
class Update:
    """Train one net, or several together, on one objective.

    Args:
        trains: name of the net, or names of the nets.
        objective: what it minimises.
        steps: how many optimiser steps per batch.
        optimiser: settings of its optimiser.
        gradient: how the gradient is found.
        record_gradient_norm: record the gradient's norm in the history.
    """

    trains: str | tuple[str, ...]
    objective: Objective
    steps: int = 1
    optimiser: Optimiser = field(default_factory=Optimiser)
    gradient: GradientRule = field(default_factory=Direct)
    record_gradient_norm: bool = False

    def __post_init__(self) -> None:
        if not self.trained or len(set(self.trained)) < len(self.trained):
            raise SettingError(f"trains must be one net, or different ones, got {self.trains!r}")
        check_value(f"steps of {self.name!r}", Count, self.steps)
        self.gradient.check(self.objective, self.trained)
        if idle := set(self.trained) - self.objective.nets:
            never = f"the update of {self.name!r} never runs {min(idle)!r}"
            raise SettingError(f"{never}; leave that net out, or give it a part of the objective")

    @property
    def trained(self) -> tuple[str, ...]:
        """The nets it trains."""
        return (self.trains,) if isinstance(self.trains, str) else self.trains

    @property
    def name(self) -> str:
        """What progress, history and errors call it."""
        return "+".join(self.trained)

    @property
    def nets(self) -> frozenset[str]:
        """Every net it trains or runs."""
        return self.objective.nets | self.gradient.nets | set(self.trained)


@dataclass(frozen=True)
class Phase(Checked):
    """A stretch of training: its updates run in order on every batch, until it stops improving.

    Nets that no update of the phase trains are frozen: in eval mode, dropout off.

    Args:
        updates: the updates.
        predict: what validation predicts with.
        rows: what is trained on: the ``"train"`` rows, the ``"validation"`` rows or
            ``"unlabelled"`` ones; the last two only for objectives that do not need the truth.
        copies: nets that start the phase with another's weights, by name.
        gated: train by the loss-net's opinion only while it knows more of validation rows than
            the task-net; see :mod:`lossnet.training.worth`.
        share: of the trainer's ``max_epochs`` and ``patience``, rounded up.
        repeats: how many times per batch the updates run in order, each with all its steps.
        monitor: what early stopping watches: the validation ``"metric"``, or the ``"loss"`` of
            the first update on validation data, where the phase's predictions mean little.
        name: shown in progress and history.
    """

    updates: tuple[Update, ...]
    predict: Proposal = field(default_factory=NetOutput)
    monitor: Literal["metric", "loss"] = "metric"
    name: str = "train"
    rows: Rows = "train"
    copies: Mapping[str, str] = field(default_factory=dict)
    repeats: Count = 1
    share: Positive = 1.0
    gated: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.updates:
            raise SettingError(f"phase {self.name!r} has no update")
        if self.monitor == "loss" and self.updates[0].objective.needs >= UNLABELLED:
            what = f"phase {self.name!r} monitors a loss on unlabelled rows"
            raise SettingError(f"{what}; take monitor='metric'")
        if len(self.trained) < sum(len(update.trained) for update in self.updates):
            raise SettingError(f"phase {self.name!r} trains one net in two updates; join them")
        for update in self.updates:
            if self.rows != "train" and update.objective.needs >= TARGET:
                came = f"phase {self.name!r} trains {update.name!r} on {self.rows} rows, and its "
                rule = "objective needs the truth; take rows='train', or an objective without "
                raise SettingError(f"{came}{rule}cross-entropy, costs or contrasts")

    @property
    def uses_unlabelled(self) -> bool:
        """Whether a batch of unlabelled rows comes with every batch of ``rows``."""
        return any(update.objective.needs >= UNLABELLED for update in self.updates)

    @property
    def trained(self) -> frozenset[str]:
        """The nets this phase trains."""
        return frozenset(name for update in self.updates for name in update.trained)


@dataclass(frozen=True)
class Method:
    """Phases in order, and the proposal that predicts; checked when built.

    Args:
        name: the method's name.
        phases: the phases.
        predict: the proposal that predicts once training is over.
        derived: nets that are made from another net's pass, by name.
        given: nets that come ready, such as the outputs of a foreign model, and are never trained.
    """

    name: str
    phases: tuple[Phase, ...]
    predict: Proposal = field(default_factory=NetOutput)
    derived: Mapping[str, Derivation] = field(default_factory=dict)
    given: frozenset[str] = NOTHING

    def __post_init__(self) -> None:
        if not self.phases:
            raise SettingError(f"method {self.name!r} has no phase")
        for proposal in self._predicts:
            self._check_predicts(proposal)
        if augmented := self._cost_augmented & self.predict.nets:
            what = f"method {self.name!r} predicts with {min(augmented)!r}, a cost-augmented net, "
            rule = "which is trained to differ from the truth; predict with the test-time net"
            raise SettingError(what + rule)
        self._check_nets()

    def _check_nets(self) -> None:
        trained = frozenset().union(*(phase.trained | {*phase.copies} for phase in self.phases))
        free = {name: plan.base for name, plan in self.derived.items() if not plan.kind.trainable}
        trained |= {name for name, base in free.items() if base in trained}
        what = f"method {self.name!r}"
        if missing := self.nets - trained - self.given:
            raise SettingError(f"{what} uses {', '.join(sorted(missing))} without ever training it")
        if both := self.given & trained:
            came = f"{what} trains {min(both)!r}, a net that is given"
            raise SettingError(f"{came}; leave it out of given, or out of the phases")
        for name, plan in self.derived.items():
            if plan.base in self.derived:
                rule = f"the net {name!r} must not be derived from {plan.base!r}, itself derived"
                raise SettingError(f"{rule}; derive both from the same net")
        for phase in self.phases:
            named = {*phase.copies, *phase.copies.values()}
            if absent := named - self.nets:
                raise unknown(f"net to copy in {phase.name!r}:", sorted(absent)[0], self.nets)
            used = frozenset().union(*(update.nets for update in phase.updates))
            if phase.rows != "train" and (stacked := self._with_target(used)):
                raise SettingError(
                    f"phase {phase.name!r} trains on {phase.rows} rows, and the net "
                    f"{stacked[0]!r} needs the truth; take rows='train'"
                )
            for update in phase.updates:
                if stacked := self._with_target(update.objective.nets_unlabelled):
                    came = f"the update of {update.name!r} runs {stacked[0]!r} on unlabelled rows"
                    rule = "and that net needs the truth; take a net of x alone there"
                    raise SettingError(f"{came}, {rule}")

    def _with_target(self, nets: frozenset[str]) -> list[str]:
        """Those of the nets that can run only where the truth is known."""
        derived = sorted(nets & self.derived.keys())
        return [name for name in derived if self.derived[name].kind.needs_target]

    def _check_predicts(self, proposal: Proposal) -> None:
        stacked = self._with_target(proposal.nets)
        if proposal.needs >= TARGET or stacked:
            what = f"the net {stacked[0]!r}" if stacked else type(proposal).__name__
            rule = "predict with the output of a net of x alone, or a GBI without a cost"
            came = f"method {self.name!r} predicts with {what}, which needs the truth"
            raise SettingError(f"{came}; {rule}")

    @property
    def _cost_augmented(self) -> frozenset[str]:
        """Nets whose last training drove them away from the truth."""
        augmented: frozenset[str] = frozenset()
        for phase in self.phases:
            copied = {copy for copy, model in phase.copies.items() if model in augmented}
            augmented = augmented - phase.copies.keys() | copied
            for update in phase.updates:
                augmented = augmented - set(update.trained) | update.objective.cost_augmented
        return augmented

    @property
    def updates(self) -> list[Update]:
        """The updates of all phases."""
        return [update for phase in self.phases for update in phase.updates]

    @property
    def _predicts(self) -> list[Proposal]:
        """What predicts at the end, and in each phase."""
        return [self.predict, *(phase.predict for phase in self.phases)]

    @property
    def nets(self) -> frozenset[str]:
        """Every net the method trains, runs or copies weights to."""
        names = {name for proposal in self._predicts for name in proposal.nets}
        names |= {name for update in self.updates for name in update.nets}
        names |= {name for phase in self.phases for name in phase.copies}
        return frozenset(names | {self.derived[name].base for name in names & self.derived.keys()})

    @property
    def needs(self) -> frozenset[str]:
        """What it needs of the task: see :mod:`lossnet.needs`."""
        rows = [UNLABELLED for phase in self.phases if phase.rows == "unlabelled"]
        parts = [*(update.objective for update in self.updates), *self._predicts]
        return NOTHING.union(*rows, *(part.needs for part in parts))

    @property
    def task_net_predicts(self) -> bool:
        """Whether prediction is one pass of the task-net."""
        return isinstance(self.predict, NetOutput)

    @property
    def meaning(self) -> Meaning:
        """What the loss-net's energies mean, as the last update that trains it says."""
        trained = [update for update in self.updates if "energy" in update.trained]
        found = [update.objective.meaning("energy") for update in reversed(trained)]
        return next((meaning for meaning in found if meaning is not None), ORDER)

    @property
    def descends_on_energy(self) -> bool:
        """Whether outputs are found on the energy itself, in training or in prediction."""
        training = [p for update in self.updates for p in update.objective.proposals]
        return any("energy" in proposal.nets for proposal in (*self._predicts, *training))

    @property
    def steps_per_batch(self) -> dict[str, int]:
        """Optimiser steps per batch for each net, over the phase that takes most of them."""
        steps = dict.fromkeys(sorted(self.nets), 0)
        for phase, update in ((p, update) for p in self.phases for update in p.updates):
            steps |= {n: max(steps[n], update.steps * phase.repeats) for n in update.trained}
        return steps
