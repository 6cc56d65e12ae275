"""Checks and conversions of what users pass to the estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnet.errors import DataError


def label_matrix(Y: Any, *, name: str = "Y") -> tuple[np.ndarray, list[str] | None]:
    """``Y`` as a dense 0/1 uint8 matrix, and its label names where it brought any.

    Takes numpy arrays, lists, scipy sparse matrices and pandas frames.
    """
    names = [str(column) for column in Y.columns] if hasattr(Y, "columns") else None
    if hasattr(Y, "toarray"):
        Y = Y.toarray()
    try:
        values = np.asarray(Y)
        if values.dtype == object:
            values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} is not a matrix of numbers ({error}); give an indicator matrix of 0 and 1, "
            "for label lists see sklearn.preprocessing.MultiLabelBinarizer"
        ) from error
    if values.ndim != 2:
        raise DataError(
            f"{name} has shape {values.shape}; expected (rows, labels), a 0/1 column a label. "
            "For one label reshape it with Y.reshape(-1, 1)"
        )
    if values.shape[1] == 0:
        raise DataError(f"{name} has no label: its shape is {values.shape}")
    if values.dtype.kind not in "biuf":
        raise DataError(f"{name} holds {values.dtype} values; expected only 0 and 1")
    wrong = ~np.isin(values, (0, 1))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        found = values[row, column]
        raise DataError(
            f"{name} is not binary: row {row}, label {column} is {found}; expected only 0 and 1"
        )
    return values.astype(np.uint8), names


class Standardiser:
    """Centre and scale real-valued columns; leave 0/1 columns and sparse input alone.

    Args:
        mean: what is taken off each column.
        scale: what each column is then divided by.
    """

    def __init__(self, mean: np.ndarray, scale: np.ndarray) -> None:
        self.mean = mean
        self.scale = scale

    @classmethod
    def of(cls, X: Any, setting: bool | str) -> Standardiser | None:
        """The standardiser for training rows, or None where nothing is to be changed.

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

    def __call__(self, X: Any) -> Any:
        """The rows, standardised."""
        if hasattr(X, "tocsr"):
            return X.multiply(1.0 / self.scale).tocsr()
        return (X - self.mean) / self.scale
