"""Sparse matrices written some rows at a time, larger than memory."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import numpy as np
from numpy.lib import format as npy
from scipy.sparse import csr_matrix

from lossnet.data.disk_csr import PIECES
from lossnet.errors import DataError

#: Columns from which their numbers take eight bytes.
_WIDE = 2**31


class CsrWriter:
    """The arrays of a CSR matrix, written to files of a folder as its rows come.

    Args:
        folder: for the files, which only :meth:`move_to` puts together.
        name: what to call the matrix, ``"X"``.
        dtype: of its entries.
    """

    def __init__(self, folder: Path, name: str, dtype: Any) -> None:
        self._name, self._dtype = name, np.dtype(dtype)
        #: Number of rows so far.
        self.rows = 0
        self._width: int | None = None
        self._entries = 0
        self._paths = {piece: folder / f"{name}_{piece}" for piece in PIECES[:-1]}
        self._files: dict[str, IO[bytes]] = {}

    @property
    def width(self) -> int:
        """Number of columns."""
        return self._width or 0

    def __enter__(self) -> Self:
        self._files = {piece: path.open("wb") for piece, path in self._paths.items()}
        self._files["indptr"].write(np.zeros(1, dtype=np.int64).tobytes())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for file in self._files.values():
            file.close()

    def append(self, rows: Any, place: str) -> int:
        """Write further rows, sparse or dense, ``(n, columns)``; their number.

        ``place`` is what errors call them.
        """
        try:
            with np.errstate(over="ignore"):
                found = csr_matrix(rows)
        except (TypeError, ValueError) as error:
            raise DataError(f"{place}: {self._name} is not a matrix ({error})") from error
        width = self._width = found.shape[1] if self._width is None else self._width
        if found.shape[1] != width:
            came = f"{self._name} has {found.shape[1]} columns, and the chunks before {width}"
            raise DataError(f"{place}: {came}; give all chunks the same columns")
        if found.dtype.kind not in "biuf":
            raise DataError(f"{place}: {self._name} has dtype {found.dtype}; expected numbers")
        found = found.copy() if found is rows else found
        found.sum_duplicates()
        found.eliminate_zeros()
        numbers = np.int32 if width < _WIDE else np.int64
        self._files["data"].write(found.data.astype(self._dtype).tobytes())
        self._files["indices"].write(found.indices.astype(numbers).tobytes())
        ends = found.indptr[1:].astype(np.int64) + self._entries
        self._files["indptr"].write(ends.tobytes())
        self.rows, self._entries = self.rows + found.shape[0], self._entries + found.nnz
        return int(found.shape[0])

    def move_to(self, archive: zipfile.ZipFile) -> None:
        """Move what was written into an archive."""
        width = self.width
        numbers = np.int32 if width < _WIDE else np.int64
        sizes = {"data": (self._dtype, self._entries), "indices": (numbers, self._entries)}
        for piece, (dtype, size) in (sizes | {"indptr": (np.int64, self.rows + 1)}).items():
            with _member(archive, f"{self._name}_{piece}") as target:
                header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (size,)}
                npy.write_array_header_1_0(target, header)
                with self._paths[piece].open("rb") as file:
                    shutil.copyfileobj(file, target, 1 << 20)
            self._paths[piece].unlink()  # so that the disk never holds all of it twice
        add_array(archive, f"{self._name}_shape", np.array([self.rows, width], dtype=np.int64))


def add_array(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    """Write an array into an archive as ``numpy.savez`` does."""
    with _member(archive, name) as target:
        npy.write_array(target, array, allow_pickle=False)


def _member(archive: zipfile.ZipFile, name: str) -> Any:
    return archive.open(f"{name}.npy", "w", force_zip64=True)
