"""A file's rows as text, before they become numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.errors import DataError

MISSING = "?"


@dataclass(frozen=True)
class Attribute:
    """A column: its name, its kind and, for the kind ``nominal``, the values declared."""

    name: str
    kind: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Entries:
    """The listed values of a sparse file: three sequences of equal length."""

    rows: np.ndarray[Any, Any]
    columns: np.ndarray[Any, Any]
    values: list[str]


@dataclass(frozen=True)
class Table:
    """The rows of one file.

    Either ``columns`` (dense: one sequence of strings for each attribute) or ``entries``
    (sparse) is given. ``lines[i]`` is the line of the file where row ``i`` stands.
    """

    path: Path
    relation: str
    attributes: list[Attribute]
    lines: Sequence[int]
    columns: Sequence[Sequence[str]] | None = None
    entries: Entries | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def column(self, j: int) -> Sequence[str]:
        """The strings of attribute ``j``, one a row."""
        if self.columns is not None:
            return self.columns[j]
        assert self.entries is not None
        values = [self.default(j)] * self.n_rows
        for k in np.flatnonzero(self.entries.columns == j):
            values[self.entries.rows[k]] = self.entries.values[k]
        return values

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
