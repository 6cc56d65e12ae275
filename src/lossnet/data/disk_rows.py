"""Rows of a matrix on disk, read when they are needed: data larger than memory."""

from __future__ import annotations

import copy
import mmap
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix

from lossnet.data.unchanged import Unchanged
from lossnet.errors import DataError

#: Bytes that are read at a time where all rows are needed.
BLOCK = 1 << 24
#: Rows that are read before the memory of their pages is given back.
_PIECE = 256
Read = Callable[[Any], Any]


def pieces(rows: int) -> Iterator[slice]:
    """Rows in order, some at a time: each may bring many pages of a file into memory."""
    return (slice(first, min(first + _PIECE, rows)) for first in range(0, rows, _PIECE))


class DiskRows:
    """A dense matrix on disk as float32 rows, of which only those asked for are in memory.

    Choosing rows reads nothing, :meth:`toarray` does.

    Args:
        matrix: ``(n, d)`` numbers, such as ``numpy.load(path, mmap_mode="r")``.
        rows: numbers of the rows that are meant, in their order; None: all.
        reads: functions that rows pass when they are read.
    """

    ndim, dtype = 2, np.dtype(np.float32)
    #: Whether all values have been read once and found to be valid.
    checked = False

    def __init__(
        self, matrix: Any, rows: np.ndarray | None = None, reads: tuple[Read, ...] = ()
    ) -> None:
        self._matrix, self._rows, self._reads = matrix, rows, reads
        name = getattr(matrix, "filename", None)
        self._file = None if name is None else Unchanged(name)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        count = self._matrix.shape[0] if self._rows is None else len(self._rows)
        return int(count), int(self._matrix.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Self:
        """Some rows: their numbers, from 0, or a slice."""
        if isinstance(rows, tuple):
            raise DataError(
                "columns of rows on disk cannot be chosen; save them with the columns of training, "
                "or load them into memory"
            )
        if self._rows is not None:
            rows = self._rows[rows]
        elif isinstance(rows, slice):
            rows = np.arange(*rows.indices(len(self)))
        elif (rows := np.asarray(rows)).dtype == bool:
            rows = np.flatnonzero(rows)
        return self._with(_rows=rows)

    def then(self, read: Read) -> Self:
        """The same rows, which pass this function too when they are read."""
        return self._with(_reads=(*self._reads, read))

    def as_checked(self) -> Self:
        """The same rows, of which all values are known to be valid."""
        return self._with(checked=True)

    def _with(self, **changes: Any) -> Self:
        twin = copy.copy(self)
        twin.__dict__.update(changes)
        return twin

    def read(self) -> Any:
        """The rows in memory, dense or CSR as they are on disk."""
        if self._file is not None:
            self._file.check()
        chosen = np.arange(len(self)) if self._rows is None else self._rows
        found = self._taken(chosen)
        for read in self._reads:
            found = read(found)
        return found

    def _taken(self, chosen: np.ndarray) -> Any:
        found = np.empty((len(chosen), self._matrix.shape[1]), dtype=np.float32)
        for some in pieces(len(chosen)):
            found[some] = self._matrix[chosen[some]]
            self._release()
        return found

    def _release(self, *more: Any) -> None:
        """Give back the memory that pages of the file take, which would else count as used."""
        for array in (self._matrix, *more):
            pages = getattr(array, "_mmap", None)
            # What was written to a private copy of a file would be lost.
            if pages is not None and array.mode == "r" and hasattr(mmap, "MADV_DONTNEED"):
                pages.madvise(mmap.MADV_DONTNEED)

    def toarray(self) -> np.ndarray:
        """The rows in memory, dense."""
        found: np.ndarray = self.read()
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.toarray() if dtype is None else self.toarray().astype(dtype, copy=False)

    def blocks(self) -> Iterator[Any]:
        """All rows in order, some at a time, dense or CSR as they are on disk."""
        ends = self._block_ends()
        for first, last in zip([0, *ends[:-1]], ends, strict=True):
            yield self[first:last].read()

    def _block_ends(self) -> list[int]:
        """After which rows blocks end."""
        size = max(1, BLOCK // (4 * max(1, self.shape[1])))
        return [min(first + size, len(self)) for first in range(0, len(self), size)]

    def csr_pieces(self, *, values: bool = True) -> Iterator[np.ndarray]:
        """What ``indptr``, ``indices`` and with ``values`` ``data`` of the CSR form hold."""
        yield np.zeros(1, dtype=np.int64)
        before = 0
        for block in self._canonical():
            ends = block.indptr[1:].astype(np.int64) + before
            before = int(ends[-1])
            yield ends
        for block in self._canonical():
            yield block.indices.astype(np.int64)
        for block in self._canonical() if values else ():
            yield block.data

    def _canonical(self) -> Iterator[Any]:
        """The blocks as CSR, columns in order and without zeros."""
        for block in self.blocks():
            found = csr_matrix(block)
            found.sum_duplicates()
            found.eliminate_zeros()
            yield found
