"""Sparse data sets written some rows at a time, larger than memory."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.csr_writer import CsrWriter, add_array
from lossnet.data.disk_csr import DiskCSR
from lossnet.errors import DataError
from lossnet.files import TEMPORARY, atomic_write
from lossnet.tasks.multilabel.arrays import check_labels
from lossnet.tasks.multilabel.dataset import checked_names
from lossnet.tasks.multilabel.feature_rows import check_finite


def write_sparse(
    path: str | Path,
    chunks: Iterable[Any],
    *,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
) -> Path:
    """Write a data set, some rows at a time, to an ``.npz`` file that can stay on disk.

    Entries are stored as float32, labels as 0 and 1. :func:`~lossnet.tasks.multilabel.load` and the
    commands read the file; from 256 MB on its matrices stay on disk. The file is written
    atomically: a chunk that cannot be written leaves nothing behind.

    Args:
        path: the file, ``.npz``.
        chunks: pairs ``(X, Y)``, sparse or dense, with the same columns in all; or each an X alone,
            for data without labels.
        feature_names: one for each column of X; made up where None.
        label_names: one for each column of Y; made up where None.
    """
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise DataError(f"{path} must be an .npz file; rename it to {path.stem}.npz")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=TEMPORARY, dir=path.parent) as folder, ExitStack() as s:
        numbers = zip(("X", "Y"), (np.float32, np.uint8), strict=True)
        writers = {n: s.enter_context(CsrWriter(Path(folder), n, kind)) for n, kind in numbers}
        labelled = _append(chunks, writers)
        s.close()
        given = {"feature_names": (feature_names, "X", "feature", "x")}
        given |= {"label_names": (label_names, "Y", "label", "y")} if labelled else {}
        if label_names is not None and not labelled:
            raise DataError(f"{len(label_names)} label names for chunks without Y; leave them out")
        names = {
            key: np.array(checked_names(listed, writers[name].width, what, prefix))
            for key, (listed, name, what, prefix) in given.items()
            if listed is not None
        }
        return atomic_write(path, lambda file: _put_together(file, writers, names, labelled))


def _append(chunks: Iterable[Any], writers: dict[str, CsrWriter]) -> bool:
    """Write all chunks; whether they have labels."""
    labelled: bool | None = None
    for number, chunk in enumerate(chunks):
        pair = isinstance(chunk, tuple | list) and len(chunk) == 2
        X, Y = chunk if pair else (chunk, None)
        place = f"chunk {number} (counted from 0)"
        if labelled is not None and labelled != (Y is not None):
            raise DataError(f"{place}: some chunks have a Y and others none; give all of them one")
        labelled = Y is not None
        sizes = [writers["X"].append(_checked_features(X, place), place)]
        if Y is not None:
            sizes.append(writers["Y"].append(_checked_labels(Y, place), place))
        if len(set(sizes)) > 1:
            counts = f"X has {sizes[0]} rows and Y has {sizes[1]}"
            raise DataError(f"{place}: {counts}; row counts must match")
    if not writers["X"].rows:
        raise DataError("there are no rows to write; give at least one chunk with rows")
    return bool(labelled)


def _matrix(given: Any) -> Any:
    given = given.tocsr() if isinstance(given, DiskCSR) else given
    return given if hasattr(given, "tocsr") else np.asarray(given)


def _checked_features(X: Any, place: str) -> Any:
    X = _matrix(X)
    with np.errstate(over="ignore"):
        numbers = X.dtype.kind in "biuf"
        check_finite(np.float32(X.data if hasattr(X, "tocsr") else X) if numbers else (), place)
    return X


def _checked_labels(Y: Any, place: str) -> Any:
    found = check_labels(_matrix(Y), f"{place}: Y")
    if found.dtype.kind == "f":
        what = "Y has labels that are not known (NaN), which a sparse file cannot hold"
        raise DataError(f"{place}: {what}; leave out their rows, or use numpy.savez")
    return found


def _put_together(
    file: Path, writers: dict[str, CsrWriter], names: dict[str, np.ndarray], labelled: bool
) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        for name in chain("X", "Y" if labelled else ""):
            writers[name].move_to(archive)
        for key, array in names.items():
            add_array(archive, key, array)
