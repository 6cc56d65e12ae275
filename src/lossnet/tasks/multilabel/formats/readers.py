"""Which reader reads which file, by the file's extension."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from lossnet.data.text import extension, stem
from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData

Labels = int | Sequence[str] | None
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
#: The module of this folder whose ``read(paths, labels, name)`` reads files of an extension.
EXTENSIONS = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "csv",
    ".npz": "npz",
    **dict.fromkeys(SVMLIGHT, "svmlight"),
}


def reader(path: str | Path) -> Any:
    """The module that reads the file."""
    kind = extension(path)
    if kind not in EXTENSIONS:
        known = ", ".join(sorted(EXTENSIONS))
        raise DataError(f"{path}: unknown kind of file; known: {known}, each also with .gz")
    return import_module(f"lossnet.tasks.multilabel.formats.{EXTENSIONS[kind]}")


def load_files(
    paths: Sequence[str | Path], *, labels: Labels = None, name: str | None = None
) -> list[MultiLabelData]:
    """Read the files of one data set, the training file first, so that their columns agree.

    Args:
        paths: files of one format.
        labels: which columns are labels, where the file does not say.
        name: what to call the data set; the first file's name where None.
    """
    if not paths:
        raise DataError("no files given; name at least one")
    first, *others = map(reader, paths)
    if any(other is not first for other in others):
        kinds = sorted({extension(path) for path in paths})
        raise DataError(f"the files of one data set must have one format, got {kinds}")
    data: list[MultiLabelData] = first.read(paths, labels, name or stem(paths[0]))
    return data
