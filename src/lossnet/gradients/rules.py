"""Direct and unrolled gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import torch
from torch import Tensor

from lossnet.gradients.base import Gradient

if TYPE_CHECKING:
    from lossnet.context import Context
    from lossnet.objectives import Objective


@dataclass(frozen=True)
class Direct:
    """The loss's own gradient; candidates count as constants."""

    keeps_graph: ClassVar[bool] = False
    nets: ClassVar[frozenset[str]] = frozenset()

    def through(self, inner: Objective) -> Self:
        """The rule for candidates of a net that is trained on ``inner``: the same."""
        return self

    def check(self, objective: Objective, trains: Sequence[str]) -> None:
        objective.check(keep_graph=self.keeps_graph, trains=trains)

    def __call__(
        self,
        objective: Objective,
        context: Context,
        trains: Sequence[str],
        parameters: Sequence[Tensor],
    ) -> Gradient:
        with context.updating(trains):
            loss = objective(context, keep_graph=self.keeps_graph).mean()
        return Gradient(loss.detach(), torch.autograd.grad(loss, parameters, allow_unused=True))


@dataclass(frozen=True)
class Unrolled(Direct):
    """The gradient through the candidates as well, every inference step included."""

    keeps_graph: ClassVar[bool] = True
