"""NumPy's ``.npz`` files.

Keys: ``X`` (n, d), or a sparse matrix in scipy's CSR pieces ``X_data``, ``X_indices``,
``X_indptr``, ``X_shape``; ``Y`` (n, L) of 0 and 1; if you like, ``feature_names`` and
``label_names`` (arrays of strings). Nothing is ever unpickled.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.archive import read_arrays
from lossnet.data.limits import check_cells
from lossnet.data.text import stem
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.readers import Labels

_PIECES = ("X_data", "X_indices", "X_indptr", "X_shape")
_KEYS = ("X", *_PIECES, "Y", "feature_names", "label_names")


def read_npz(
    paths: Sequence[str | Path], *, labels: Labels = None, name: str | None = None
) -> list[MultiLabelData]:
    """Read the ``.npz`` files of one data set; their columns must agree.

    Args:
        paths: one file or more.
        labels: must be None: the file says what is a label.
        name: what to call the data set; the first file's name where None.
    """
    if labels is not None:
        raise SettingError("labels=: an .npz file has its labels in Y; leave labels= out")
    read = [_read(Path(path), name or stem(paths[0])) for path in paths]
    for path, data in zip(paths[1:], read[1:], strict=True):
        if (data.feature_names, data.label_names) != (read[0].feature_names, read[0].label_names):
            raise DataError(
                f"{path} does not have the columns of {paths[0]}: {data.n_features} features and "
                f"{data.n_labels} labels, {read[0].n_features} and {read[0].n_labels} there, or "
                "other names"
            )
    return read


def read_unlabelled(path: str | Path) -> MultiLabelData:
    """Read a ``.npz`` file for prediction: ``Y`` and the labels' names may be missing."""
    path = Path(path)
    arrays = _arrays(path)
    X = np.atleast_1d(arrays["X"]) if "X" in arrays else _sparse(path, arrays)
    unlabelled = {k: v for k, v in arrays.items() if k not in ("Y", "label_names")}
    return _data(path, {**unlabelled, "Y": np.zeros((X.shape[0], 0))}, stem(path))


def _read(path: Path, name: str) -> MultiLabelData:
    return _data(path, _arrays(path), name)


def _arrays(path: Path) -> dict[str, Any]:
    arrays = read_arrays(path)
    extra = sorted(set(arrays) - set(_KEYS))
    if extra:
        raise DataError(f"{path}: unknown key {extra[0]!r}; known: {', '.join(_KEYS)}")
    return arrays


def _data(path: Path, arrays: dict[str, Any], name: str) -> MultiLabelData:
    if "Y" not in arrays:
        raise DataError(f"{path} has no key Y (an indicator matrix, rows x labels)")
    X = _sparse(path, arrays) if "X" not in arrays else arrays["X"]
    for matrix, what in ((X, "features"), (arrays["Y"], "labels")):
        if len(matrix.shape) == 2:
            check_cells(path, 1, matrix.shape[1], what)
    names: dict[str, Any] = {
        key: arrays[key].reshape(-1).tolist()
        for key in ("feature_names", "label_names")
        if key in arrays
    }
    try:
        return MultiLabelData(X, arrays["Y"], name=name, **names)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _sparse(path: Path, arrays: dict[str, Any]) -> Any:
    from scipy.sparse import csr_matrix

    missing = [key for key in _PIECES if key not in arrays]
    if len(missing) == len(_PIECES):
        raise DataError(f"{path} has no key X, nor the pieces {', '.join(_PIECES)}")
    if missing:
        raise DataError(f"{path}: the sparse X lacks {', '.join(missing)}")
    data, indices, indptr, shape = (arrays[key] for key in _PIECES)
    try:
        height, width = (int(s) for s in shape)
        X = csr_matrix((data, indices, indptr), shape=(height, width))
        X.check_format(full_check=True)
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        raise DataError(f"{path}: the pieces of the sparse X do not fit ({error})") from error
    return X
