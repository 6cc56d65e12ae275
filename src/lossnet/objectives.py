"""The two kinds of objective: compare the energies of candidates, or judge one prediction."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from lossnet import sparse
from lossnet.context import Context
from lossnet.contrasts.base import Compared, Contrast
from lossnet.costs import Cost, f1
from lossnet.errors import SettingError
from lossnet.proposals.base import Proposal
from lossnet.proposals.net import NetOutput
from lossnet.terms import Weighted


@dataclass(frozen=True)
class Compare:
    """A contrast of candidates' energies.

    Args:
        contrast: what is made of the energies.
        proposal: where the candidates come from.
        cost: cost of a candidate beside the truth, for contrasts that ask for one.
        energy: the net whose energies are compared. A task-net's energy is its negative
            log-likelihood, -log P(y|x), which turns a contrast into a loss on the task-net.
    """

    contrast: Contrast
    proposal: Proposal
    cost: Cost = f1
    energy: str = "energy"

    @property
    def nets(self) -> frozenset[str]:
        """Every net it runs."""
        return self.proposal.nets | {self.energy}

    @property
    def needs_target(self) -> bool:
        return True

    def check(self, *, keep_path: bool, trains: str) -> None:
        """Raise where the proposal cannot give what the contrast or the gradient asks for."""
        proposal, contrast = type(self.proposal).__name__, type(self.contrast).__name__
        if "log_q" in self.contrast.requires - self.proposal.provides:
            raise SettingError(
                f"{contrast} needs log q of its candidates and {proposal} has none; "
                "take Samples, or a contrast without log q such as Ranking"
            )
        if keep_path:
            _check_path(self.proposal, "gradient=Direct()")
        if trains != self.energy and not (keep_path and trains in self.proposal.nets):
            raise SettingError(
                f"an update of {trains!r} compares energies of {self.energy!r}, so nothing it "
                f"trains enters the loss; train {self.energy!r} instead"
            )

    def __call__(self, context: Context, *, keep_path: bool = False) -> Tensor:
        """The loss of each example, ``(B,)``."""
        target, mask = context.target, context.batch.mask
        drawn = self.proposal(context, keep_path=keep_path)
        requires = self.contrast.requires
        e_target = None
        if "target" in requires:
            both = self._energy(context, sparse.prepend(target, drawn.y))
            e_target, e = both[0], both[1:]
        else:
            e = self._energy(context, drawn.y)
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
    def _counted(self) -> list[Weighted]:
        return [weighted for weighted in self.terms if weighted.weight]

    def check(self, *, keep_path: bool, trains: str) -> None:
        """Raise where no gradient could reach the net that is trained."""
        if not self._counted:
            raise SettingError("every term has weight 0, so there is nothing to minimise")
        if keep_path:
            _check_path(self.prediction, "judge a NetOutput")
        if keep_path and trains not in self.nets:
            raise SettingError(
                f"an update of {trains!r} judges a prediction that does not run it; train one of: "
                f"{', '.join(sorted(self.nets))}"
            )
        direct = isinstance(self.prediction, NetOutput) and self.prediction.net == trains
        if not direct and not keep_path:
            raise SettingError(
                f"an update of {trains!r} judges a prediction of "
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


def _check_path(proposal: Proposal, otherwise: str) -> None:
    """Raise where no gradient flows from a proposal's candidates to the nets they come from."""
    if "path" not in proposal.provides:
        raise SettingError(
            f"this gradient needs a path from the candidates to their net and "
            f"{type(proposal).__name__} has none; take NetOutput, Perturbed or GBI without Adam, "
            f"or {otherwise}"
        )


Objective = Compare | Judge
