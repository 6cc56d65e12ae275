"""Columns of numbers and of words, as the net takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .base import Array, ModelError

Facts = Mapping[str, Any]
_MISSING = ("", "?")


def encoded_rows(rows: Array, facts: Facts, first: int) -> Array:
    """Rows ``(n, d)`` as float32, with a column for each category; ``first`` is their number."""
    expected, names = facts["features"], facts["feature_names"]
    if rows.shape[1] != expected:
        counts = f"inputs have {rows.shape[1]} features and the model takes {expected}"
        raise ModelError(f"{counts}; give the columns of the training data")
    coded = {one["column"]: one for one in facts["categories"]}
    if rows.dtype.kind in "biuf" and not coded:
        found = rows.astype(np.float32)
    elif rows.dtype.kind not in "biufO":
        raise ModelError(f"inputs have dtype {rows.dtype}; expected numbers, or objects")
    else:
        called = names or range(expected)
        columns = (_encoded(rows[:, j], coded.get(j), called[j]) for j in range(expected))
        found = np.hstack([np.zeros((len(rows), 0), dtype=np.float32), *columns])
    if np.isinf(found).any():
        row = first + int(np.isinf(found).any(1).argmax())
        raise ModelError(f"row {row} (from 0) holds infinity; expected finite numbers")
    return found


def _encoded(values: Array, coded: Mapping[str, Any] | None, name: Any) -> Array:
    """A column as one of numbers, or as one for each of its categories."""
    if coded is None:
        try:
            numbers = [np.nan if _missing(value) else float(value) for value in values]
        except (TypeError, ValueError) as error:
            raise ModelError(f"column {name} must hold numbers, as in training: {error}") from error
        return np.array(numbers, dtype=np.float32)[:, None]
    place = {word: k for k, word in enumerate(coded["words"])}
    at = np.array([-1 if _missing(v) else place.get(_text(v, coded), -1) for v in values])
    if coded["kind"] == "yes/no":
        return np.where(at < 0, np.nan, at).astype(np.float32)[:, None]
    return (at[:, None] == np.arange(len(place))).astype(np.float32)


def _missing(value: Any) -> bool:
    if value is None or (isinstance(value, str) and value in _MISSING):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _text(value: Any, coded: Mapping[str, Any]) -> str:
    """The word that a value is: 3 and 3.0 are ``"3"``, True is yes."""
    if coded["kind"] == "yes/no" and isinstance(value, bool | np.bool_):
        return str(coded["words"][int(value)])
    if coded["kind"] == "codes" and _is_number(value) and float(value).is_integer():
        return str(int(float(value)))
    return str(value)


def rows_of_table(table: Sequence[Sequence[str]], facts: Facts, source: str) -> Array:
    """The features of a CSV file's cells, in the columns of training, found by their names."""
    names, coded = facts["feature_names"], {one["column"] for one in facts["categories"]}
    if not table or len({len(cells) for cells in table}) != 1:
        raise ModelError(f"{source} is empty, or its rows differ in length")
    cells = np.array([[cell.strip() for cell in row] for row in table], dtype=object)
    titled = names is not None or any(not _missing(c) and not _is_number(c) for c in cells[0])
    place = {name: j for j, name in enumerate(cells[0])}
    rows = cells[1:] if titled else cells
    if names is not None:
        found = [_named(rows, name, place, source) for name in names]
        rows = np.stack(found, 1) if found else rows[:, :0]
    truths = {word: float(word == yes) for yes, no in facts["yes_no"] for word in (yes, no)}
    for j in range(rows.shape[1]):
        if j not in coded:  # yes and no of a column of numbers are 1 and 0
            rows[:, j] = [truths.get(str(cell).lower(), cell) for cell in rows[:, j]]
    return rows


def _named(rows: Array, name: str, place: Mapping[str, int], source: str) -> Array:
    """The cells of a feature; ``colour=red`` may be the word ``red`` in a column ``colour``."""
    if name in place:
        return rows[:, place[name]]
    column, equals, word = name.partition("=")
    if equals and column in place:
        return (rows[:, place[column]] == word).astype(float).astype(object)
    raise ModelError(f"{source} has no column {name!r}; give the columns of the training data")


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True
