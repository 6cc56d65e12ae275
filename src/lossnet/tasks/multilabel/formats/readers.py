"""Which reader reads which file, told by the file's extension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from lossnet.data.text import extension
from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData

Labels = int | Sequence[str] | None
Reader = Callable[..., list[MultiLabelData]]


def _arff() -> Reader:
    from lossnet.tasks.multilabel.formats.arff import read_arff

    return read_arff


def _svmlight() -> Reader:
    from lossnet.tasks.multilabel.formats.svmlight import read_svmlight

    return read_svmlight


def _csv() -> Reader:
    from lossnet.tasks.multilabel.formats.csv import read_csv

    return read_csv


def _npz() -> Reader:
    from lossnet.tasks.multilabel.formats.npz import read_npz

    return read_npz


EXTENSIONS: dict[str, Callable[[], Reader]] = {
    ".arff": _arff,
    ".svm": _svmlight,
    ".svmlight": _svmlight,
    ".libsvm": _svmlight,
    ".txt": _svmlight,
    ".csv": _csv,
    ".tsv": _csv,
    ".npz": _npz,
}


def read_files(
    paths: Sequence[str | Path], *, labels: Labels = None, name: str | None = None
) -> list[MultiLabelData]:
    """Read the files of one data set, the training file first, so that their columns agree.

    Args:
        paths: files of one format.
        labels: which columns are labels, where the format needs telling.
        name: what to call the data set.
    """
    if not paths:
        raise DataError("no files given; name at least one")
    kinds = {extension(path) for path in paths}
    for path in paths:
        if extension(path) not in EXTENSIONS:
            known = ", ".join(sorted(EXTENSIONS))
            raise DataError(f"{path}: unknown kind of file; known: {known}, each also with .gz")
    readers = {EXTENSIONS[kind]() for kind in kinds}
    if len(readers) > 1:
        raise DataError(f"the files of one data set must have one format, not {sorted(kinds)}")
    return readers.pop()(paths, labels=labels, name=name)
