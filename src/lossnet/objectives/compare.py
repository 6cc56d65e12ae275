"""Compare the energies of several candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.contrast import Compared, Contrast
from lossnet.costs import ByReward, Cost, f1
from lossnet.errors import SettingError, unknown
from lossnet.needs import LOCAL, NOTHING, REWARD, TARGET, needs_of
from lossnet.objectives.checks import check_path, names
from lossnet.proposals.proposal import Candidates, Proposal
from lossnet.spaces import mean_positions, sparse

#: What a path from the candidates to their net may lead through.
Path = Literal["all", "cost", "none"]


@dataclass(frozen=True)
class Compare:
    """A contrast of candidates' energies.

    Args:
        contrast: what is made of the energies.
        proposal: where the candidates come from.
        cost: cost of a candidate beside the truth, or by the reward, for contrasts that ask for
            one.
        energy: the net whose energies are compared. A task-net's energy is its negative
            log-likelihood, -log P(y|x), which turns a contrast into a loss on the task-net.
        path: where candidates keep a path to their net, what it leads through: ``"all"``, energy
            and cost, their ``"cost"`` alone, or ``"none"``: the candidates are constants.
        local: compare at every position by itself, for energies that are a mean over positions:
            the cost of a position is its error, and ``cost`` is not asked.
    """

    contrast: Contrast
    proposal: Proposal
    cost: Cost | ByReward = f1
    energy: str = "energy"
    path: Path = "all"
    local: bool = False
    nets_unlabelled: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        if self.path not in get_args(Path):
            raise unknown("path", self.path, get_args(Path))

    @property
    def nets(self) -> frozenset[str]:
        """Every net it runs."""
        return self.proposal.nets | {self.energy}

    @property
    def needs(self) -> frozenset[str]:
        """What it needs of the task: see :mod:`lossnet.needs`."""
        needs = self.proposal.needs | (LOCAL if self.local else NOTHING)
        if self.contrast.requires & {"target", "log_q"}:
            needs |= TARGET
        return needs | needs_of(self.cost) if "cost" in self.contrast.requires else needs

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """Where its candidates come from."""
        return (self.proposal,)

    @property
    def cost_augmented(self) -> frozenset[str]:
        """None: it trains an energy."""
        return frozenset()

    def check(self, *, keep_graph: bool, trains: Sequence[str]) -> None:
        """Raise where the proposal cannot give what the contrast or the gradient asks for."""
        proposal, contrast = type(self.proposal).__name__, type(self.contrast).__name__
        if "log_q" in self.contrast.requires - self.proposal.provides:
            raise SettingError(
                f"{contrast} needs log q of its candidates and {proposal} has none; "
                "take Samples, or a contrast without log q such as Ranking"
            )
        if self.local and ("log_q" in self.contrast.requires or self.needs >= REWARD):
            what = "log q" if "log_q" in self.contrast.requires else "a reward"
            raise SettingError(
                f"{what} is of a whole output, and local=True compares positions; take local=False"
            )
        keep_graph = keep_graph and self.path != "none"
        if keep_graph:
            check_path(self.proposal, "gradient=Direct()")
        if keep_graph and self.path == "cost" and "cost" not in self.contrast.requires:
            raise SettingError(
                f"the path to the candidates' net leads through their cost, which {contrast} does "
                "not count; give the cost a weight (margin, scale), or take path='all'"
            )
        if self.energy not in trains and not (keep_graph and self.proposal.nets & set(trains)):
            raise SettingError(
                f"an update of {names(trains)} compares energies of {self.energy!r}, so nothing "
                f"it trains enters the loss; train {self.energy!r} instead"
            )

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Tensor:
        """The loss of each example, ``(B,)``."""
        drawn = self.drawn(context, keep_graph)
        y = self.compared(drawn)
        if "target" not in self.contrast.requires:
            return self.loss(context, drawn, self.energies(context, y))
        e = self.energies(context, sparse.prepend(context.target, y))
        return self.loss(context, drawn, e[1:], e[0])

    def drawn(self, context: Context, keep_graph: bool) -> Candidates:
        """The candidates, with a path to their net where it is asked for and has a use."""
        return self.proposal(context, keep_graph=keep_graph and self.path != "none")

    def compared(self, drawn: Candidates) -> Tensor:
        """The candidates whose energies are compared, ``(K, B, *S)``."""
        return drawn.y if self.path == "all" else drawn.y.detach()

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
        if "cost" in self.contrast.requires and self.local:
            cost = context.space.errors(drawn.y, context.target)
        elif "cost" in self.contrast.requires:
            cost = context.cost(self.cost, drawn.y)
        if self.local:
            # Every position is an example to the contrast.
            per_position = self.contrast(
                Compared(
                    e=e.flatten(1),
                    e_target=None if e_target is None else e_target.flatten(),
                    cost=None if cost is None else cost.flatten(1),
                )
            )
            return mean_positions(per_position.view(e.shape[1:]), context.batch.mask, lead=1)
        return self.contrast(
            Compared(
                e=e,
                e_target=e_target,
                cost=cost,
                log_q=drawn.log_q,
                log_q_target=drawn.log_q_target,
            )
        )
