"""Sentences as tensors: what token networks are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from lossnet.encoders import Subwords


@dataclass(frozen=True)
class Tokens:
    """A batch of sentences, padded on the right.

    Attributes:
        words: word numbers, ``(B, T)``.
        mask: true where there is a token, ``(B, T)``.
        chars: character numbers of each word, ``(B, T, W)``, 0 where there is none.
        columns: numbers of other features of a token, ``(B, T)`` each, by name: its case, its
            part of speech.
        vectors: word vectors that a frozen encoder gave, ``(B, T, d)``.
        subwords: the same sentences as an encoder reads them.
    """

    words: Tensor
    mask: Tensor
    chars: Tensor | None = None
    columns: Mapping[str, Tensor] = field(default_factory=dict)
    vectors: Tensor | None = None
    subwords: Subwords | None = None

    @property
    def lengths(self) -> Tensor:
        """Number of tokens of each sentence, ``(B,)``."""
        return self.mask.sum(1)

    @property
    def reversal(self) -> Tensor:
        """For every position the one it changes place with when sentences are read backwards.

        Padding stays where it is, so it is at the end in both directions. ``(B, T)``
        """
        position = torch.arange(self.mask.shape[1], device=self.mask.device)
        return torch.where(self.mask, self.lengths.unsqueeze(1) - 1 - position, position)
