"""A file's rows as text, before they become numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.errors import DataError

MISSING = "?"


@dataclass(frozen=True)
class Attribute:
    """A column: its name, its kind and, for the kind ``nominal``, its values.

    ``open``: the values are those one file happens to hold; other files may hold others.
    """

    name: str
    kind: str
    values: tuple[str, ...] = ()
    open: bool = False


@dataclass(frozen=True)
class Table:
    """The rows of one file.

    ``columns[j]`` has a string per row, or, in a sparse file, the strings that are listed;
    ``rows[j]`` are then their rows. ``lines[i]`` is the line of the file where row ``i`` stands.
    """

    path: Path
    attributes: list[Attribute]
    lines: Sequence[int]
    columns: Sequence[Sequence[str]]
    rows: Sequence[np.ndarray[Any, Any]] | None = None
    relation: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def column(self, j: int) -> Sequence[str]:
        """The strings of attribute ``j``, one per row."""
        if self.rows is None:
            return self.columns[j]
        values = [self.default(j)] * self.n_rows
        for row, text in zip(self.rows[j].tolist(), self.columns[j], strict=True):
            values[row] = text
        return values

    @cached_property
    def listed(self) -> list[np.ndarray[Any, Any]]:
        """The numbers of the strings that a sparse file lists: see :func:`parse_numbers`."""
        numbers = parse_numbers(list(chain.from_iterable(self.columns)))
        ends = accumulate(map(len, self.columns), initial=0)
        return [numbers[start:end] for start, end in pairwise(ends)]

    def default(self, j: int) -> str:
        """What a value that a sparse row does not list stands for.

        A sparse file lists only the values whose internal number is not zero, and the first
        declared value of a nominal attribute has number zero.
        """
        values = self.attributes[j].values
        return values[0] if values else "0"

    def error(self, row: int, problem: str) -> DataError:
        """The error for a problem in the given row, with file and line."""
        return DataError(f"{self.path}, line {self.lines[row]}: {problem}")


def is_number(text: str) -> bool:
    """Whether the text is a finite number without Python's underscores."""
    try:
        return "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


def parse_numbers(column: Sequence[str]) -> np.ndarray[Any, Any]:
    """The numbers of a column: NaN for a missing one, infinity for what is not a finite number."""
    distinct = set(column)
    if 2 * len(distinct) < len(column):
        number = dict(zip(distinct, parse_numbers(list(distinct)).tolist(), strict=True))
        return np.fromiter(map(number.__getitem__, column), float, len(column))
    cells = ["nan" if v == MISSING else v for v in column] if MISSING in distinct else column
    try:
        values = np.fromiter(map(float, cells), float, len(cells))
    except ValueError:
        values = np.full(len(cells), np.nan)
    # float() takes more than a file may hold: nan, inf and digits with underscores.
    if np.isnan(values).sum() != column.count(MISSING) or "_" in "".join(column):
        values = np.array([float(v) if is_number(v) else np.inf for v in column])
        values[[v == MISSING for v in column]] = np.nan
    return values
