"""Terms: losses on one prediction, ``-> (B,)``; an objective is a weighted sum of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.contrast import Contrast
from lossnet.costs import ByReward, Cost, f1
from lossnet.errors import SettingError
from lossnet.needs import CONSTRAINT, LOCAL, NOTHING, TARGET, Declares, RunsEnergy, needs_of
from lossnet.parameters import Checked, Weight
from lossnet.proposals.proposal import Candidates
from lossnet.spaces import mean_positions


class Term(Declares, Protocol):
    """A loss on one prediction."""

    @property
    def cost_augmented(self) -> bool:
        """Whether a net that minimises it moves away from the truth."""
        return False

    @property
    def convex(self) -> bool:
        """Whether it is convex in the prediction's logits."""
        return False

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        """The loss ``(B,)`` of a prediction ``(1, B, *S)``."""


@dataclass(frozen=True)
class EnergyTerm(RunsEnergy, Term):
    """link(E(x, F(x))), the loss-net's opinion (paper 000, first part of Eq. 1).

    The link is the one of the contrast the energy is trained with: -σ(-E) after regression,
    E itself otherwise. With ``local`` it is the mean of the links of every position's energy, for
    an energy that was trained position by position.
    """

    contrast: Contrast | None = None
    energy: str = "energy"
    local: bool = False

    @property
    def needs(self) -> frozenset[str]:
        return LOCAL if self.local else NOTHING

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        judge = context.local_energies if self.local else context.energy
        e = judge(prediction.y, self.energy)[0]
        value = e if self.contrast is None else self.contrast.link(e)
        return mean_positions(value, context.batch.mask, lead=1) if self.local else value


@dataclass(frozen=True)
class Violation(Checked, RunsEnergy, Term):
    """E(x, y) - margin Δ(y, y*): what an inference network minimises   (paper 003, Eq. 3 and 6).

    It is minus the violation of the margin that the energy is trained to remove, without the
    truth's energy, which is a constant to the net. With ``truncate`` it is -[margin Δ(y, y*) -
    E(x, y) + E(x, y*)]_+, which has no gradient once the margin holds: paper 003 (section 4.1)
    shows training fail on it where there is no cross-entropy. Without a cost it is the
    plain energy of test-time inference.

    The history holds its negative, Δ - E, as the cost-augmented loss.

    Args:
        cost: Δ, or None.
        margin: its weight.
        truncate: stop where the margin holds.
        energy: name of the energy.
    """

    cost: Cost | None = None
    margin: Weight = 1.0
    truncate: bool = False
    energy: str = "energy"

    @property
    def cost_augmented(self) -> bool:
        return self.cost is not None and self.margin > 0

    @property
    def needs(self) -> frozenset[str]:
        return TARGET if self.cost_augmented or self.truncate else NOTHING

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        value = context.energy(prediction.y, self.energy)[0]
        if self.cost is not None and self.cost_augmented:
            cost = context.cost(self.cost, prediction.y)[0]
            value = value - self.margin * cost
            context.report("cost-augmented loss", -value)
        if self.truncate:
            e_target = context.energy(context.target.unsqueeze(0), self.energy)[0]
            value = (value - e_target).clamp_max(0.0)
        return value


@dataclass(frozen=True)
class CrossEntropy(Term):
    """Σ_i w_i cross-entropy of position i (paper 000, second part of Eq. 1), over known positions.

    w are the batch's entry weights, 1 without any. Of a net with a likelihood of its own
    (:class:`~lossnet.nets.JointNet`) it is -log p(y*|x), without w.
    """

    needs = TARGET
    convex = True

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        batch = context.batch
        if prediction.nll is not None:
            return prediction.nll(context.given_target, batch.known)
        logits = _logits(context, prediction)
        counted = batch.counted
        if (weight := batch.entry_weight) is not None:
            counted = weight if counted is None else weight * counted
        return context.space.cross_entropy(logits, context.given_target, counted)


@dataclass(frozen=True)
class CostTerm(Term):
    """The cost of the prediction, against the truth or by the reward."""

    cost: Cost | ByReward = f1

    @property
    def needs(self) -> frozenset[str]:
        return needs_of(self.cost)

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        return context.cost(self.cost, prediction.y)[0]


@dataclass(frozen=True)
class ConstraintTerm(Term):
    """The prediction's expected violations of the space's constraint."""

    needs = CONSTRAINT

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        constraint = context.space.constraint
        if constraint is None:
            raise SettingError(
                "ConstraintTerm needs a space with a constraint; take for instance "
                "Categorical(constraint=UniqueSpans(groups))"
            )
        violations = constraint(prediction.y, context.batch.mask)[0]
        context.report("violations", violations)
        return violations


@dataclass(frozen=True)
class Entropy(Term):
    """H(q), the prediction's entropy with independent positions; lower is more certain."""

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        return context.space.entropy(_logits(context, prediction), context.batch.mask)


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
class Weighted(Checked):
    """``weight`` times a term; terms of weight 0 are never computed."""

    weight: Weight
    term: Term


def _logits(context: Context, prediction: Candidates) -> Tensor:
    """The logits of a prediction, ``(B, *S)``."""
    logits = prediction.logits
    return (context.space.unrelax(prediction.y) if logits is None else logits)[0]
