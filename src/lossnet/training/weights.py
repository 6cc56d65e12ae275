"""Rows and labels that count more, or less, than others."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.batch import Batch
from lossnet.training.source import Source


class _Wrapped:
    """The rows of another source, in the same order."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def __len__(self) -> int:
        return len(self._source)

    def shuffled(self, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        return self._source.shuffled(size, generator)

    def in_order(self, size: int) -> Sequence[Tensor | slice]:
        return self._source.in_order(size)


def row_weights(source: Source) -> np.ndarray | None:
    """How much each row of a source counts, ``(n,)``; None where all count alike."""
    found = source.weight_of(slice(None)) if isinstance(source, WeightedRows) else None
    return None if found is None else found.cpu().numpy()


class InFolds(_Wrapped):
    """The rows of another source, each in a fold that one of several nets leaves out.

    Args:
        source: the rows.
        folds: ``(n,)`` the number of each row's fold.
    """

    def __init__(self, source: Source, folds: np.ndarray) -> None:
        super().__init__(source)
        self._folds = torch.as_tensor(np.asarray(folds, dtype=np.int64), device="cpu")

    def batch(self, rows: Tensor | slice) -> Batch:
        batch = self._source.batch(rows)
        assert batch.target is not None
        fold = self._folds[rows if isinstance(rows, slice) else rows.cpu()]
        return replace(batch, fold=fold.to(batch.target.device))


class WeightedRows(_Wrapped):
    """The rows of another source, with weights.

    Args:
        source: the rows.
        rows: ``(n,)`` how much each example counts, or None.
        labels: ``(2, L)`` how much a label that is off, and one that is on, counts in the
            cross-entropy; or None.
    """

    def __init__(
        self, source: Source, rows: np.ndarray | None = None, labels: np.ndarray | None = None
    ) -> None:
        super().__init__(source)
        self._rows, self._labels = (None if one is None else _tensor(one) for one in (rows, labels))

    def weight_of(self, rows: Tensor | slice) -> Tensor | None:
        """The weights of these rows of a batch, ``(B,)``, or None."""
        if self._rows is None:
            return None
        # Rows of a source may be parts of examples: crops of an image.
        examples = getattr(self._source, "examples", None)
        numbers = rows if examples is None else examples(rows)
        return self._rows[numbers if isinstance(numbers, slice) else numbers.cpu()]

    def batch(self, rows: Tensor | slice) -> Batch:
        batch, weight = self._source.batch(rows), self.weight_of(rows)
        target = batch.target
        if target is None:
            raise TypeError("weights are for rows with a truth, and the batch has none")
        if weight is not None:
            batch = replace(batch, row_weight=weight.to(target))
        if self._labels is None:
            return batch
        off, on = self._labels.to(target)
        return replace(batch, entry_weight=torch.lerp(off, on, target))

    def checksum(self) -> str:
        """Of the weights."""
        parts = [
            b"" if one is None else one.numpy().tobytes() for one in (self._rows, self._labels)
        ]
        return hashlib.sha256(b"/".join(parts)).hexdigest()


def _tensor(values: Any) -> Tensor:
    return torch.as_tensor(np.asarray(values, dtype=np.float32), device="cpu")
