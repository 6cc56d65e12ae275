"""CSV and TSV files with a header line.

Which columns are labels: those that the argument ``labels`` picks, else those whose header
begins with ``label:`` (the label's name is what follows). Label columns hold 0 and 1 or yes and
no; the rest are features. A feature of words becomes one column a word (``colour=red``); an
empty cell, ``NA`` or ``?`` is missing.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lossnet.data.table import MISSING, Attribute, Table
from lossnet.data.text import extension, read_lines, stem
from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.formats.coding import is_number
from lossnet.tasks.multilabel.formats.encode import LabelColumns, encode
from lossnet.tasks.multilabel.formats.labels import chosen
from lossnet.tasks.multilabel.formats.readers import Labels

PREFIX = "label:"
_EMPTY = ("", "NA", MISSING)
_NOT_FINITE = ("nan", "inf", "+inf", "-inf", "infinity", "-infinity")


def read_csv(
    paths: Sequence[str | Path], *, labels: Labels = None, name: str | None = None
) -> list[MultiLabelData]:
    """Read the CSV files of one data set, the training file first, so that their columns agree.

    The delimiter is the one of comma, semicolon and tab that the header line has most of. A
    first column without a name (a row index, as pandas writes it) is left out.

    Args:
        paths: one file or more.
        labels: n for the first n columns, -n for the last n, or a list of names.
        name: what to call the data set; the first file's name where None.
    """
    tables = [_table(Path(path)) for path in paths]
    columns = _label_columns(tables[0], labels)
    tables = _with_kinds(tables)
    return encode(tables, columns, name=name or stem(tables[0].path))


def read_columns(path: str | Path) -> Table:
    """All columns of one CSV file, each with its kind, whether label or feature."""
    return _with_kinds([_table(Path(path))])[0]


def _table(path: Path) -> Table:
    lines, notes = read_lines(path)
    mark = "\t" if extension(path) == ".tsv" else max(",;\t", key=lines[0].count)
    reader = csv.reader((line + "\n" for line in lines), delimiter=mark, strict=True)
    rows: list[list[str]] = []
    numbers: list[int] = []
    try:
        header = [cell.strip() for cell in next(reader)]
        for row in reader:
            if not any(cell.strip() for cell in row) and len(row) <= 1:
                continue
            if len(row) != len(header):
                hint = "; is the file cut short?" if len(row) < len(header) else ""
                raise DataError(
                    f"{path}, line {reader.line_num}: {len(row)} cells for {len(header)} "
                    f"columns{hint}"
                )
            rows.append(row)
            numbers.append(reader.line_num)
    except csv.Error as error:
        raise DataError(
            f"{path}, line {reader.line_num}: {error}; is a quote left open?"
        ) from error
    if not rows:
        raise DataError(f"{path} holds a header and no rows")
    columns = [tuple(map(_cell, column)) for column in zip(*rows, strict=True)]
    if not header[0] and len(header) > 1:
        header, columns = header[1:], columns[1:]
        notes.append("left out the first column: it has no name (a row index)")
    _check_header(path, header)
    attributes = [Attribute(h, "nominal") for h in header]
    return Table(path, "", attributes, numbers, columns=columns, notes=notes)


def _cell(text: str) -> str:
    text = text.strip()
    return MISSING if text in _EMPTY else text


def _check_header(path: Path, header: list[str]) -> None:
    if all(map(is_number, header)):
        raise DataError(f"{path} has no header line; put the columns' names on the first line")
    seen: set[str] = set()
    for k, name in enumerate(header):
        if not name:
            raise DataError(f"{path}: column {k + 1} has no name in the header line")
        if name in seen:
            raise DataError(f"{path}: two columns are called {name!r}; rename one of them")
        seen.add(name)


def _label_columns(table: Table, labels: Labels) -> LabelColumns:
    names = [a.name for a in table.attributes]
    if labels is None:
        marked = [n for n in names if n.startswith(PREFIX)]
        if not marked:
            raise DataError(
                f"{table.path} does not say which columns are labels: begin their names with "
                f"{PREFIX!r} or pass labels= (n for the first n, -n for the last n, or names)"
            )
        labels = marked
    found = chosen(names, labels, str(table.path))
    return LabelColumns(found.index, [n.removeprefix(PREFIX) for n in found.names])


def _with_kinds(tables: list[Table]) -> list[Table]:
    """The tables with each column's kind, told from its cells in all files."""
    width = min(len(t.attributes) for t in tables)
    kinds = [_kind(tables, j) for j in range(width)]
    return [
        replace(
            t,
            attributes=[
                replace(a, kind=k.kind, values=k.values)
                for a, k in zip(t.attributes, kinds, strict=False)
            ],
        )
        if len(t.attributes) == width
        else t
        for t in tables
    ]


def _kind(tables: list[Table], j: int) -> Attribute:
    name = tables[0].attributes[j].name
    cells = [v for t in tables for v in t.column(j) if v != MISSING]
    distinct = sorted(set(cells))
    words = [v for v in distinct if not is_number(v)]
    if not words:
        return Attribute(name, "numeric")
    numbers = sum(is_number(v) for v in cells)
    strange = [v for v in words if v.lower() in _NOT_FINITE]
    if strange or 2 * numbers > len(cells):
        bad = (strange or words)[0]
        table, row = next((t, t.column(j).index(bad)) for t in tables if bad in t.column(j))
        raise table.error(row, f"column {name!r} is {bad!r}, not a finite number")
    # The first column may name the rows: that is for the coding to see.
    if j > 0 and len(distinct) > 20 and 2 * len(distinct) > len(cells):
        return Attribute(name, "string")
    return Attribute(name, "nominal", tuple(distinct))
