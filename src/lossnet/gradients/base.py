"""The interface of a gradient rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from torch import Tensor


class GradientRule(Protocol):
    """How an update's gradient is found.

    ``keeps_path`` tells objectives whether candidates stay attached to the nets they come from.
    """

    keeps_path: ClassVar[bool]

    def __call__(
        self, loss: Callable[[], Tensor], parameters: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor | None]]:
        """The loss (a scalar) and its gradient with respect to each parameter."""
        ...
