"""Labels as users hold them: a list of strings for each text, or an indicator matrix."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from lossnet.errors import DataError
from lossnet.plain_text import some
from lossnet.tasks.multilabel.label_sets import LabelSets
from lossnet.tasks.multilabel.targets import Labels


def read_labels(
    given: Any, names: Sequence[str] | None, where: str
) -> tuple[Any, list[str] | None]:
    """Labels as a matrix ``(n, L)``, and the names of its columns where they are known.

    Args:
        given: label lists, or a matrix: an array, nested lists of numbers, sparse, a DataFrame.
        names: the columns of the matrix that label lists become; theirs, sorted, where None.
        where: what errors call the data.
    """
    if hasattr(given, "columns") or hasattr(given, "toarray"):
        columns = [str(column) for column in given.columns] if hasattr(given, "columns") else None
        return given, columns
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise DataError(f"{where}: labels must be a list for each text, got {reprlib.repr(given)}")
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind in "biuf":
        return given, None
    rows = [_row(row, k, where) for k, row in enumerate(given)]
    kinds = {isinstance(value, str) for row in rows for value in row}
    if kinds == {False}:
        return _matrix(rows, where), None
    if len(kinds) == 2:
        k, row = next((k, r) for k, r in enumerate(rows) if not all(isinstance(v, str) for v in r))
        what = f"the labels of row {k} (counted from 0) are {reprlib.repr(row)}"
        raise DataError(f"{where}: {what}, those of others are strings; expected strings alone")
    found = sorted({value for row in rows for value in row}) if names is None else list(names)
    place = {name: k for k, name in enumerate(found)}
    if strange := sorted({value for row in rows for value in row if value not in place}):
        raise DataError(f"{where}: labels {some(strange)} are not among the labels' names")
    Y = np.zeros((len(rows), len(found)), dtype=np.uint8)
    for k, row in enumerate(rows):
        Y[k, [place[value] for value in row]] = 1
    return Y, found


def _row(row: Any, k: int, where: str) -> list[Any]:
    """The labels of one text: strings, or the numbers of a matrix's row."""
    what = f"{where}: the labels of row {k} (counted from 0) are"
    if isinstance(row, str):
        raise DataError(f"{what} {row!r}, a string; expected a list of strings: [{row!r}]")
    if row is None or (isinstance(row, Real) and row != row):
        raise DataError(f"{what} missing; give an empty list where a text has none")
    if isinstance(row, bytes | Mapping) or not isinstance(row, Iterable):
        raise DataError(f"{what} {reprlib.repr(row)}; expected a list of strings")
    found = list(row)
    for value in found:
        if not isinstance(value, str | Real) or value == "":
            label = "an empty string" if value == "" else reprlib.repr(value)
            raise DataError(f"{what} {reprlib.repr(found)}; {label} is no label")
    return [str(value) if isinstance(value, str) else value for value in found]


def _matrix(rows: list[list[Any]], where: str) -> np.ndarray:
    if len({len(row) for row in rows}) > 1:
        rule = "expected strings, or rows of 0 and 1 of one length"
        raise DataError(f"{where}: labels are numbers; {rule}")
    return np.array(rows)


@dataclass(frozen=True)
class LabelLists(Labels):
    """Labels that may also come as a list of strings for each text."""

    def _columns(self, Y: Any) -> Any:
        if not isinstance(Y, LabelSets):
            Y, _ = read_labels(Y, self.names, "Y")
        return super()._columns(Y)
