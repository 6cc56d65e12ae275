"""The structured hinge, and its version without a margin."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from lossnet.contrasts.contrast import Compared, CostScaled, need
from lossnet.parameters import Weight


@dataclass(frozen=True)
class Margin(CostScaled):
    """max_k [ scale Δ(y_k, y) - E(x, y_k) + E(x, y) ]_+   (SSVM; paper 000, Eq. 6).

    Args:
        scale: weight of the cost Δ; raise it for a margin that grows with the output.
    """

    scale: Weight = 1.0

    def __call__(self, compared: Compared) -> Tensor:
        violation = need(compared.e_target, "the truth's energy", self) - compared.e
        return self.add_cost(violation, compared).amax(0).clamp_min(0.0)


@dataclass(frozen=True)
class Perceptron(Margin):
    """max_k [ E(x, y) - E(x, y_k) ]_+   (paper 003, the second part of Eq. 6)."""

    scale: Weight = field(default=0.0, init=False, repr=False)
