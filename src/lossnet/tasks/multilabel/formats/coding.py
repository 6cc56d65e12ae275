"""How one attribute's strings become numbers.

| attribute | becomes |
|---|---|
| numeric; nominal whose values are all numbers | one number |
| nominal of two words of a yes/no kind | 1 for yes, 0 for no, whatever the order declared |
| any other nominal | one column a value, 1 where it holds |
| first attribute, words, (nearly) all different | dropped: it names the rows |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lossnet.data.table import MISSING, Attribute, Table
from lossnet.errors import DataError

YES_NO = (("yes", "no"), ("true", "false"), ("y", "n"), ("t", "f"), ("on", "off"))
_ID_ROWS = 10
_ID_SHARE = 0.95


@dataclass(frozen=True)
class Number:
    """A number; where ``allowed`` is given, one of these."""

    allowed: frozenset[float] | None = None


@dataclass(frozen=True)
class Words:
    """A word that stands for 0 or 1."""

    values: dict[str, float]


@dataclass(frozen=True)
class OneHot:
    """One column for each of the values."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class Dropped:
    """No column, and why."""

    why: str


Coding = Number | Words | OneHot | Dropped


def is_number(text: str) -> bool:
    """Whether the text is a number (not NaN, not infinity, no Python underscores)."""
    try:
        value = float(text)
    except ValueError:
        return False
    return "_" not in text and value - value == 0


def choose(tables: Sequence[Table], j: int, *, label: bool) -> Coding:
    """The coding of attribute ``j``, common to all the tables (files of one data set)."""
    first = tables[0].attributes[j]
    if any(t.attributes[j].kind != first.kind for t in tables):
        raise DataError(
            f"{tables[0].path} and the files beside it declare different types for "
            f"{first.name!r}; give it one type"
        )
    if first.kind == "numeric":
        return Number()
    if j == 0 and not label and _names_rows(tables[0], first):
        return Dropped(f"dropped {first.name!r}: it names the rows (words, nearly all different)")
    if first.kind == "nominal":
        return _nominal(tables, j)
    if first.kind == "string":
        return _string(tables, j)
    raise DataError(
        f"{tables[0].path}: attribute {first.name!r} is of type {first.kind}, which cannot be a "
        f"{'label' if label else 'feature'}; convert it to numbers or remove it"
    )


def _nominal(tables: Sequence[Table], j: int) -> Coding:
    values = tuple(dict.fromkeys(v for t in tables for v in t.attributes[j].values))
    if values and all(map(is_number, values)):
        return Number(frozenset(map(float, values)))
    lowered = {v.lower() for v in values}
    for yes, no in YES_NO:
        if len(values) == 2 and lowered == {yes, no}:
            return Words({v: float(v.lower() == yes) for v in values})
    return OneHot(values)


def _string(tables: Sequence[Table], j: int) -> Coding:
    values = {v for t in tables for v in t.column(j) if v != MISSING}
    if all(map(is_number, values)):
        return Number()
    raise DataError(
        f"{tables[0].path}: attribute {tables[0].attributes[j].name!r} is text; turn it into "
        "numbers first (for instance with scikit-learn's TfidfVectorizer) or remove it"
    )


def _names_rows(table: Table, attribute: Attribute) -> bool:
    if attribute.kind not in ("nominal", "string"):
        return False
    column = table.column(0)
    distinct = set(column)
    enough = len(column) >= _ID_ROWS or attribute.kind == "string"
    return (
        enough
        and len(distinct) >= _ID_SHARE * len(column)
        and not any(is_number(v) for v in distinct)
    )
