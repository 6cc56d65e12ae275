"""Columns of numbers, shifted and scaled as in training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.errors import DataError

#: Weights and counts of words are typically smaller.
_LARGE = 30.0


def vector(tensors: Mapping[str, Tensor], name: str, length: int) -> np.ndarray:
    """A stored vector, or an error where it does not have that length."""
    if tensors[name].shape != (length,):
        raise DataError(f"{name} has shape {tuple(tensors[name].shape)}; expected ({length},)")
    found: np.ndarray = tensors[name].numpy()
    return found


class Standardiser:
    """Shift and scale real-valued columns; leave 0/1 columns alone.

    Args:
        mean: what is taken off each column.
        scale: what each column is then divided by.
    """

    def __init__(self, mean: np.ndarray, scale: np.ndarray) -> None:
        self.mean = mean
        self.scale = scale

    @classmethod
    def of(cls, X: Any, setting: bool | str) -> Standardiser | None:
        """The standardiser for training rows; None where it would change nothing.

        Rows are dense, CSR or on disk (:class:`~lossnet.data.disk_rows.DiskRows`).

        ``"auto"`` centres and scales the columns of dense input that hold anything but 0 and 1;
        ``"min-max"`` maps these columns to [0, 1]; ``True`` centres and scales every column;
        ``False`` none. Sparse input is never shifted: ``True`` divides its columns by their
        deviation, ``"min-max"`` by their largest absolute value, and ``"auto"`` by the root mean
        square of what is not zero. ``"auto"`` leaves bags of words alone, columns without negative
        values whose root mean square is at most 30: there a larger value tells that a word matters
        more.
        """
        sparse, blocks = hasattr(X, "tocsr"), getattr(X, "blocks", lambda: [X])
        if setting is False:
            return None
        if sparse:
            mean, scale = np.zeros(X.shape[1]), _sparse_scale(X, setting)
        elif hasattr(X, "blocks"):
            mean, scale = _block_scale(X, setting)
        elif setting == "min-max":
            mean = X.min(0).astype(np.float64)
            scale = X.max(0) - mean
        else:
            mean = X.mean(0, dtype=np.float64)
            scale = X.std(0, dtype=np.float64)
        if not sparse and setting is not True:
            binary = np.all([((x == 0) | (x == 1)).all(0) for x in blocks()], axis=0)
            mean[binary], scale[binary] = 0.0, 1.0
        return cls._of(mean, scale)

    @classmethod
    def of_counts(cls, values: np.ndarray, counts: np.ndarray) -> Standardiser | None:
        """The standardiser that centres and scales columns of few different values.

        Args:
            values: the values ``(V,)``.
            counts: how often each column has each of them, ``(V, d)``: the same whatever the order
                in which rows were read.
        """
        rows, values = counts.sum(0), values.astype(np.float64)[:, None]
        mean = (counts * values).sum(0) / rows
        return cls._of(mean, np.sqrt((counts * (values - mean) ** 2).sum(0) / rows))

    @classmethod
    def _of(cls, mean: np.ndarray, scale: np.ndarray) -> Standardiser | None:
        scale[scale < 1e-12] = 1.0
        if not mean.any() and (scale == 1.0).all():
            return None
        return cls(mean.astype(np.float32), scale.astype(np.float32))

    def tensors(self) -> dict[str, Tensor]:
        """What a model folder holds of it."""
        named = {"mean": self.mean, "scale": self.scale}
        return {f"standardiser/{name}": torch.as_tensor(found) for name, found in named.items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], columns: int) -> Standardiser | None:
        """The standardiser that :meth:`tensors` gave, None where there was none."""
        if "standardiser/mean" not in tensors:
            return None
        names = ("standardiser/mean", "standardiser/scale")
        return cls(*(vector(tensors, name, columns) for name in names))

    @property
    def keeps_zeros(self) -> bool:
        """Whether nothing is taken off any column, so that sparse rows stay sparse."""
        return not self.mean.any()

    def __call__(self, X: Any) -> Any:
        """Rows, standardised; CSR ones only where it keeps zeros."""
        if hasattr(X, "tocsr"):
            X = X.copy()
            X.data = X.data / self.scale[X.indices]
            return X
        rows: np.ndarray = (X - self.mean) / self.scale
        return rows


def _block_scale(X: Any, setting: bool | str) -> tuple[np.ndarray, np.ndarray]:
    """What is taken off the columns of rows on disk, and what they are divided by."""
    if setting == "min-max":
        low = np.min([x.min(0) for x in X.blocks()], axis=0).astype(np.float64)
        return low, np.max([x.max(0) for x in X.blocks()], axis=0) - low
    mean = sum(x.sum(0, dtype=np.float64) for x in X.blocks()) / len(X)
    squares = sum(((x - mean) ** 2).sum(0) for x in X.blocks())
    return mean, np.sqrt(squares / len(X))


class ColumnSums:
    """Sums over the entries of sparse columns.

    They are added one by one, so that blocks of rows have the sums of all rows to the last bit.

    Args:
        columns: how many there are.
    """

    def __init__(self, columns: int) -> None:
        self.found = np.zeros(columns)

    def add(self, columns: np.ndarray, values: Any) -> None:
        """Add the entries of some rows, or a number for each of them."""
        np.add.at(self.found, columns, np.asarray(values, dtype=np.float64))


def _sparse_scale(X: Any, setting: bool | str) -> np.ndarray:
    """What the columns of a sparse matrix, in memory or on disk, are divided by."""
    rows, width = X.shape
    blocks = getattr(X, "blocks", lambda: [X])
    if setting == "min-max":
        largest = [np.asarray(abs(x).max(0).todense(), dtype=np.float64) for x in blocks()]
        return np.max([one.ravel() for one in largest], axis=0)
    sums, squares, count, negative = (ColumnSums(width) for _ in range(4))
    for x in blocks():
        on = x.data != 0
        values, columns = x.data[on].astype(np.float64), x.indices[on]
        sums.add(columns, values)
        squares.add(columns, values**2)
        count.add(columns, 1.0)
        negative.add(columns[values < 0], 1.0)
    if setting == "auto":
        # The root mean square of what is not zero; 1 for bags of words.
        size: np.ndarray = np.sqrt(squares.found / np.maximum(count.found, 1))
        return np.where((negative.found > 0) | (size > _LARGE), size, 1.0)
    found: np.ndarray = np.sqrt(np.maximum(squares.found / rows - (sums.found / rows) ** 2, 0.0))
    return found
