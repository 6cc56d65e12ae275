"""Word vectors, of which only those that occur in training are trained."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class WordTable(nn.Module):
    """A vector for each word; the first rows are trained, the others are fixed.

    Pretrained vectors include many words that never occur in training. Their gradient is zero, yet
    a dense gradient and an optimiser's step over all of them cost more than an LSTM; here they have
    neither. The fixed rows are shared with ``vectors`` and are not part of the state: a table whose
    state is loaded must be built with the same vectors.

    Args:
        vectors: vectors to start from, ``(number, width)``; row 0 is padding, zeros, and stays so.
        trained: how many rows, from the first, are trained; None trains all.
    """

    fixed: Tensor

    def __init__(self, vectors: Tensor, *, trained: int | None = None) -> None:
        super().__init__()
        count = len(vectors) if trained is None else max(trained, 1)
        self.trained = nn.Parameter(vectors[:count].clone(), requires_grad=trained != 0)
        self.register_buffer("fixed", vectors[count:], persistent=False)
        self.width = vectors.shape[1]

    def forward(self, numbers: Tensor) -> Tensor:
        """Vectors ``(..., width)`` of word numbers ``(...)``."""
        count = len(self.trained)
        if not len(self.fixed):
            return F.embedding(numbers, self.trained, padding_idx=0)
        # A word of the other table is looked up at an arbitrary row here, and not used.
        trained = F.embedding(numbers.clamp_max(count - 1), self.trained, padding_idx=0)
        fixed = F.embedding((numbers - count).clamp_min(0), self.fixed)
        return torch.where((numbers < count).unsqueeze(-1), trained, fixed)
