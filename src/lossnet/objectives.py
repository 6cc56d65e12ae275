"""Objectives: compare the energies of candidates, judge one prediction, or sum such parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import torch
from torch import Tensor

from lossnet import sparse
from lossnet.context import Context
from lossnet.contrasts.base import Compared, Contrast
from lossnet.costs import Cost, f1
from lossnet.errors import SettingError, unknown
from lossnet.proposals.base import Proposal
from lossnet.proposals.net import NetOutput
from lossnet.terms import Violation, Weighted


@dataclass(frozen=True)
class Compare:
    """A contrast of candidates' energies.

    Args:
        contrast: what is made of the energies.
        proposal: where the candidates come from.
        cost: cost of a candidate beside the truth, for contrasts that ask for one.
        energy: the net whose energies are compared. A task-net's energy is its negative
            log-likelihood, -log P(y|x), which turns a contrast into a loss on the task-net.
        path: where candidates keep a path to their net, what it leads through: ``"all"``, energy
            and cost, or their ``"cost"`` alone.
    """

    contrast: Contrast
    proposal: Proposal
    cost: Cost = f1
    energy: str = "energy"
    path: Literal["all", "cost"] = "all"

    def __post_init__(self) -> None:
        if self.path not in ("all", "cost"):
            raise unknown("path", self.path, ["all", "cost"])

    @property
    def nets(self) -> frozenset[str]:
        """Every net it runs."""
        return self.proposal.nets | {self.energy}

    @property
    def needs_target(self) -> bool:
        return True

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """Where its candidates come from."""
        return (self.proposal,)

    @property
    def raises_cost(self) -> frozenset[str]:
        """None: it trains an energy."""
        return frozenset()

    def check(self, *, keep_path: bool, trains: Sequence[str]) -> None:
        """Raise where the proposal cannot give what the contrast or the gradient asks for."""
        proposal, contrast = type(self.proposal).__name__, type(self.contrast).__name__
        if "log_q" in self.contrast.requires - self.proposal.provides:
            raise SettingError(
                f"{contrast} needs log q of its candidates and {proposal} has none; "
                "take Samples, or a contrast without log q such as Ranking"
            )
        if keep_path:
            _check_path(self.proposal, "gradient=Direct()")
        if keep_path and self.path == "cost" and "cost" not in self.contrast.requires:
            raise SettingError(
                f"the path to the candidates' net leads through their cost, which {contrast} does "
                "not count; give the cost a weight (margin, scale), or take path='all'"
            )
        if self.energy not in trains and not (keep_path and self.proposal.nets & set(trains)):
            raise SettingError(
                f"an update of {_names(trains)} compares energies of {self.energy!r}, so nothing "
                f"it trains enters the loss; train {self.energy!r} instead"
            )

    def __call__(self, context: Context, *, keep_path: bool = False) -> Tensor:
        """The loss of each example, ``(B,)``."""
        target, mask = context.target, context.batch.mask
        drawn = self.proposal(context, keep_path=keep_path)
        requires = self.contrast.requires
        y = drawn.y if self.path == "all" else drawn.y.detach()
        e_target = None
        if "target" in requires:
            both = self._energy(context, sparse.prepend(target, y))
            e_target, e = both[0], both[1:]
        else:
            e = self._energy(context, y)
        return self.contrast(
            Compared(
                e=e,
                e_target=e_target,
                cost=self.cost(drawn.y, target, mask) if "cost" in requires else None,
                log_q=drawn.log_q,
                log_q_target=drawn.log_q_target,
            )
        )

    def _energy(self, context: Context, y: Tensor) -> Tensor:
        if hasattr(context.nets[self.energy], "encode"):
            return context.energy(y, self.energy)
        return -context.space.log_prob(context.logits(self.energy), y, context.batch.mask)


@dataclass(frozen=True)
class Judge:
    """A weighted sum of terms on one prediction.

    Args:
        terms: the weighted terms.
        prediction: where the prediction comes from; the net's own output by default.
    """

    terms: tuple[Weighted, ...]
    prediction: Proposal = field(default_factory=NetOutput)

    @property
    def nets(self) -> frozenset[str]:
        """Every net it runs."""
        return self.prediction.nets.union(*(t.term.nets for t in self._counted))

    @property
    def needs_target(self) -> bool:
        return self.prediction.needs_target or any(t.term.needs_target for t in self._counted)

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """Where its prediction comes from."""
        return (self.prediction,)

    @property
    def raises_cost(self) -> frozenset[str]:
        """Nets that it drives away from the truth: cost-augmented ones, unfit to predict."""
        raised = any(isinstance(t.term, Violation) and t.term.raises_cost for t in self._counted)
        return self.prediction.nets if raised else frozenset()

    @property
    def convex_part(self) -> Judge:
        """The terms that are convex in the prediction's logits, alone."""
        return replace(self, terms=tuple(t for t in self._counted if t.term.convex))

    @property
    def _counted(self) -> list[Weighted]:
        return [weighted for weighted in self.terms if weighted.weight]

    def check(self, *, keep_path: bool, trains: Sequence[str]) -> None:
        """Raise where no gradient could reach the net that is trained."""
        if not self._counted:
            raise SettingError("every term has weight 0, so there is nothing to minimise")
        if keep_path:
            _check_path(self.prediction, "judge a NetOutput")
        if keep_path and not self.nets & set(trains):
            raise SettingError(
                f"an update of {_names(trains)} judges a prediction that does not run it; train "
                f"one of: {', '.join(sorted(self.nets))}"
            )
        direct = isinstance(self.prediction, NetOutput) and self.prediction.net in trains
        if not direct and not keep_path:
            raise SettingError(
                f"an update of {_names(trains)} judges a prediction of "
                f"{type(self.prediction).__name__}, through which only gradient=Unrolled() "
                "reaches it"
            )

    def __call__(self, context: Context, *, keep_path: bool = False) -> Tensor:
        """The loss of each example, ``(B,)``."""
        prediction = self.prediction(context, keep_path=True)
        total: Tensor | None = None
        for weighted in self._counted:
            value = weighted.term(context, prediction)
            value = value if weighted.weight == 1 else weighted.weight * value
            total = value if total is None else total + value
        return torch.zeros(()) if total is None else total


