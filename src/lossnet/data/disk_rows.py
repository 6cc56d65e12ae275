"""Rows of a matrix on disk, read when they are needed: data larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from lossnet.errors import DataError

#: Bytes that are read at a time where all rows are needed.
BLOCK = 1 << 24
Read = Callable[[np.ndarray], np.ndarray]


class DiskRows:
    """A dense matrix on disk as float32 rows, of which only those asked for are in memory.

    Choosing rows reads nothing, :meth:`toarray` does.

    Args:
        matrix: ``(n, d)`` numbers, such as ``numpy.load(path, mmap_mode="r")``.
        rows: numbers of the rows that are meant, in their order; None: all.
        reads: functions that rows pass when they are read.
    """

    ndim, dtype = 2, np.dtype(np.float32)

    def __init__(
        self, matrix: np.ndarray, rows: np.ndarray | None = None, reads: tuple[Read, ...] = ()
    ) -> None:
        self._matrix, self._rows, self._reads = matrix, rows, reads

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        count = self._matrix.shape[0] if self._rows is None else len(self._rows)
        return int(count), int(self._matrix.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> DiskRows:
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
        return DiskRows(self._matrix, rows, self._reads)

    def then(self, read: Read) -> DiskRows:
        """The same rows, which pass this function too when they are read."""
        return DiskRows(self._matrix, self._rows, (*self._reads, read))

    def toarray(self) -> np.ndarray:
        """The rows in memory."""
        chosen = np.arange(len(self)) if self._rows is None else self._rows
        found = np.asarray(self._matrix[chosen], dtype=np.float32)  # a copy: of chosen rows
        for read in self._reads:
            found = read(found)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.toarray() if dtype is None else self.toarray().astype(dtype, copy=False)

    def blocks(self) -> Iterator[np.ndarray]:
        """All rows in order, some at a time."""
        size = max(1, BLOCK // (4 * max(1, self.shape[1])))
        for first in range(0, len(self), size):
            yield self[first : first + size].toarray()

    def csr_pieces(self) -> Iterator[np.ndarray]:
        """What ``indptr``, ``indices`` and ``data`` of the CSR form hold, in turn."""
        yield np.zeros(1, dtype=np.int64)
        before = 0
        for block in self.blocks():
            ends = csr_matrix(block).indptr[1:].astype(np.int64) + before
            before = int(ends[-1])
            yield ends
        for block in self.blocks():
            yield csr_matrix(block).indices.astype(np.int64)
        for block in self.blocks():
            yield csr_matrix(block).data
