"""Checks and conversions of what users pass to the estimators."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.errors import DataError


def check_rows(X: Any, Y: Any, x_name: str, y_name: str) -> None:
    """Raise unless both have as many rows."""
    if X.shape[0] != Y.shape[0]:
        raise DataError(
            f"{x_name} has {X.shape[0]} rows and {y_name} has {Y.shape[0]}; row counts must match"
        )


def pair(data: Any) -> tuple[Any, Any]:
    """The two members of ``validation_data``."""
    if not isinstance(data, tuple | list) or len(data) != 2:
        size = f" of length {len(data)}" if isinstance(data, tuple | list) else ""
        raise DataError(
            f"validation_data is a {type(data).__name__}{size}; expected a pair (X, Y) or None"
        )
    return data[0], data[1]


def check_lengths(tensors: Mapping[str, Tensor], names: Iterable[str], length: int) -> None:
    """Raise where one of these tensors is there and is not a vector of that length."""
    for name in names:
        if name in tensors and tensors[name].shape != (length,):
            raise DataError(f"{name} has shape {tuple(tensors[name].shape)}; expected ({length},)")


def digest(*arrays: Any) -> str:
    """A short checksum of matrices, dense or CSR; None counts as nothing."""
    total = hashlib.sha256()
    for array in arrays:
        pieces = (array.data, array.indices, array.indptr) if hasattr(array, "tocsr") else (array,)
        for piece in pieces:
            if piece is not None:
                total.update(np.ascontiguousarray(piece).tobytes())
    return total.hexdigest()[:16]


class Imputer:
    """Replace missing values, NaN, by the column means of the training rows.

    Args:
        means: one for each column; 0 where training had no value.
    """

    def __init__(self, means: np.ndarray) -> None:
        self.means = means

    @classmethod
    def of(cls, X: Any) -> Imputer:
        """The imputer for training rows, dense or CSR."""
        missing = missing_values(X)
        if hasattr(X, "tocsr"):
            width = X.shape[1]
            known = X.data[~missing].astype(np.float64)
            total = np.bincount(X.indices[~missing], known, minlength=width)
            rows = X.shape[0] - np.bincount(X.indices[missing], minlength=width)
        else:
            total, rows = np.nansum(X, 0, dtype=np.float64), (~missing).sum(0)
        means = np.divide(total, rows, out=np.zeros(X.shape[1]), where=rows > 0)
        return cls(means.astype(np.float32))

    def __call__(self, X: Any) -> Any:
        """The rows without missing values; ``X`` itself where nothing is missing."""
        missing = missing_values(X)
        if not missing.any():
            return X
        X = X.copy()
        if hasattr(X, "tocsr"):
            X.data[missing] = self.means[X.indices[missing]]
        else:
            X[missing] = self.means[np.nonzero(missing)[1]]
        return X


def missing_values(X: Any) -> np.ndarray:
    """Where a dense matrix, or the stored entries of a CSR one, are NaN."""
    missing: np.ndarray = np.isnan(X.data if hasattr(X, "tocsr") else X)
    return missing


#: The tensors of an imputer and a standardiser in a model folder.
PER_COLUMN = ("imputer/means", "standardiser/mean", "standardiser/scale")


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
        return {
            "standardiser/mean": torch.as_tensor(self.mean),
            "standardiser/scale": torch.as_tensor(self.scale),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Standardiser | None:
        """The standardiser that :meth:`tensors` gave, None where there was none."""
        if "standardiser/mean" not in tensors:
            return None
        return cls(tensors["standardiser/mean"].numpy(), tensors["standardiser/scale"].numpy())

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Dense rows, standardised."""
        rows: np.ndarray = (X - self.mean) / self.scale
        return rows
