"""Features in memory or on disk: their finite numbers, and their CSR form for checksums."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from lossnet.data.disk_rows import DiskRows
from lossnet.errors import DataError


def disk_rows(X: np.memmap[Any, Any] | DiskRows, name: str) -> DiskRows:
    """Features that stay on disk, checked; rows chosen of such are checked already."""
    if isinstance(X, DiskRows) and X.checked:
        return X
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        what = f"{name}: X on disk has shape {X.shape} and dtype {X.dtype}"
        raise DataError(f"{what}; expected (rows, features) of numbers")
    rows = X if isinstance(X, DiskRows) else DiskRows(X)
    with np.errstate(over="ignore"):
        for block in rows.blocks():
            check_finite(block.data if hasattr(block, "tocsr") else block, name)
    return rows.as_checked()


def check_finite(values: Any, name: str) -> None:
    """Raise on infinity; NaN is a missing value."""
    if np.isinf(values).any():
        what = f"{name}: X holds infinity or a number too large for 32 bits"
        raise DataError(f"{what}; replace such values, with NaN where they are missing")


def csr_pieces(X: Any, *, values: bool = True) -> Iterable[np.ndarray[Any, Any]]:
    """What ``indptr``, ``indices`` and with ``values`` ``data`` of the CSR form hold, in turn."""
    if isinstance(X, DiskRows):
        return X.csr_pieces(values=values)
    found = csr_matrix(X, copy=hasattr(X, "tocsr"))
    found.sum_duplicates()
    found.eliminate_zeros()
    return (found.indptr, found.indices, *((found.data,) if values else ()))


def stacked(parts: Iterable[Any]) -> Any:
    """Sparse rows of several parts, in memory."""
    return vstack([part.tocsr() for part in parts], format="csr")
