"""Bounds on what a data file may ask for, so that no damaged or hostile one fills the memory."""

from __future__ import annotations

import os
from pathlib import Path

from lossnet.errors import DataError

#: The environment variable that sets the bytes a file may expand to, in place of these bounds:
VARIABLE = "LOSSNET_MAX_EXPANDED"
#: a packed file may expand to this many bytes,
MAX_EXPANDED = 4 * 2**30
#: and to this many times its own size, which text and numbers hardly ever exceed,
MAX_RATIO = 100
#: unless the result is no larger than this anyway (arrays, mostly zeros, pack best);
SMALL = {"text": 32 * 2**20, "arrays": 128 * 2**20}
#: a dense matrix made of a sparse file, or of words, may have this many cells.
MAX_CELLS = 2**29
#: Columns of features or labels.
MAX_COLUMNS = 5_000_000
#: Levels of nested elements in an XML file.
MAX_DEPTH = 100
_MAX_DIGITS = 18


def check_expanded(path: str | Path, size: int, packed: int, kind: str) -> None:
    """Raise where ``packed`` bytes of a file expand to ``size`` and that is too many."""
    bound = _bound(min(MAX_EXPANDED, max(SMALL[kind], MAX_RATIO * packed)))
    if size > bound:
        remedy = f"set {VARIABLE} to the number of bytes it may expand to"
        raise DataError(f"{path} expands to more than {bound:,} bytes; if it is genuine, {remedy}")


def check_cells(path: str | Path, rows: int, columns: int, what: str) -> None:
    """Raise where a matrix has too many columns, or too many cells to be dense."""
    if columns > MAX_COLUMNS:
        most = f"more than the {MAX_COLUMNS} that can be read"
        raise DataError(f"{path}: {columns} {what}, {most}; is a number wrong?")
    if rows * columns > _bound(MAX_CELLS):
        wrong = f"{path}: {rows} rows x {columns} {what} are too many for a dense matrix"
        remedy = f"keep fewer {what}, or set {VARIABLE} to at least {rows * columns}"
        raise DataError(f"{wrong}; {remedy}")


def _bound(default: int) -> int:
    given = os.environ.get(VARIABLE)
    if not given:
        return default
    try:
        return parse_int(given)
    except ValueError:
        raise DataError(f"{VARIABLE} must be a number of bytes, got {given!r}") from None


def parse_int(text: str | bytes) -> int:
    """``int(text)``, a ValueError also for more digits than 64 bits hold, and for underscores.

    >>> parse_int("12")
    12
    """
    if len(text) > _MAX_DIGITS or "_" in str(text):
        raise ValueError(f"{text!r} is not an integer of at most {_MAX_DIGITS} digits")
    return int(text)
