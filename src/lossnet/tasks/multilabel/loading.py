"""The front door: a file, a folder or a built-in name becomes data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lossnet.data.text import extension
from lossnet.errors import DataError, SettingError, unknown
from lossnet.tasks.multilabel.builtin import BUILTIN, builtin_splits
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.readers import EXTENSIONS, Labels, read_files
from lossnet.tasks.multilabel.splits import (
    Splits,
    concatenate,
    folder_splits,
    folder_whole,
    split_rows,
)


def load(source: str | Path, *, labels: Labels = None) -> MultiLabelData:
    """Read all rows of a data set.

    Args:
        source: a file (.arff, .svm, .svmlight, .libsvm, .txt, .csv, .tsv, .npz, each also with
            .gz), a folder that holds one data set, or a built-in name, with parameters if you
            like (``ising:coupling=0.5,seed=3``).
        labels: which columns are labels, where the file does not say: n for the first n, -n for
            the last n, or a list of names.
    """
    path = _existing(source)
    if path is None:
        _no_labels(source, labels)
        return concatenate([data for _, data in builtin_splits(str(source)).parts()])
    return (
        folder_whole(path, labels=labels) if path.is_dir() else load_files([path], labels=labels)[0]
    )


def load_files(paths: Sequence[str | Path], *, labels: Labels = None) -> list[MultiLabelData]:
    """Read the files of one data set, the training file first, so that their columns agree."""
    return read_files(paths, labels=labels)


def load_splits(source: str | Path, *, labels: Labels = None, seed: int = 0) -> Splits:
    """Read a data set's training, validation and test parts.

    A folder: as its ``split.json`` or its files say; without either, and for a single file, the
    rows are divided at random, 60/20/20. A built-in name has its own parts. What a folder does
    not hold is None: see :meth:`Splits.with_validation`.

    Args:
        source: as in :func:`load`.
        labels: as in :func:`load`.
        seed: of the division at random; nothing else (a built-in's is ``name:seed=3``).
    """
    path = _existing(source)
    if path is None:
        _no_labels(source, labels)
        return builtin_splits(str(source))
    if path.is_dir():
        return folder_splits(path, labels=labels, seed=seed)
    return split_rows(load(path, labels=labels), seed=seed)


def _existing(source: str | Path) -> Path | None:
    """The path, or None where the source is a built-in name."""
    name = str(source).partition(":")[0]
    if isinstance(source, str) and name in BUILTIN:
        return None
    path = Path(source).expanduser()
    if path.exists():
        return path
    if isinstance(source, Path) or "/" in name or extension(name) in EXTENSIONS:
        raise DataError(f"{source} does not exist")
    raise unknown("data set", name, BUILTIN)


def _no_labels(source: str | Path, labels: Labels) -> None:
    if labels is not None:
        raise SettingError(f"{source} has its own labels: leave labels= out")
