"""Bounds on what a data file may ask for, so that no damaged or hostile one fills the memory."""

from __future__ import annotations

import os
from pathlib import Path

from lossnet.errors import DataError

#: Overrides the number of bytes that a packed file may expand to, whatever its ratio.
VARIABLE = "LOSSNET_MAX_EXPANDED"
#: A packed file may expand to this many bytes,
MAX_EXPANDED = 4 * 2**30
#: and to this many times its own size, which text and numbers hardly ever exceed,
MAX_RATIO = 100
#: unless the result is no larger than this anyway.
SMALL = 128 * 2**20
#: Columns of features or labels.
MAX_COLUMNS = 5_000_000
#: Rows x columns of a dense matrix that a reader makes of a sparse file or of words.
MAX_CELLS = 2**29
#: Levels of nested elements in an XML file.
MAX_DEPTH = 100
_MAX_DIGITS = 18


def check_expanded(path: str | Path, size: int, packed: int) -> None:
    """Raise where ``packed`` bytes of a file expand to ``size`` and that is too many."""
    given = os.environ.get(VARIABLE)
    try:
        bound = int(given) if given else min(MAX_EXPANDED, max(SMALL, MAX_RATIO * packed))
    except ValueError:
        raise DataError(f"{VARIABLE} must be a number of bytes, got {given[:40]!r}") from None
    if size > bound:
        raise DataError(
            f"{path} expands to more than {bound:,} bytes, at least {size // max(packed, 1)} times "
            f"its size; if the file is genuine, set {VARIABLE} to the bytes it may expand to"
        )


def check_cells(path: str | Path, rows: int, columns: int, what: str) -> None:
    """Raise where a dense matrix of this size is too large."""
    if columns > MAX_COLUMNS:
        raise DataError(
            f"{path}: {columns} {what}, more than the {MAX_COLUMNS} that can be read; is a number "
            "wrong?"
        )
    if rows * columns > MAX_CELLS:
        raise DataError(
            f"{path}: {rows} rows x {columns} {what} do not fit in memory as a dense matrix; keep "
            f"fewer {what}"
        )


def parse_int(text: str | bytes) -> int:
    """``int(text)``, a ValueError also for more digits than 64 bits hold, and for underscores.

    >>> parse_int("12")
    12
    """
    if len(text) > _MAX_DIGITS or "_" in str(text):
        raise ValueError(f"{text!r} is not an integer of at most {_MAX_DIGITS} digits")
    return int(text)
