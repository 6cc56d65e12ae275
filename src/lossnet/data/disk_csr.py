"""Sparse matrices on disk, of which rows are read when they are needed."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix

from lossnet.data import disk_rows
from lossnet.data.archive import mapped_arrays
from lossnet.data.disk_rows import DiskRows, pieces
from lossnet.errors import DataError

#: The arrays of a CSR matrix, as ``scipy.sparse.save_npz`` names them.
PIECES = ("data", "indices", "indptr", "shape")
#: Row ends that are checked at a time.
_ENDS = 1 << 20
_AGAIN = "write it again, with write_sparse or scipy.sparse.save_npz"


class DiskCSR(DiskRows):
    """A CSR matrix on disk as float32 rows, of which only those asked for are in memory.

    Choosing rows or columns reads nothing, :meth:`tocsr` and :meth:`toarray` do.

    Args:
        data, indices, indptr: its arrays, memory-mapped.
        shape: rows and columns.
        name: what to call it in errors.
    """

    def __init__(self, data: Any, indices: Any, indptr: Any, shape: Any, *, name: str) -> None:
        super().__init__(data)
        self._indices, self._indptr, self._name = indices, indptr, name
        self._shape = _checked_shape(data, indices, indptr, shape, name)
        self._width = self._shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self._shape[0] if self._rows is None else len(self._rows), self._width

    @property
    def nnz(self) -> int:
        """Number of stored entries."""
        if self._width != self._shape[1]:
            return sum(int(block.nnz) for block in self.blocks())
        return int(self._lengths().sum())

    @property
    def size(self) -> int:
        """Number of stored entries, as scipy's matrices have it."""
        return self.nnz

    def __getitem__(self, rows: Any) -> Self:
        """Some rows: their numbers, from 0, or a slice; ``[:, columns]``: some columns."""
        if not isinstance(rows, tuple):
            return super().__getitem__(rows)
        rows, columns = rows
        found = self if isinstance(rows, slice) and rows == slice(None) else self[rows]
        if isinstance(columns, slice):
            columns = np.arange(*columns.indices(self._width))
        if np.array_equal(columns, np.arange(self._width)):
            return found
        return found.mapped(partial(_choose, columns=np.asarray(columns)), len(columns))

    def mapped(self, read: disk_rows.Read, width: int) -> Self:
        """The same rows, which become rows of so many columns when they are read."""
        return self.then(read)._with(_width=width)

    def tocsr(self) -> Any:
        """The rows in memory."""
        return self.read()

    def toarray(self) -> np.ndarray:
        """The rows in memory, dense."""
        found: np.ndarray = self.read().toarray()
        return found

    def astype(self, dtype: Any) -> Self:
        """The same rows, of another type of numbers when they are read."""
        return self.then(partial(_as_type, dtype=np.dtype(dtype)))

    def sum(self, axis: int | None = None, dtype: Any = np.int64) -> Any:
        """The sum, or the sums of all columns (axis 0) or rows (1)."""
        sums = [np.asarray(block.sum(axis, dtype=dtype)).ravel() for block in self.blocks()]
        found = np.concatenate(sums) if axis else np.sum(sums, axis=0, dtype=dtype)
        return found.item() if axis is None else found

    def _lengths(self) -> np.ndarray:
        """Number of entries of each row."""
        if self._rows is None:
            return np.diff(self._indptr)
        return np.asarray(self._indptr[self._rows + 1] - self._indptr[self._rows])

    def _taken(self, chosen: np.ndarray) -> Any:
        starts, ends = self._indptr[chosen].astype(np.int64), self._indptr[chosen + 1]
        lengths = ends.astype(np.int64) - starts
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.empty(indptr[-1], dtype=self._indices.dtype)
        data = np.empty(indptr[-1], dtype=np.float32)
        with np.errstate(over="ignore"):
            for some in pieces(len(chosen)):
                places = self._places(starts[some], lengths[some])
                here = slice(indptr[some.start], indptr[some.stop])
                indices[here], data[here] = self._indices[places], self._matrix[places]
                self._release()
        if len(indices) and not 0 <= int(indices.min()) <= int(indices.max()) < self._shape[1]:
            self._refuse_columns(chosen, indptr, indices)
        return csr_matrix((data, indices, indptr), shape=(len(chosen), self._shape[1]))

    def _places(self, starts: np.ndarray, lengths: np.ndarray) -> Any:
        """Where the entries of rows are: a slice of those one after another, or numbers."""
        ends = starts + lengths
        if (starts[1:] == ends[:-1]).all():
            return slice(int(starts[0]), int(ends[-1]))
        before = np.cumsum(lengths) - lengths
        return np.repeat(starts - before, lengths) + np.arange(lengths.sum())

    def _release(self, *more: Any) -> None:
        super()._release(self._indices, self._indptr, *more)

    def _refuse_columns(self, chosen: np.ndarray, indptr: np.ndarray, indices: np.ndarray) -> None:
        width = self._shape[1]
        at = int(np.flatnonzero((indices < 0) | (indices >= width))[0])
        row = int(chosen[np.searchsorted(indptr, at, "right") - 1])
        what = f"row {row} has an entry in column {indices[at]}, and there are {width} columns"
        raise DataError(f"{self._name}: {what}, counted from 0; {_AGAIN}")

    def _block_ends(self) -> list[int]:
        if not len(self):
            return []
        # Bytes in memory: a number and its column for an entry, an end for a row.
        places = np.cumsum(8 * self._lengths().astype(np.int64) + 8)
        marks = np.arange(1, places[-1] // disk_rows.BLOCK + 1) * disk_rows.BLOCK
        ends = np.searchsorted(places, marks, "right")
        return sorted({*ends[ends > 0].tolist(), len(self)})


def open_csr(path: str | Path, name: str = "") -> DiskCSR:
    """A sparse matrix of an ``.npz`` file that is not compressed, left on disk.

    Args:
        path: a file of ``scipy.sparse.save_npz(path, matrix, compressed=False)``, or of
            ``write_sparse``.
        name: ``"X"`` or ``"Y"``, of the latter; empty for the former.

    Example::

        scipy.sparse.save_npz("x.npz", X, compressed=False)
        clf.fit(open_csr("x.npz"), Y)
    """
    pieces = [f"{name}_{piece}" if name else piece for piece in PIECES]
    found = mapped_arrays(path, pieces)
    kind = found.get("format", np.array("csr"))
    if kind.item() not in ("csr", b"csr"):
        got = str(kind.item(), "ascii", "replace") if kind.dtype.kind == "S" else kind.item()
        raise DataError(f"{path} holds a {got} matrix; save its tocsr()")
    return DiskCSR(*(found[piece] for piece in pieces), name=f"{path}")


def _checked_shape(data: Any, indices: Any, indptr: Any, shape: Any, name: str) -> tuple[int, int]:
    """Rows and columns; an error where the arrays are not those of a CSR matrix."""
    kinds = {"data": (data, "biuf"), "indices": (indices, "iu"), "indptr": (indptr, "iu")}
    for key, (array, allowed) in kinds.items():
        if array.ndim != 1 or array.dtype.kind not in allowed:
            what = f"{key} has shape {array.shape} and dtype {array.dtype}"
            numbers = "numbers" if key == "data" else "integers"
            raise DataError(f"{name}: {what}; expected a row of {numbers}; {_AGAIN}")
    sides = [int(side) for side in np.asarray(shape).ravel()]
    if len(sides) != 2 or min(sides) < 0:
        raise DataError(f"{name}: shape is {sides}; expected rows and columns; {_AGAIN}")
    if len(data) != len(indices):
        counts = f"{len(data):,} numbers and {len(indices):,} columns for them"
        raise DataError(f"{name} has {counts}; their counts must match; {_AGAIN}")
    if len(indptr) != sides[0] + 1:
        counts = f"ends of {len(indptr) - 1:,} rows, and its shape says {sides[0]:,}"
        raise DataError(f"{name} has {counts}; row counts must match; {_AGAIN}")
    if int(indptr[0]) != 0 or int(indptr[-1]) != len(data):
        where = f"its rows go from entry {int(indptr[0]):,} to {int(indptr[-1]):,}"
        raise DataError(f"{name} has {len(data):,} entries, and {where}; {_AGAIN}")
    for first in range(0, sides[0], _ENDS):
        ends = np.asarray(indptr[first : first + _ENDS + 1], dtype=np.int64)
        if (np.diff(ends) < 0).any():
            row = first + int(np.argmax(np.diff(ends) < 0))
            raise DataError(f"{name}: row {row} ends before it begins (indptr); {_AGAIN}")
    return sides[0], sides[1]


def _choose(rows: Any, columns: np.ndarray) -> Any:
    return rows[:, columns]


def _as_type(rows: Any, dtype: np.dtype) -> Any:
    return rows.astype(dtype)
