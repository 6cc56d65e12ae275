"""Checked label matrices and probability matrices, shapes (n, L)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnet.errors import DataError

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def _matrix(values: Any, name: str) -> NDArray[Any]:
    """``values`` (array, nested list, tensor, scipy sparse matrix) as a dense (n, L) array."""
    dense = values.toarray() if hasattr(values, "toarray") else values
    array = np.asarray(dense)
    if array.ndim != 2 or array.shape[0] == 0 or array.shape[1] == 0:
        raise DataError(
            f"{name} has shape {array.shape}: expected (rows, labels) with at least one of each"
        )
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} has dtype {array.dtype}: expected booleans or numbers")
    return array


def indicator(values: ArrayLike, name: str = "Y") -> Bools:
    """A 0/1 matrix (n, L), dense or scipy sparse, as booleans; other values are an error."""
    array = _matrix(values, name)
    if array.dtype == np.bool_:
        return array
    ones = array == 1
    wrong = ~(ones | (array == 0))
    if wrong.any():
        row, label = np.argwhere(wrong)[0]
        raise DataError(
            f"{name} must hold only 0 and 1, but {name}[{row}, {label}] is {array[row, label]}; "
            "cut probabilities with apply_threshold first"
        )
    return ones


def probabilities(values: ArrayLike, name: str = "proba") -> Floats:
    """A matrix (n, L) of finite float64 numbers; NaN and infinity are an error."""
    array = _matrix(values, name).astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        row, label = np.argwhere(~np.isfinite(array))[0]
        raise DataError(f"{name}[{row}, {label}] is {array[row, label]}: expected finite numbers")
    return array


def check_same_shape(first: NDArray[Any], second: NDArray[Any], names: str) -> None:
    """Raise :class:`DataError` unless the two arrays have one shape."""
    if first.shape != second.shape:
        raise DataError(f"{names} have shapes {first.shape} and {second.shape}: expected the same")