@dataclass(frozen=True)
class Part:
    """``weight`` times an objective, under a name of its own in the history."""

    name: str
    weight: float
    objective: Compare | Judge

    def __post_init__(self) -> None:
        if not self.weight >= 0:
            raise SettingError(f"the weight of {self.name!r} is {self.weight}; give 0 or more")


@dataclass(frozen=True)
class Compound:
    """A weighted sum of objectives, such as paper 003's Eq. 6; parts of weight 0 are left out."""

    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if not self._counted:
            raise SettingError("every part has weight 0, so there is nothing to minimise")

    @property
    def _counted(self) -> list[Part]:
        return [part for part in self.parts if part.weight]

    @property
    def nets(self) -> frozenset[str]:
        """Every net it runs."""
        return frozenset().union(*(part.objective.nets for part in self._counted))

    @property
    def needs_target(self) -> bool:
        return any(part.objective.needs_target for part in self._counted)

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """Where its candidates and predictions come from."""
        return tuple(p for part in self._counted for p in part.objective.proposals)

    @property
    def raises_cost(self) -> frozenset[str]:
        """Nets that it drives away from the truth: cost-augmented ones, unfit to predict."""
        return frozenset().union(*(part.objective.raises_cost for part in self._counted))

    def check(self, *, keep_path: bool, trains: Sequence[str]) -> None:
        """Raise where a part cannot be minimised by training these nets."""
        for part in self._counted:
            part.objective.check(keep_path=keep_path, trains=trains)

    def __call__(self, context: Context, *, keep_path: bool = False) -> Tensor:
        """The loss of each example, ``(B,)``."""
        total: Tensor | None = None
        for part in self._counted:
            value = part.objective(context, keep_path=keep_path)
            context.note(part.name, value)
            value = value if part.weight == 1 else part.weight * value
            total = value if total is None else total + value
        assert total is not None
        return total


def _names(trains: Sequence[str]) -> str:
    return " and ".join(map(repr, trains))


def _check_path(proposal: Proposal, otherwise: str) -> None:
    """Raise where no gradient flows from a proposal's candidates to the nets they come from."""
    if "path" not in proposal.provides:
        raise SettingError(
            f"this gradient needs a path from the candidates to their net and "
            f"{type(proposal).__name__} has none; take NetOutput, Perturbed, RelaxedSamples or GBI "
            f"without Adam, or {otherwise}"
        )


Objective = Compare | Judge | Compound
