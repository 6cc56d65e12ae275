"""Which reader reads which file, by the file's extension."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from lossnet.data.text import extension
from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData

Labels = int | Sequence[str] | None
SVMLIGHT = (".svm", ".svmlight", ".libsvm", ".txt")
#: The module of this folder whose ``read`` reads files of an extension.
EXTENSIONS = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "csv",
    ".npz": "npz",
    **dict.fromkeys(SVMLIGHT, "svmlight"),
}


def read_files(
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
    kinds = {extension(path) for path in paths}
    for path in paths:
        if extension(path) not in EXTENSIONS:
            known = ", ".join(sorted(EXTENSIONS))
            raise DataError(f"{path}: unknown kind of file; known: {known}, each also with .gz")
    modules = {EXTENSIONS[kind] for kind in kinds}
    if len(modules) > 1:
        raise DataError(f"the files of one data set must have one format, got {sorted(kinds)}")
    module = import_module(f"lossnet.tasks.multilabel.formats.{modules.pop()}")
    data: list[MultiLabelData] = module.read(paths, labels=labels, name=name)
    return data
