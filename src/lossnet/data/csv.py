"""CSV and TSV files with a header line."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lossnet.data.table import MISSING, Attribute, Table, is_number
from lossnet.data.text import extension, read_lines
from lossnet.errors import DataError

_EMPTY = ("", "NA", MISSING)


def read_table(path: str | Path) -> Table:
    """All columns of a file, as strings; a damaged file is a :class:`DataError` with its line.

    The delimiter is the one of comma, semicolon and tab that the header line has most of; in a
    ``.tsv`` file it is the tab. A first column without a name (a row index, as pandas writes it)
    is left out. An empty cell, ``NA`` or ``?`` is missing.
    """
    path = Path(path)
    lines, notes = read_lines(path)
    mark = "\t" if extension(path) == ".tsv" else None
    (header, *rows), (_, *numbers) = read_cells(path, lines, mark)
    header = [cell.strip() for cell in header]
    if not rows:
        raise DataError(f"{path} holds a header and no rows")
    columns = [tuple(map(_cell, column)) for column in zip(*rows, strict=True)]
    if not header[0] and len(header) > 1:
        del header[0], columns[0]
        notes.append("left out the first column: it has no name (a row index)")
    _check_header(path, header)
    return Table(path, [Attribute(h, "string") for h in header], numbers, columns, notes=notes)


def read_cells(
    path: Path, lines: Sequence[str], mark: str | None = None
) -> tuple[list[list[str]], list[int]]:
    """The cells of every row that is not empty, the first included, and the line it ends on.

    Rows have as many cells as the first. Where ``mark`` is None, the delimiter is the one of
    comma, semicolon and tab that the first line has most of.
    """
    mark = mark or max(",;\t", key=lines[0].count)
    reader = csv.reader((line + "\n" for line in lines), delimiter=mark, strict=True)
    rows: list[list[str]] = []
    numbers = []
    before = csv.field_size_limit(sum(map(len, lines)) + len(lines))  # a cell may be a long text
    try:
        for row in reader:
            if rows and len(row) <= 1 and not "".join(row).strip():
                continue
            if rows and len(row) != len(rows[0]):
                hint = "; is the file cut short?" if len(row) < len(rows[0]) else ""
                problem = f"{len(row)} cells for {len(rows[0])} columns{hint}"
                raise DataError(f"{path}, line {reader.line_num}: {problem}")
            rows.append(row)
            numbers.append(reader.line_num)
    except csv.Error as error:
        where = f"{path}, line {reader.line_num}"
        raise DataError(f"{where}: {error}; is a quote left open?") from error
    finally:
        csv.field_size_limit(before)
    return rows, numbers


def _cell(text: str) -> str:
    text = text.strip()
    return MISSING if text in _EMPTY else text


def _check_header(path: Path, header: list[str]) -> None:
    if all(map(is_number, header)):
        raise DataError(f"{path} has no header line; put the columns' names on the first line")
    if "" in header:
        raise DataError(f"{path}: column {header.index('') + 1} has no name in the header line")
    name, count = Counter(header).most_common(1)[0]
    if count > 1:
        raise DataError(f"{path}: two columns are called {name!r}; rename one of them")
