"""The interface of an objective, and what objectives check when a method is built."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.meaning import Meaning
from lossnet.errors import SettingError
from lossnet.needs import NOTHING, Declares
from lossnet.proposals.proposal import Proposal


class Objective(Declares, Protocol):
    """What an update minimises: a loss of each example, and what it declares."""

    @property
    def nets_unlabelled(self) -> frozenset[str]:
        """The nets it runs on unlabelled rows."""
        return NOTHING

    @property
    def proposals(self) -> tuple[Proposal, ...]:
        """Where its candidates and predictions come from."""
        return ()

    @property
    def cost_augmented(self) -> frozenset[str]:
        """Nets that it drives away from the truth, unfit to predict."""
        return NOTHING

    def meaning(self, energy: str) -> Meaning | None:
        """What that net's energies mean once they are trained on it; None where it does not say."""
        return None

    @property
    def convex_part(self) -> Objective | None:
        """The terms that are convex in the predictions' logits, alone; None without any."""
        return None

    @property
    def without_target(self) -> Objective | None:
        """What it judges without the truth, for unlabelled rows; None where there is nothing."""
        return None

    @property
    def without_energy(self) -> Objective | None:
        """What it compares with the truth alone, without a loss-net; None where that is nothing."""
        return None

    def check(self, *, keep_graph: bool, trains: Sequence[str]) -> None:
        """Raise where it cannot be minimised by training these nets."""

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Tensor:
        """The loss of each example, ``(B,)``."""


def names(trains: Sequence[str]) -> str:
    return " and ".join(map(repr, trains))


def wrong_net(trains: Sequence[str], what: str, *instead: str) -> SettingError:
    """The error for an update whose objective does not depend on what it trains."""
    better = " or ".join(map(repr, instead))
    return SettingError(f"an update of {names(trains)} {what}; train {better} instead")


def check_path(proposal: Proposal, otherwise: str) -> None:
    """Raise where no gradient flows from a proposal's candidates to the nets they come from."""
    if "path" not in proposal.provides:
        raise SettingError(
            f"this gradient needs a path to the candidates' net and {type(proposal).__name__} has "
            f"none; take NetOutput, Perturbed, RelaxedSamples or GBI without Adam, or {otherwise}"
        )
