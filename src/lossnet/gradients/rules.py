"""Direct and unrolled gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from lossnet.gradients.base import Gradient, GradientRule, Tensors
from lossnet.nets.wide import sparse_gradients

if TYPE_CHECKING:
    from lossnet.context import Context
    from lossnet.objectives import Objective


@dataclass(frozen=True)
class Direct(GradientRule):
    """The loss's own gradient; candidates count as constants."""

    keeps_graph: ClassVar[bool] = False

    def __call__(
        self, objective: Objective, context: Context, trains: Sequence[str], parameters: Tensors
    ) -> Gradient:
        with context.updating(trains):
            loss = context.mean(objective(context, keep_graph=self.keeps_graph))
        with sparse_gradients():
            values = torch.autograd.grad(loss, parameters, allow_unused=True)
        return Gradient(loss.detach(), values)


@dataclass(frozen=True)
class Unrolled(Direct):
    """The gradient through the candidates as well, every inference step included."""

    keeps_graph: ClassVar[bool] = True
