"""The interface of constraints: how often an output is expected to break a rule."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor


class Constraint(Protocol):
    """Expected violations of a rule."""

    def __call__(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """Violations ``(K, B)`` of candidates ``(K, B, *S)``: float, bool or sparse."""
