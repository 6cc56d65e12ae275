"""Tokenised texts as a source of batches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from lossnet.batch import Batch
from lossnet.encoders import Coded, Tokeniser
from lossnet.tasks.multilabel.arrays import known_of
from lossnet.training.source import SimilarLengths

#: Most sub-words of a batch of several texts, padding counted.
_SUBWORDS = 1 << 14


class TextSource(SimilarLengths):
    """Texts as sub-words, padded batch by batch.

    Args:
        coded: the texts.
        tokeniser: pads them.
        Y: targets ``(n, L)``, NaN where they are not known, or None.
        device: where batches go.
    """

    def __init__(
        self,
        coded: Sequence[Coded],
        tokeniser: Tokeniser,
        Y: np.ndarray | None = None,
        *,
        device: str | torch.device = "cpu",
    ) -> None:
        super().__init__([len(one.ids) for one in coded], _SUBWORDS)
        self._coded, self._tokeniser, self._device = coded, tokeniser, device
        known = None if Y is None else known_of(Y)
        self._known = None if known is None else torch.as_tensor(known)
        self._y = None if Y is None else torch.as_tensor(np.ascontiguousarray(np.nan_to_num(Y)))

    def batch(self, rows: Tensor | slice) -> Batch:
        numbers = range(len(self))[rows] if isinstance(rows, slice) else rows.tolist()
        x = self._tokeniser.collate([self._coded[k] for k in numbers], self._device)
        if self._y is None:
            return Batch(x)
        y = self._y[list(numbers)].to(self._device, torch.get_default_dtype())
        known = None if self._known is None else self._known[list(numbers)].to(self._device)
        return Batch(x, y, known=known)
