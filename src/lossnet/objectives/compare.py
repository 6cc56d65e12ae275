"""Compare the energies of several candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.contrast import Compared, Contrast
from lossnet.contrasts.meaning import ORDER, Meaning
from lossnet.costs import ByReward, Cost, f1
from lossnet.errors import SettingError
from lossnet.needs import LOCAL, NOTHING, REWARD, TARGET, needs_of
from lossnet.objectives.objective import Objective, check_path, wrong_net
from lossnet.parameters import Checked
from lossnet.proposals.proposal import Candidates, Proposal
from lossnet.proposals.samples import Samples
from lossnet.spaces import mean_positions, sparse

#: What a path from the candidates to their net may lead through.
Path = Literal["all", "cost", "none"]


@dataclass(frozen=True)
class Compare(Checked, Objective):
    """A contrast of candidates' energies.

    Args:
        contrast: what is made of the energies.
        proposal: where the candidates come from.
        cost: cost of a candidate, against the truth or by the reward, for contrasts that need one.
        energy: the net whose energies are compared. A task-net's energy is its negative
            log-likelihood, -log P(y|x), which turns a contrast into a loss on the task-net.
        path: where gradients reach the candidates' net, what they flow through: ``"all"``, energy,
            cost and log q, the ``"cost"`` alone, or ``"none"``: the candidates are constants.
        local: compare at each position separately, for energies that are a mean over positions:
            the cost of a position is its error, and ``cost`` is not used.
    """

    contrast: Contrast
    proposal: Proposal
    cost: Cost | ByReward = f1
    energy: str = "energy"
    path: Path = "all"
    local: bool = False

    @property
    def nets(self) -> frozenset[str]:
        return self.proposal.nets | {self.energy}

    @property
    def needs(self) -> frozenset[str]:
        needs = self.proposal.needs | (LOCAL if self.local else NOTHING)
        if self.contrast.requires & {"target", "log_q"}:
            needs |= TARGET
        return needs | needs_of(self.cost) if "cost" in self.contrast.requires else needs

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        return (self.proposal,)

    def meaning(self, energy: str) -> Meaning | None:
        if energy != self.energy:
            return None
        meaning: Meaning = getattr(self.contrast, "meaning", ORDER)
        # A ratio gives probabilities only next to the q it was compared with: the task-net itself.
        q = self.proposal
        tempered = isinstance(q, Samples) and q.temperature != 1
        plain = "log_q" in q.provides and q.nets == {"task"} and not tempered
        return meaning if meaning.joint != "ratio" or plain else ORDER

    def check(self, *, keep_graph: bool, trains: Sequence[str]) -> None:
        proposal, contrast = type(self.proposal).__name__, type(self.contrast).__name__
        if "log_q" in self.contrast.requires - self.proposal.provides:
            raise SettingError(
                f"{contrast} needs log q and {proposal} has none; take Samples, or Ranking()"
            )
        if self.local and ("log_q" in self.contrast.requires or self.needs >= REWARD):
            what = "log q" if "log_q" in self.contrast.requires else "a reward"
            raise SettingError(f"{what} is that of a complete output; take local=False")
        keep_graph = keep_graph and self.path != "none"
        if keep_graph:
            check_path(self.proposal, "gradient=Direct()")
        if keep_graph and self.path == "cost" and "cost" not in self.contrast.requires:
            raise SettingError(
                f"the path to the candidates' net leads through their cost, which {contrast} does "
                "not count; give the cost a weight (margin, scale), or take path='all'"
            )
        if self.energy not in trains and not (keep_graph and self.proposal.nets & set(trains)):
            raise wrong_net(trains, f"compares energies of {self.energy!r}", self.energy)

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Tensor:
        drawn = self.drawn(context, keep_graph)
        y = self.compared(context, drawn)
        if "target" not in self.contrast.requires:
            return self.loss(context, drawn, self.energies(context, y))
        e = self.energies(context, sparse.prepend(self.truth(context, drawn), y))
        return self.loss(context, drawn, e[1:], e[0])

    def drawn(self, context: Context, keep_graph: bool) -> Candidates:
        """The candidates, with a path to their net where the gradient needs one."""
        return self.proposal(context, keep_graph=keep_graph and self.path != "none")

    def compared(self, context: Context, drawn: Candidates) -> Tensor:
        """The candidates whose energies are compared, ``(K, B, *S)``.

        Where the truth is not known they agree with what stands for it, so that nothing is learnt
        there; a draw of the candidates' own distribution teaches nothing by itself.
        """
        y = drawn.y if self.path == "all" else drawn.y.detach()
        if context.batch.known is None or drawn.truth is not None:
            return y
        return context.known_or(y, context.target)

    def truth(self, context: Context, drawn: Candidates) -> Tensor:
        """The truth that the candidates are compared with, ``(B, *S)``."""
        return context.target if drawn.truth is None else drawn.truth

    def energies(self, context: Context, y: Tensor) -> Tensor:
        """Energies ``(K, B)`` of candidates; with ``local``, ``(K, B, *P)``."""
        if self.local:
            return context.local_energies(y, self.energy)
        if hasattr(context.nets[self.energy], "encode"):
            return context.energy(y, self.energy)
        return -context.space.log_prob(context.logits(self.energy), y, context.batch.mask)

    def loss(
        self, context: Context, drawn: Candidates, e: Tensor, e_target: Tensor | None = None
    ) -> Tensor:
        """The loss of each example, ``(B,)``, once the energies are known."""
        cost = None
        if "cost" in self.contrast.requires:
            local, y = self.local, drawn.y
            cost = context.space.errors(y, context.target) if local else context.cost(self.cost, y)
        if not self.local:
            log_q, log_q_target = drawn.log_q, drawn.log_q_target
            if self.path != "all":
                log_q = None if log_q is None else log_q.detach()
                log_q_target = None if log_q_target is None else log_q_target.detach()
            return self.contrast(Compared(e, e_target, cost, log_q, log_q_target))
        # Every position is an example to the contrast.
        truth = None if e_target is None else e_target.flatten()
        costs = None if cost is None else cost.flatten(1)
        per_position = self.contrast(Compared(e.flatten(1), truth, costs))
        return mean_positions(per_position.view(e.shape[1:]), context.batch.counted, lead=1)
