"""The output of lowest energy, found exactly where the energy can."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F

from lossnet.context import Context
from lossnet.proposals.base import Candidates


@dataclass(frozen=True)
class Minimiser:
    """argmin_y E(x, y) of an energy that has ``minimise``, such as a chain by Viterbi's algorithm.

    One candidate, discrete.
    """

    energy: str = "energy"
    provides: frozenset[str] = frozenset()
    needs_target = False

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.energy})

    def __call__(self, context: Context, *, keep_path: bool = False) -> Candidates:
        h = context.encoded(self.energy)
        energy = context.nets[self.energy]
        tags = energy.minimise(h, context.batch.mask)
        y = F.one_hot(tags, energy.output_like(h).shape[-1]).bool()
        if context.batch.mask is not None:
            y = y & context.batch.mask.unsqueeze(-1)
        return Candidates(y.unsqueeze(0))
