"""NumPy's ``.npz`` files.

Keys: ``X`` (n, d), or a sparse matrix in scipy's CSR pieces ``X_data``, ``X_indices``,
``X_indptr``, ``X_shape``; ``Y`` (n, L) of 0 and 1; optionally ``feature_names`` and
``label_names`` (arrays of strings). Nothing is ever unpickled. An ``X`` of 256 MB or more in a file
that is not compressed (``numpy.savez``) stays on disk, and is read batch by batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lossnet.data.archive import read_arrays
from lossnet.data.limits import check_cells
from lossnet.data.text import stem
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.readers import Labels

_PIECES = ("X_data", "X_indices", "X_indptr", "X_shape")
_KEYS = ("X", *_PIECES, "Y", "feature_names", "label_names")


def read(paths: Sequence[str | Path], labels: Labels, name: str) -> list[MultiLabelData]:
    """Read the ``.npz`` files of one data set; their columns must agree.

    Args:
        paths: one file or more.
        labels: must be None: the file says which columns are labels.
        name: what to call the data set.
    """
    if labels is not None:
        raise SettingError("labels=: an .npz file has its labels in Y; leave labels= out")
    files = [_data(path, _arrays(path, "Y"), name) for path in paths]
    first = files[0]
    for path, data in zip(paths, files, strict=True):
        if (data.feature_names, data.label_names) != (first.feature_names, first.label_names):
            sizes = f"{data.n_features} features and {data.n_labels} labels"
            theirs = f"{first.n_features} and {first.n_labels} there, or other names"
            raise DataError(f"{path} does not have the columns of {paths[0]}: {sizes}, {theirs}")
    return files


def read_unlabelled(path: str | Path) -> MultiLabelData:
    """Read a ``.npz`` file for prediction: ``Y`` and the labels' names are left out."""
    wanted = ("X", "feature_names")
    arrays = {key: array for key, array in _arrays(path).items() if key in wanted}
    return _data(path, arrays, stem(path))


def _arrays(path: str | Path, *needed: str) -> dict[str, Any]:
    """A file's arrays by key, ``X`` among them."""
    arrays: dict[str, Any] = read_arrays(path, on_disk="X")
    if extra := sorted(set(arrays) - set(_KEYS)):
        raise DataError(f"{path}: unknown key {extra[0]!r}; known: {', '.join(_KEYS)}")
    if "X" not in arrays:
        arrays["X"] = _sparse(path, arrays)
    if not arrays.keys() >= set(needed):
        raise DataError(f"{path} has no key Y (an indicator matrix, rows x labels)")
    return arrays


def _data(path: str | Path, arrays: dict[str, Any], name: str) -> MultiLabelData:
    matrices = {key: arrays[key] for key in ("X", "Y") if key in arrays}
    for key, matrix in matrices.items():
        if matrix.ndim == 2:
            check_cells(path, 1, matrix.shape[1], "features" if key == "X" else "labels")
    names = {key: arrays[key].reshape(-1).tolist() for key in _KEYS[-2:] if key in arrays}
    try:
        return MultiLabelData(name=name, **matrices, **names)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _sparse(path: str | Path, arrays: dict[str, Any]) -> Any:
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
