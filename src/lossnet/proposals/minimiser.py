"""The output of lowest energy, for energies that can find it exactly."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F

from lossnet.context import Context
from lossnet.needs import EXACT, TARGET
from lossnet.parameters import Weight
from lossnet.proposals.proposal import Candidates, FromEnergy


@dataclass(frozen=True)
class Minimiser(FromEnergy):
    """argmin_y E(x, y) - margin Δ(y, y*) of an energy that has ``minimise``.

    For instance a chain's, by Viterbi's algorithm. One discrete candidate.

    Args:
        energy: name of the energy.
        margin: weight of the L1 cost Δ, twice the number of wrong positions: with one it is the
            worst violation of a margin (cost-augmented inference), which needs the truth.
    """

    energy: str = "energy"
    margin: Weight = 0.0

    @property
    def needs(self) -> frozenset[str]:
        return EXACT | TARGET if self.margin else EXACT

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        h = context.encoded(self.energy)
        energy = context.nets[self.energy]
        truth = context.target if self.margin else None
        tags = energy.minimise(h, context.batch.mask, target=truth, margin=self.margin)
        y = F.one_hot(tags, energy.output_like(h).shape[-1]).bool()
        if context.batch.mask is not None:
            y = y & context.batch.mask.unsqueeze(-1)
        return Candidates(y.unsqueeze(0))
