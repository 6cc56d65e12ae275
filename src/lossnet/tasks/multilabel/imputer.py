"""Missing values, replaced by what training knows of their columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnet.tasks.standardiser import ColumnSums


class Imputer:
    """Replace missing values, NaN, by the column means of the training rows.

    Args:
        means: one for each column; 0 where training had no value.
    """

    def __init__(self, means: np.ndarray) -> None:
        self.means = means

    @classmethod
    def of(cls, X: Any) -> Imputer:
        """The imputer for training rows, dense, CSR or on disk."""
        blocks = getattr(X, "blocks", lambda: [X])
        if hasattr(X, "tocsr"):
            total, missing = ColumnSums(X.shape[1]), ColumnSums(X.shape[1])
            for x in blocks():
                unknown = missing_values(x)
                total.add(x.indices[~unknown], x.data[~unknown])
                missing.add(x.indices[unknown], 1.0)
            return cls._of(total.found, X.shape[0] - missing.found)
        sums = sum(np.nansum(x, 0, dtype=np.float64) for x in blocks())
        return cls._of(sums, sum((~missing_values(x)).sum(0) for x in blocks()))

    @classmethod
    def _of(cls, total: Any, rows: Any) -> Imputer:
        """The imputer for columns with these sums, and so many rows that have a value."""
        means = np.divide(total, rows, out=np.zeros(len(total)), where=rows > 0)
        return cls(means.astype(np.float32))

    def __call__(self, X: Any) -> Any:
        """The rows without missing values; ``X`` itself where nothing is missing."""
        if hasattr(X, "blocks"):
            return X.then(self)
        missing = missing_values(X)
        if not missing.any():
            return X
        X = X.copy()
        if hasattr(X, "tocsr"):
            X.data[missing] = self.means[X.indices[missing]]
        else:
            X[missing] = self.means[np.nonzero(missing)[1]]
        return X


def missing_values(X: Any) -> np.ndarray:
    """Where a dense matrix, or the stored entries of a CSR one, are NaN."""
    missing: np.ndarray = np.isnan(X.data if hasattr(X, "tocsr") else X)
    return missing
