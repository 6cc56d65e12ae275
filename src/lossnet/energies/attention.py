"""The energy of a tag sequence as a whole: self-attention over its tags."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from lossnet.energies.energy import Energy, reads_of
from lossnet.errors import SettingError
from lossnet.spaces import sparse


class TagAttention(Energy):
    """E(x, y) = Σ_t max_c a_tc, a = self-attention over the tags y_1 ... y_T   (paper 000, 4.3).

    Every position is a vector A y_t + p_t, p sinusoids of its place, to which ``words`` adds
    B b(x, t); one layer of self-attention and a linear map make C numbers of it, whose largest
    counts. It is the global part of Eq. 2 for outputs of any length; the local part is another
    energy's, such as a :class:`ChainEnergy`: ``TotalEnergy([chain, attention])``.

    Args:
        tags: number of tags C.
        width: width of the vectors, a multiple of ``heads``.
        heads: number of attention heads.
        words: feature network b, inputs to ``(B, T, d)`` with ``out_features`` d, of an energy
            that sees the words too, or :class:`~lossnet.nets.SharedFeatures`; None sees tags alone.

    >>> energy = TagAttention(5, width=8, heads=2)
    >>> energy(energy.encode(torch.zeros(2, 9, 3)), torch.zeros(7, 2, 9, 5)).shape
    torch.Size([7, 2])
    """

    def __init__(
        self, tags: int, *, width: int = 64, heads: int = 4, words: nn.Module | None = None
    ) -> None:
        super().__init__()
        if width % (2 * heads):
            raise SettingError(
                f"width must be a multiple of twice the heads, got {width} and {heads} heads"
            )
        self.tags, self.heads = tags, heads
        self.of_tags = nn.Linear(tags, width)
        self.words, self.reads = words, None if words is None else reads_of(words)
        seen: Any = 0 if words is None else words.out_features
        self.of_words = None if words is None else nn.Linear(seen, width, bias=False)
        self.projections = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, tags)

    def encode(self, x: Any, mask: Tensor | None = None) -> dict[str, Tensor]:
        """What is added to the tags' vectors, ``(T, width)`` or ``(B, T, width)``."""
        shape = x.shape[:2] if mask is None else mask.shape
        added = sinusoids(shape[1], self.of_tags.weight)
        if self.words is not None and self.of_words is not None:
            added = added + self.of_words(self.words(x))
        return {"added": added, "like": added.new_zeros((*shape, self.tags))}

    def forward(self, h: dict[str, Tensor], y: Tensor, mask: Tensor | None = None) -> Tensor:
        y = sparse.dense(y, h["added"].dtype)
        z = self.of_tags(y) + h["added"]
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(2, 3)
            for part in self.projections(z).chunk(3, -1)
        )
        scores = q @ k.mT / math.sqrt(q.shape[-1])  # (K, B, heads, T, T)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, None], torch.finfo(scores.dtype).min)
        attended = (scores.softmax(-1) @ v).transpose(2, 3).flatten(-2)
        highest: Tensor = self.output(z + attended).amax(-1)
        highest = highest if mask is None else highest.masked_fill(~mask, 0.0)
        # In bfloat16 a sum of some 200 is off by up to 0.5, as much as candidates differ.
        return highest.sum(-1, dtype=torch.promote_types(highest.dtype, torch.float32))

    def output_like(self, h: dict[str, Tensor]) -> Tensor:
        return h["like"]


def sinusoids(length: int, like: Tensor) -> Tensor:
    """Vaswani et al.'s (2017) features of positions 0 ... length - 1, ``(length, width)``.

    ``like`` is a tensor whose first axis has that width.
    """
    half = like.shape[0] // 2
    kind: dict[str, Any] = {"dtype": like.dtype, "device": like.device}
    rates = torch.exp(torch.arange(half, **kind) * (-math.log(1e4) / half))
    angles = torch.arange(length, **kind).unsqueeze(1) * rates
    return torch.cat([angles.sin(), angles.cos()], 1)
