"""The energy of pairs of tags, wherever they are in a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lossnet.energies.energy import Energy
from lossnet.spaces import sparse


class TagPairs(Energy):
    """E(y) = Σ_{s<t} y_s' W y_t with a symmetric W: which tags go together.

    A chain scores neighbours; this scores any two positions, so that it learns that a tag occurs
    once. It is multi-linear: on relaxed outputs it is the mean over outputs with independent
    positions. With n = Σ_t y_t it is (n' W n - Σ_t y_t' W y_t) / 2.

    Args:
        tags: number of tags C.
        chosen: numbers of the tags that W is for, such as those that begin a span; None is all.

    >>> energy = TagPairs(5, chosen=[0, 2])
    >>> energy(energy.encode(torch.zeros(2, 9, 3)), torch.zeros(7, 2, 9, 5)).shape
    torch.Size([7, 2])
    """

    def __init__(self, tags: int, *, chosen: Sequence[int] | None = None) -> None:
        super().__init__()
        self.tags = tags
        self.chosen = list(range(tags) if chosen is None else chosen)
        self.pairs = nn.Parameter(torch.zeros(len(self.chosen), len(self.chosen)))

    def encode(self, x: Any, mask: Tensor | None = None) -> Tensor:
        """Nothing, in the shape of an output."""
        shape = x.shape[:2] if mask is None else mask.shape
        return self.pairs.new_zeros(1).expand(*shape, self.tags)

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        y = y.to_dense() if y.is_sparse else y
        y = sparse.dense(y[..., self.chosen], h.dtype)
        if mask is not None:
            y = y.masked_fill(~mask.unsqueeze(-1), 0.0)
        n = y.sum(2)
        # W = pairs + pairs': twice the product with either.
        return ((n @ self.pairs) * n).sum(-1) - ((y @ self.pairs) * y).sum((-1, -2))

    def output_like(self, h: Tensor) -> Tensor:
        return h
