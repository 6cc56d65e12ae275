"""Columns of numbers and of words, as the net takes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .base import Array, ModelError

Facts = Mapping[str, Any]
_MISSING = ("", "?")


def encoded_rows(rows: Array, facts: Facts, first: int) -> Array:
    """Rows ``(n, d)`` as float32, with a column for each category; ``first`` is their number."""
    expected = facts["features"]
    if rows.shape[1] != expected:
        counts = f"inputs have {rows.shape[1]} features and the model takes {expected}"
        raise ModelError(f"{counts}; give the columns of the training data")
    coded = {one["column"]: one for one in facts["categories"]}
    if not coded and rows.dtype.kind not in "biuf":
        raise ModelError(f"inputs have dtype {rows.dtype}; expected numbers")
    if not coded:
        found = rows.astype(np.float32)
    else:
        columns = (_encoded(rows[:, j], coded.get(j), f"column {j}") for j in range(expected))
        found = np.hstack([np.zeros((len(rows), 0), dtype=np.float32), *columns])
    wrong = np.isinf(found).any(1)
    if wrong.any():
        raise ModelError(
            f"row {first + int(wrong.argmax())} holds infinity; expected finite numbers"
        )
    return found


def _encoded(values: Array, coded: Mapping[str, Any] | None, name: str) -> Array:
    """A column as one of numbers, or as one for each of its categories."""
    if coded is None:
        return _numbers(values, name)[:, None]
    place = {word: k for k, word in enumerate(coded["words"])}
    at = np.array([-1 if _missing(v) else place.get(_text(v), -1) for v in values], dtype=np.int64)
    if coded["kind"] == "yes/no":
        flags = [isinstance(value, bool | np.bool_) for value in values]
        at = np.where(flags, [v is True or v is np.True_ for v in values], at)
        return np.where(at < 0, np.nan, at).astype(np.float32)[:, None]
    return (at[:, None] == np.arange(len(place))).astype(np.float32)


def _numbers(values: Array, name: str) -> Array:
    try:
        return np.array([np.nan if _missing(v) else float(v) for v in values], dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{name} must hold numbers, as in training: {error}") from error


def _missing(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value.strip() in _MISSING):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _text(value: Any) -> str:
    whole = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if whole else str(value)


def rows_of_table(table: Sequence[Sequence[str]], facts: Facts, source: str) -> Array:
    """The features of a CSV file's cells, in the columns of training, found by their names."""
    names = facts["feature_names"]
    if not table or len({len(cells) for cells in table}) != 1:
        raise ModelError(f"{source} is empty, or its rows differ in length")
    header = [cell.strip() for cell in table[0]]
    cells = np.array(table, dtype=object)
    if names is None:
        titled = any(not _is_number(cell) for cell in header if not _missing(cell))
        return _as_found(cells[1:] if titled else cells, facts)
    place = {name: j for j, name in enumerate(header)}
    body = cells[1:]
    found = [_named(body, name, place, facts, source) for name in names]
    return _as_found(np.stack(found, 1) if found else body[:, :0], facts)


def _named(body: Array, name: str, place: Mapping[str, int], facts: Facts, source: str) -> Array:
    """The cells of a feature; ``colour=red`` may be the word ``red`` in a column ``colour``."""
    if name in place:
        return body[:, place[name]]
    column, equals, word = name.partition("=")
    if equals and column in place:
        cells = body[:, place[column]]
        return np.array([float(cell.strip() == word) for cell in cells], dtype=object)
    raise ModelError(f"{source} has no column {name!r}; give the columns of the training data")


def _as_found(cells: Array, facts: Facts) -> Array:
    """Numbers as floats; words, where columns of the model hold any, as they are."""
    coded = {one["column"]: one["kind"] for one in facts["categories"]}
    if coded:
        return np.stack([_cells(cells[:, j], j in coded, facts) for j in range(cells.shape[1])], 1)
    columns = [_numbers(_cells(cells[:, j], False, facts), f"column {j}") for j in _count(cells)]
    return np.stack(columns, 1)


def _count(cells: Array) -> Iterator[int]:
    return iter(range(cells.shape[1]))


def _cells(cells: Array, coded: bool, facts: Facts) -> Array:
    """Cells without spaces around them; yes and no in a column of numbers are 1 and 0."""
    truths = {word: value for yes, no in facts["yes_no"] for word, value in ((yes, 1.0), (no, 0.0))}
    plain = [cell.strip() if isinstance(cell, str) else cell for cell in cells]
    if not coded:
        plain = [truths.get(str(c).lower(), c) if not _is_number(c) else c for c in plain]
    found = np.empty(len(plain), dtype=object)
    found[:] = plain
    return found


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
