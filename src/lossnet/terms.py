"""Terms: losses on one prediction, ``-> (B,)``; an objective is a weighted sum of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.contrast import Contrast
from lossnet.costs import ByReward, Cost, f1
from lossnet.errors import SettingError
from lossnet.needs import LOCAL, NOTHING, TARGET, needs_of
from lossnet.proposals.proposal import Candidates
from lossnet.spaces import mean_positions


class Term(Protocol):
    """A loss on one prediction."""

    @property
    def nets(self) -> frozenset[str]:
        """Nets it runs besides the one that predicts."""
        ...

    @property
    def needs(self) -> frozenset[str]:
        """What it needs of the task, such as ``"target"``: see :mod:`lossnet.needs`."""
        ...

    @property
    def cost_augmented(self) -> bool:
        """Whether a net that minimises it moves away from the truth."""
        ...

    @property
    def convex(self) -> bool:
        """Whether it is convex in the prediction's logits."""
        ...

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        """The loss ``(B,)`` of a prediction ``(1, B, *S)``."""
        ...


@dataclass(frozen=True)
class EnergyTerm:
    """link(E(x, F(x))), the loss-net's opinion (paper 000, first part of Eq. 1).

    The link is the one of the contrast the energy is trained with: -σ(-E) after regression,
    E itself otherwise. With ``local`` it is the mean of the links of every position's energy, for
    an energy that was compared so.
    """

    contrast: Contrast | None = None
    energy: str = "energy"
    local: bool = False
    cost_augmented = False
    convex = False

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.energy})

    @property
    def needs(self) -> frozenset[str]:
        return LOCAL if self.local else NOTHING

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        judge = context.local_energies if self.local else context.energy
        e = judge(prediction.y, self.energy)[0]
        value = e if self.contrast is None else self.contrast.link(e)
        return mean_positions(value, context.batch.mask, lead=1) if self.local else value


@dataclass(frozen=True)
class Violation:
    """E(x, y) - margin Δ(y, y*): what an inference network minimises   (paper 003, Eq. 3 and 6).

    It is minus the violation of the margin that the energy is trained to remove, without the
    truth's energy, which is a constant to the net. With ``truncate`` it is -[margin Δ(y, y*) -
    E(x, y) + E(x, y*)]_+, which has no gradient once the margin holds: paper 003 (section 4.1)
    shows training fail on it where there is no cross-entropy besides. Without a cost it is the
    plain energy of test-time inference.

    The history holds its negative, Δ - E, as the cost-augmented loss.

    Args:
        cost: Δ, or None.
        margin: its weight.
        truncate: stop where the margin holds.
        energy: name of the energy.
    """

    cost: Cost | None = None
    margin: float = 1.0
    truncate: bool = False
    energy: str = "energy"
    convex = False

    def __post_init__(self) -> None:
        if not self.margin >= 0:
            raise SettingError(f"margin must be at least 0, got {self.margin}")

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.energy})

    @property
    def cost_augmented(self) -> bool:
        return self.cost is not None and self.margin > 0

    @property
    def needs(self) -> frozenset[str]:
        return TARGET if self.cost_augmented or self.truncate else NOTHING

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        value = context.energy(prediction.y, self.energy)[0]
        if self.cost is not None and self.cost_augmented:
            cost = self.cost(prediction.y, context.target, context.batch.mask)[0]
            value = value - self.margin * cost
            context.report("cost-augmented loss", -value)
        if self.truncate:
            e_target = context.energy(context.target.unsqueeze(0), self.energy)[0]
            value = (value - e_target).clamp_max(0.0)
        return value


@dataclass(frozen=True)
class CrossEntropy:
    """Σ_i cross-entropy of position i (paper 000, second part of Eq. 1)."""

    nets: frozenset[str] = frozenset()
    needs = TARGET
    cost_augmented = False
    convex = True

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        space = context.space
        logits = prediction.logits
        logits = space.unrelax(prediction.y) if logits is None else logits
        return space.cross_entropy(logits[0], context.target, context.batch.mask)


@dataclass(frozen=True)
class CostTerm:
    """The cost of the prediction beside the truth, or by the reward."""

    cost: Cost | ByReward = f1
    nets: frozenset[str] = frozenset()
    cost_augmented = False
    convex = False

    @property
    def needs(self) -> frozenset[str]:
        return needs_of(self.cost)

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        return context.cost(self.cost, prediction.y)[0]


@dataclass(frozen=True)
class Entropy:
    """H(q), the prediction's entropy with independent positions; lower is more certain."""

    nets: frozenset[str] = frozenset()
    needs = NOTHING
    cost_augmented = False
    convex = False

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        logits = prediction.logits
        logits = context.space.unrelax(prediction.y) if logits is None else logits
        return context.space.entropy(logits[0], context.batch.mask)


@dataclass(frozen=True)
class NegativeEntropy(Entropy):
    """-H(q). With an energy E = -log p of equal weight, E - H stands for KL(q || p).

    Exactly so where E is linear in y, as the local part of an energy is; elsewhere E at the mean
    of q takes the place of its expectation. Without this term a task-net that follows the energy
    becomes certain of the most probable output; with it, it keeps probabilities that mean
    something.
    """

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        return -super().__call__(context, prediction)


@dataclass(frozen=True)
class Weighted:
    """``weight`` times a term; terms of weight 0 are never computed."""

    weight: float
    term: Term

    def __post_init__(self) -> None:
        if not self.weight >= 0:
            raise SettingError(f"the weight of a term must be at least 0, got {self.weight}")
