"""Features and labels from CSV and TSV files.

Which columns are labels: those that the argument ``labels`` picks, else those whose header
begins with ``label:`` (the label's name is what follows). Label columns hold 0 and 1 or yes and
no; the rest are features. A feature of words becomes one column per word (``colour=red``).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from lossnet.data.csv import read_table
from lossnet.data.table import MISSING, Attribute, Table, parse_numbers
from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.coding import is_text
from lossnet.tasks.multilabel.formats.encode import WHICH, LabelColumns, chosen, encode
from lossnet.tasks.multilabel.formats.readers import Labels

PREFIX = "label:"
_NOT_FINITE = {"nan", "inf", "+inf", "-inf", "infinity", "-infinity"}


def read(paths: Sequence[str | Path], labels: Labels, name: str) -> list[MultiLabelData]:
    """Read the CSV files of one data set; the first, the training file, decides on the columns.

    Args:
        paths: one file or more.
        labels: n for the first n columns, -n for the last n, or a list of names.
        name: what to call the data set.
    """
    tables = [read_table(path) for path in paths]
    first = tables[0]
    names = [a.name for a in first.attributes]
    if labels is None and not (labels := [n for n in names if n.startswith(PREFIX)]):
        remedy = f"begin their names with {PREFIX!r} or pass labels= ({WHICH})"
        raise DataError(f"{first.path} does not say which columns are labels: {remedy}")
    index = chosen(names, labels, str(first.path))
    columns = LabelColumns(index, [names[j].removeprefix(PREFIX) for j in index])
    return encode(_with_kinds(tables, index), columns, name)


def read_columns(path: str | Path) -> Table:
    """All columns of one CSV file, each with its kind, whether label or feature."""
    return _with_kinds([read_table(path)], ())[0]


def _with_kinds(tables: list[Table], labels: Collection[int]) -> list[Table]:
    """The tables with the kind of each column, as its cells suggest: a feature's in the first."""
    names = [a.name for a in tables[0].attributes]
    kinds = {name: _kind(tables, j, j in labels) for j, name in enumerate(names)}
    return [replace(t, attributes=[kinds.get(a.name, a) for a in t.attributes]) for t in tables]


def _kind(tables: list[Table], j: int, label: bool) -> Attribute:
    name = tables[0].attributes[j].name
    columns = [t.columns[j] for t in tables if j < len(t.columns)]
    cells = [v for c in (columns if label else columns[:1]) for v in c if v != MISSING]
    distinct = list(set(cells))
    words = sorted(distinct[k] for k in np.flatnonzero(np.isinf(parse_numbers(distinct))))
    if not words:
        return Attribute(name, "numeric")
    strange = [v for c in columns for v in c if v.lower() in _NOT_FINITE]
    if strange or 2 * np.isfinite(parse_numbers(cells)).sum() > len(cells):
        bad = (strange or words)[0]
        table = next(t for t in tables if bad in t.columns[j])
        row = table.columns[j].index(bad)
        raise table.error(row, f"column {name!r} is {bad!r}, not a finite number")
    # The first column may name the rows, which its coding checks.
    if j > 0 and is_text(len(distinct), len(cells)):
        return Attribute(name, "string")
    return Attribute(name, "nominal", tuple(sorted(distinct)), open=not label)
