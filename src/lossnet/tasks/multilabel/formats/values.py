"""The strings of one attribute as numbers, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lossnet.data.table import MISSING, Table
from lossnet.tasks.multilabel.formats.coding import Coding, Dropped, Number, OneHot


def columns_of(coding: Coding) -> int:
    """How many columns a coding makes."""
    if isinstance(coding, OneHot):
        return len(coding.values)
    return 0 if isinstance(coding, Dropped) else 1


def word_codes(table: Table, j: int, values: Sequence[str]) -> np.ndarray[Any, Any]:
    """The position of each row's word among ``values``, -1 where missing."""
    column = table.column(j)
    code = {value: k for k, value in enumerate(values)}
    code.setdefault(MISSING, -1)
    try:
        return np.fromiter(map(code.__getitem__, column), dtype=np.int64, count=len(column))
    except KeyError as error:
        word = error.args[0]
        raise table.error(
            column.index(word),
            f"{word!r} is not among the values declared for {table.attributes[j].name!r}",
        ) from None


def numbers(table: Table, j: int, coding: Number) -> np.ndarray[Any, Any]:
    """The numbers of attribute ``j``, NaN where missing, checked against the coding."""
    column = table.column(j)
    values = parse_numbers(column)
    if values is None:
        row = next(i for i, v in enumerate(column) if v != MISSING and parse_numbers([v]) is None)
        raise table.error(row, f"{table.attributes[j].name!r} is {column[row]!r}, not a number")
    if coding.allowed is not None:
        bad = set(np.unique(values[~np.isnan(values)])) - coding.allowed
        if bad:
            row = int(np.flatnonzero(np.isin(values, list(bad)))[0])
            raise table.error(row, not_allowed(table, j, column[row], coding))
    return values


def not_allowed(table: Table, j: int, value: str, coding: Number) -> str:
    """The message for a number that an attribute does not allow."""
    expected = ", ".join(f"{v:g}" for v in sorted(coding.allowed or ())[:10])
    return f"{table.attributes[j].name!r} is {value[:40]}; expected one of {expected}"


def parse_numbers(column: Sequence[str]) -> np.ndarray[Any, Any] | None:
    """The numbers of a column, NaN for ``?``; None where something else is not a number."""
    try:
        values = np.array([float(v) if v != MISSING else np.nan for v in column])
    except ValueError:
        return None
    # float() takes more than a file may hold: nan, inf and digits with underscores.
    missing = column.count(MISSING)
    if missing + np.isfinite(values).sum() != len(column) or "_" in "".join(column):
        return None
    return values
