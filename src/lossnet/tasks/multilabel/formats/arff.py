"""Multi-label ARFF files: Mulan's, MEKA's and Clus's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lossnet.data.arff import read_table
from lossnet.data.text import stem
from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.clus import forest, indicators
from lossnet.tasks.multilabel.formats.encode import LabelColumns, encode
from lossnet.tasks.multilabel.formats.labels import label_columns
from lossnet.tasks.multilabel.formats.readers import Labels


def read_arff(
    paths: Sequence[str | Path], *, labels: Labels = None, name: str | None = None
) -> list[MultiLabelData]:
    """Read the ARFF files of one data set, the training file first.

    All get the same columns: nominal values are pooled, and missing numbers are replaced by the
    first file's column means. A column of type ``hierarchical`` (Clus) gives the labels; else
    see :func:`lossnet.tasks.multilabel.formats.labels.label_columns`.

    Args:
        paths: one file or more.
        labels: n for the first n attributes, -n for the last n, or a list of names.
        name: what to call the data set; the first file's name where None.
    """
    tables = [read_table(path) for path in paths]
    first = tables[0]
    name = name or stem(first.path)
    classes = [j for j, a in enumerate(first.attributes) if a.kind == "hierarchical"]
    if not classes or labels is not None:
        return encode(tables, label_columns(first, labels), name=name)
    if len(classes) > 1:
        raise DataError(f"{first.path} has {len(classes)} hierarchical attributes; expected one")
    column = classes[0]
    declared = [
        value
        for table in tables
        if column < len(table.attributes)
        for value in table.attributes[column].values
    ]
    tree = forest(tuple(dict.fromkeys(declared)), str(first.path))
    Y = [indicators(table, column, tree) for table in tables if column < len(table.attributes)]
    found = LabelColumns([], tree.names, tree.parents)
    return encode(tables, found, name=name, Y=Y, skip=[column])
