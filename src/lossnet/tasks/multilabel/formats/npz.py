"""NumPy's ``.npz`` files.

Keys: ``X`` (n, d), or a sparse matrix in scipy's CSR pieces ``X_data``, ``X_indices``,
``X_indptr``, ``X_shape``; ``Y`` (n, L) of 0 and 1, or its pieces ``Y_data`` and so on; optionally
``feature_names`` and ``label_names`` (arrays of strings). Nothing is ever unpickled. An ``X``, or a
sparse ``Y``, of 256 MB or more in a file that is not compressed (``numpy.savez``) stays on disk,
and is read batch by batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.archive import read_arrays
from lossnet.data.disk_csr import PIECES, DiskCSR
from lossnet.data.limits import check_cells
from lossnet.data.text import stem
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.readers import Labels

_PIECES = {name: [f"{name}_{piece}" for piece in PIECES] for name in ("X", "Y")}
_KEYS = ("X", *_PIECES["X"], "Y", *_PIECES["Y"], "feature_names", "label_names")
#: What stays on disk together; shapes are read.
_ON_DISK = (["X"], _PIECES["X"][:-1], _PIECES["Y"][:-1])


def read(paths: Sequence[str | Path], labels: Labels, name: str) -> list[MultiLabelData]:
    """Read the ``.npz`` files of one data set; their columns must agree.

    Args:
        paths: one file or more.
        labels: must be None: the file says which columns are labels.
        name: what to call the data set.
    """
    if labels is not None:
        raise SettingError("labels=: an .npz file has its labels in Y; leave labels= out")
    files = [_data(path, _arrays(path, ("X", "Y")), name) for path in paths]
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
    arrays = {key: array for key, array in _arrays(path, ("X",)).items() if key in wanted}
    return _data(path, arrays, stem(path))


def _arrays(path: str | Path, needed: Sequence[str]) -> dict[str, Any]:
    """A file's arrays by key, the matrices needed among them."""
    arrays: dict[str, Any] = read_arrays(path, on_disk=_ON_DISK)
    if extra := sorted(set(arrays) - set(_KEYS)):
        raise DataError(f"{path}: unknown key {extra[0]!r}; known: {', '.join(_KEYS)}")
    for name in needed:
        if name not in arrays:
            arrays[name] = _sparse(path, arrays, name)
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


def _sparse(path: str | Path, arrays: dict[str, Any], name: str) -> Any:
    from scipy.sparse import csr_matrix

    pieces = _PIECES[name]
    missing = [key for key in pieces if key not in arrays]
    if len(missing) == len(pieces):
        what = " (an indicator matrix, rows x labels)" if name == "Y" else ""
        raise DataError(f"{path} has no key {name}{what}, nor the pieces {', '.join(pieces)}")
    if missing:
        raise DataError(f"{path}: the sparse {name} lacks {', '.join(missing)}")
    data, indices, indptr, shape = found = [arrays[key] for key in pieces]
    if isinstance(data, np.memmap):
        return DiskCSR(*found, name=f"{path}: the sparse {name}")
    try:
        height, width = (int(s) for s in shape)
        matrix = csr_matrix((data, indices, indptr), shape=(height, width))
        matrix.check_format(full_check=True)
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        raise DataError(f"{path}: the pieces of the sparse {name} do not fit ({error})") from error
    return matrix
