"""Weights of rows, as users give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnet.errors import DataError


def check_row_weights(weights: Any, rows: int) -> np.ndarray | None:
    """``sample_weight`` as ``(n,)`` float64, or None; an error unless each is at least 0."""
    if weights is None:
        return None
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight must be numbers, one per row ({error})") from error
    if found.shape != (rows,):
        what = f"sample_weight has shape {found.shape} and the data has {rows} rows"
        raise DataError(f"{what}; give one weight per row. Sample weights must be 1D array")
    if not np.isfinite(found).all() or (found < 0).any():
        row = int(np.flatnonzero(~np.isfinite(found) | (found < 0))[0])
        rule = "weights must be finite and at least 0; give 0 to leave a row out"
        raise DataError(f"sample_weight of row {row} is {found[row]}; {rule}")
    if not found.any():
        raise DataError("sample_weight: every weight is zero; at least one must be above 0")
    return found
