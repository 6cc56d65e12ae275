"""What objectives check when a method is built."""

from __future__ import annotations

from collections.abc import Sequence

from lossnet.errors import SettingError
from lossnet.proposals.proposal import Proposal


def names(trains: Sequence[str]) -> str:
    return " and ".join(map(repr, trains))


def check_path(proposal: Proposal, otherwise: str) -> None:
    """Raise where no gradient flows from a proposal's candidates to the nets they come from."""
    if "path" not in proposal.provides:
        raise SettingError(
            f"this gradient needs a path from the candidates to their net and "
            f"{type(proposal).__name__} has none; take NetOutput, Perturbed, RelaxedSamples or GBI "
            f"without Adam, or {otherwise}"
        )
