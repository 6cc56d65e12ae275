"""The energy of single tags."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from lossnet.energies.energy import Energy, reads_of
from lossnet.spaces import sparse


class TagEnergy(Energy):
    """E(x, y) = Σ_t <y_t, U b(x, t)>, the local part of paper 000's Eq. 2.

    Args:
        features: feature network b, inputs to ``(B, T, d)`` with ``out_features`` d.
        tags: number of tags C.
    """

    def __init__(self, features: nn.Module, tags: int) -> None:
        super().__init__()
        self.features, self.reads = features, reads_of(features)
        width: Any = features.out_features
        self.unary = nn.Linear(width, tags)

    def encode(self, x: Any, mask: Tensor | None = None) -> Tensor:
        """The energy of every tag at every position, ``(B, T, C)``; 0 under padding."""
        h: Tensor = self.unary(self.features(x))
        return h if mask is None else h.masked_fill(~mask.unsqueeze(-1), 0.0)

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        return sparse.dot(y, h)

    def output_like(self, h: Tensor) -> Tensor:
        return h
