"""How one attribute's strings become numbers.

| attribute | becomes |
|---|---|
| numeric; nominal whose values are all numbers | one number |
| nominal of two words of a yes/no kind | 1 for yes, 0 for no, whatever the order declared |
| any other nominal | one column per value, 1 where it holds |
| first attribute, words, (nearly) all different | dropped: it names the rows |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lossnet.data.table import MISSING, Table, is_number, parse_numbers
from lossnet.errors import DataError

YES_NO = (("yes", "no"), ("true", "false"), ("y", "n"), ("t", "f"), ("on", "off"))
_ID_ROWS = 10
_ID_SHARE = 0.95
#: So many different words are no text, however few the rows are.
_FEW = 20
#: What to do about a column of text.
NO_TEXT = (
    "TextClassifier predicts from texts; here turn it into numbers (scikit-learn's "
    "TfidfVectorizer does) or remove it"
)


@dataclass(frozen=True)
class Coding:
    """The columns that an attribute becomes, and what its strings stand for.

    Args:
        columns: the columns' names; none for an attribute that is dropped.
        words: the number of each word, or its column where ``one_hot``; None for numbers.
        allowed: the only numbers allowed; None for any.
        one_hot: whether a word is a 1 in its own column.
        open: whether other words may occur, which are zeros in all columns.
        note: why an attribute is dropped.
    """

    columns: list[str]
    words: dict[str, float] | None = None
    allowed: frozenset[float] | None = None
    one_hot: bool = False
    open: bool = False
    note: str = ""

    def lists_all(self, default: str) -> bool:
        """Whether the strings a sparse file lists are all that are not zero."""
        value = float(default) if self.words is None else self.words.get(default)
        return value == 0 and not self.one_hot

    def entries(self, table: Table, j: int) -> tuple[Any, Any, Any]:
        """Rows, columns and numbers of attribute ``j`` in coordinates; NaN where missing."""
        listed = table.rows is not None and self.lists_all(table.default(j))
        rows = table.rows[j] if table.rows and listed else np.arange(table.n_rows)
        texts = table.columns[j] if listed else table.column(j)
        if self.words is None:
            values = table.listed[j] if listed else parse_numbers(texts)
        else:
            values = self.numbers(texts)
        if self.allowed is None or not self.allowed.issuperset(values.tolist()):
            self._check(table, j, rows, texts, values)
        if not self.one_hot:
            return rows, 0, values
        known = ~np.isnan(values)
        return rows[known], values[known].astype(np.int64), np.ones(known.sum())

    def numbers(self, texts: Iterable[str]) -> Any:
        """The number, or column, of each word; NaN for a missing word, and for others if open."""
        number = {MISSING: np.nan, **(self.words or {})}
        other = np.nan if self.open else np.inf
        return np.array([number.get(text, other) for text in texts])

    def _check(self, table: Table, j: int, rows: Any, texts: Sequence[str], values: Any) -> None:
        """Raise for the first string that stands for no number, or for one not allowed."""
        wrong = np.isinf(values)
        if self.allowed is not None:
            wrong |= ~np.isin(values, list(self.allowed)) & ~np.isnan(values)
        if not wrong.any():
            return
        row, text = rows[wrong][0], texts[wrong.argmax()]
        problem = f"{table.attributes[j].name!r} is {text[:40]!r}"
        if self.words is None and not (self.allowed and is_number(text)):
            raise table.error(row, f"{problem}, not a number")
        allowed = self.words or [f"{v:g}" for v in sorted(self.allowed or ())]
        raise table.error(row, f"{problem}; expected one of {', '.join(list(allowed)[:10])}")


def choose(tables: Sequence[Table], j: int, *, label: bool) -> Coding:
    """The coding of attribute ``j``, common to all the tables (files of one data set)."""
    first, path = tables[0].attributes[j], tables[0].path
    if any(t.attributes[j].kind != first.kind for t in tables):
        problem = f"declare different types for {first.name!r}; give it one type"
        raise DataError(f"{path} and the files read with it {problem}")
    if first.kind == "numeric":
        return Coding([first.name])
    if j == 0 and not label and _names_rows(tables[0]):
        what = "it names the rows (words, nearly all different)"
        return Coding([], note=f"dropped {first.name!r}: {what}")
    if first.kind == "nominal":
        return _nominal(tables, j)
    if first.kind != "string":
        use = f"which cannot be a {'label' if label else 'feature'}; make it numbers or remove it"
        raise DataError(f"{path}: attribute {first.name!r} is of type {first.kind}, {use}")
    if all(v == MISSING or is_number(v) for t in tables for v in t.column(j)):
        return Coding([first.name])
    raise DataError(f"{path}: attribute {first.name!r} is text; {NO_TEXT}")


def _nominal(tables: Sequence[Table], j: int) -> Coding:
    first = tables[0].attributes[j]
    values = tuple(dict.fromkeys(v for t in tables for v in t.attributes[j].values))
    numbers, words = meaning(values)
    if numbers or words:
        return Coding([first.name], words, numbers)
    return one_hot(first.name, values, open=first.open)


def one_hot(name: str, values: Iterable[str], *, open: bool) -> Coding:
    """A column for each value, 1 where it holds."""
    places = {value: float(k) for k, value in enumerate(values)}
    return Coding([f"{name}={value}" for value in places], places, one_hot=True, open=open)


def is_text(different: int, cells: int) -> bool:
    """Whether a column with so many different words is free text rather than categories."""
    return different > _FEW and 2 * different > cells


@lru_cache  # a file may declare {0, 1} thousands of times
def meaning(values: tuple[str, ...]) -> tuple[frozenset[float] | None, dict[str, float] | None]:
    """The numbers that the values are, or those that words of a yes/no kind stand for."""
    if values and all(map(is_number, values)):
        return frozenset(map(float, values)), None
    for yes, no in YES_NO:
        if len(values) == 2 and {v.lower() for v in values} == {yes, no}:
            return None, {v: float(v.lower() == yes) for v in values}
    return None, None


def both(values: tuple[str, ...]) -> tuple[str, ...]:
    """``("yes",)`` as ``("yes", "no")``: a column of one such word is still of the yes/no kind."""
    for pair in YES_NO:
        if len(values) == 1 and values[0].lower() in pair:
            return (*values, *(word for word in pair if word != values[0].lower()))
    return values


def _names_rows(table: Table) -> bool:
    distinct, kind = set(table.column(0)), table.attributes[0].kind
    enough = kind == "string" or (kind == "nominal" and table.n_rows >= _ID_ROWS)
    different = len(distinct) >= _ID_SHARE * table.n_rows
    return enough and different and not any(map(is_number, distinct))
