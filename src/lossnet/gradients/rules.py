"""Direct and unrolled gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor


@dataclass(frozen=True)
class Direct:
    """The loss's own gradient; candidates count as constants."""

    keeps_path: ClassVar[bool] = False

    def __call__(
        self, loss: Callable[[], Tensor], parameters: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor | None]]:
        value = loss()
        return value.detach(), torch.autograd.grad(value, parameters, allow_unused=True)


@dataclass(frozen=True)
class Unrolled(Direct):
    """The gradient through the candidates as well, every inference step included."""

    keeps_path: ClassVar[bool] = True
