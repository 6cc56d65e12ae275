"""Columns of numbers, centred and scaled as in training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.errors import DataError


def vector(tensors: Mapping[str, Tensor], name: str, length: int) -> np.ndarray:
    """A stored vector, or an error where it does not have that length."""
    if tensors[name].shape != (length,):
        raise DataError(f"{name} has shape {tuple(tensors[name].shape)}; expected ({length},)")
    found: np.ndarray = tensors[name].numpy()
    return found


class Standardiser:
    """Centre and scale real-valued columns; leave 0/1 columns alone.

    Args:
        mean: what is taken off each column.
        scale: what each column is then divided by.
    """

    def __init__(self, mean: np.ndarray, scale: np.ndarray) -> None:
        self.mean = mean
        self.scale = scale

    @classmethod
    def of(cls, X: Any, setting: bool | str) -> Standardiser | None:
        """The standardiser for training rows, dense or CSR; None where it would change nothing.

        ``"auto"`` treats the columns of dense input that hold anything but 0 and 1; ``True``
        every column (sparse input is scaled without centring); ``False`` none.
        """
        sparse = hasattr(X, "tocsr")
        if setting is False or (setting == "auto" and sparse):
            return None
        if sparse:
            squares = np.asarray(X.multiply(X).mean(0)).ravel()
            means = np.asarray(X.mean(0)).ravel()
            mean = np.zeros_like(means, dtype=np.float64)
            scale = np.sqrt(np.maximum(squares - means**2, 0.0))
        else:
            mean = X.mean(0, dtype=np.float64)
            scale = X.std(0, dtype=np.float64)
            if setting == "auto":
                binary = ((X == 0) | (X == 1)).all(0)
                mean[binary], scale[binary] = 0.0, 1.0
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

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Dense rows, standardised."""
        rows: np.ndarray = (X - self.mean) / self.scale
        return rows
