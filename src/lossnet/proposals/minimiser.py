"""The output of lowest energy, found exactly where the energy can."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F

from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.needs import EXACT, NOTHING, TARGET
from lossnet.proposals.proposal import Candidates


@dataclass(frozen=True)
class Minimiser:
    """argmin_y E(x, y) - margin Δ(y, y*) of an energy that has ``minimise``.

    Such as a chain's, by Viterbi's algorithm. One candidate, discrete.

    Args:
        energy: name of the energy.
        margin: weight of the L1 cost Δ, twice the number of wrong positions: with one it is the
            worst violation of a margin (cost-augmented inference), which needs the truth.
    """

    energy: str = "energy"
    margin: float = 0.0
    provides = NOTHING

    def __post_init__(self) -> None:
        if not self.margin >= 0:
            raise SettingError(f"margin must be at least 0, got {self.margin}")

    @property
    def needs(self) -> frozenset[str]:
        return EXACT | TARGET if self.margin else EXACT

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.energy})

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        h = context.encoded(self.energy)
        energy = context.nets[self.energy]
        truth = context.target if self.margin else None
        tags = energy.minimise(h, context.batch.mask, target=truth, margin=self.margin)
        y = F.one_hot(tags, energy.output_like(h).shape[-1]).bool()
        if context.batch.mask is not None:
            y = y & context.batch.mask.unsqueeze(-1)
        return Candidates(y.unsqueeze(0))
