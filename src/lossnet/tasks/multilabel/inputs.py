"""Inputs as users hold them, as the rows of numbers that the nets are trained on."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array, validate_data

from lossnet.data.disk_rows import DiskRows
from lossnet.errors import DataError
from lossnet.tasks.multilabel.columns import features_like
from lossnet.tasks.multilabel.dataset import MultiLabelData, check_real
from lossnet.tasks.multilabel.encoding import Encoding
from lossnet.tasks.multilabel.raw_columns import column_names

_ROWS: Any = {"accept_sparse": "csr", "dtype": np.float32, "ensure_all_finite": "allow-nan"}


def learn_rows(estimator: Any, X: Any) -> tuple[Any, Encoding]:
    """Training inputs encoded and checked, a float32 array or CSR matrix; their encoding."""
    names = _own_names(X)
    X = X.X if isinstance(X, MultiLabelData) else X
    encoding = Encoding.of(X, estimator.categorical_features, names=names)
    rows = _checked(estimator, encoding.numbers(X), reset=True)
    encoding = replace(encoding, columns=int(estimator.n_features_in_))
    return encoding.expanded(rows), encoding


def read_rows(estimator: Any, X: Any, encoding: Encoding) -> Any:
    """Other inputs in the columns of training, encoded and checked.

    Those of a frame and of a :class:`MultiLabelData` are found by their names.
    """
    framed = hasattr(estimator, "feature_names_in_")
    if encoding.names is not None and not framed and column_names(X):
        X = _as_data(X)
    if isinstance(X, MultiLabelData) and encoding.names is not None:
        found, notes = features_like(X, encoding.file_names or [])
        for note in notes:
            warnings.warn(note, stacklevel=5)
        encoding = encoding.of_files()
        return encoding.expanded(encoding.numbers(found))
    X = X.X if isinstance(X, MultiLabelData) else _in_order(X, encoding)
    return encoding.expanded(_checked(estimator, encoding.numbers(X), reset=False))


def _own_names(X: Any) -> list[str] | None:
    """The names of data, None where they are made up, and for other inputs."""
    if not isinstance(X, MultiLabelData) or X.has_made_up_names:
        return None
    return X.feature_names


def _as_data(X: Any) -> MultiLabelData:
    """A frame as the readers of files have it."""
    encoding = Encoding.of(X, training=False)
    rows = encoding.expanded(check_array(encoding.numbers(X), input_name="X", **_ROWS))
    return MultiLabelData(rows, feature_names=encoding.file_names or [], name="X")


def _in_order(X: Any, encoding: Encoding) -> Any:
    """A frame with the columns of training in their order, where it has these and no others."""
    names, wanted = tuple(column_names(X) or ()), encoding.names or ()
    same = names != wanted and len(names) == len(wanted) and {*names} == {*wanted}
    return X[list(wanted)] if same and len({*names}) == len(names) else X


def _checked(estimator: Any, X: Any, *, reset: bool) -> Any:
    if isinstance(X, np.memmap | DiskRows):
        rows = MultiLabelData(X, name="X").X  # checked block by block
        validate_data(estimator, rows[:1].toarray(), reset=reset, **_ROWS)
        return rows
    check_real(X, "X")
    try:
        return validate_data(estimator, X, reset=reset, **_ROWS)
    except ValueError as error:
        if "infinity" in str(error):
            raise DataError(f"{_plain(error)}{_where_infinite(X)}") from error
        raise


def _plain(error: ValueError) -> str:
    return str(error).partition("\n")[0].rstrip(".")


def _where_infinite(X: Any) -> str:
    """The first infinite value, and what to do about it."""
    sparse: bool = issparse(X)
    stored: Any = X.tocoo() if sparse else np.asarray(X)
    values: Any = stored.data if sparse else stored
    with np.errstate(over="ignore"):
        first = tuple(np.argwhere(np.isinf(values.astype(np.float32)))[0])
    place = first
    if sparse:
        place = stored.row[first], stored.col[first]
    where = f"row {place[0]}, column {place[1]} (from 0) is {values[first]}"
    return f": {where}; clip it, or pass NaN if it is missing"
