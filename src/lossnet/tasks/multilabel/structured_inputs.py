"""What a classifier around foreign ones is given, checked, and what it learns from: logits."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import indexable
from sklearn.utils.validation import _num_samples

from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.targets import Labels


def inputs_and_labels(X: Any, y: Any) -> tuple[Any, Any]:
    """Inputs whose rows can be taken, and labels as they were given."""
    given, y = X.X if isinstance(X, MultiLabelData) else X, truth_of(X, y)
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None")
    # Arrays, frames and lists as they are, sparse matrices of any format as CSR.
    return indexable(given)[0], y


def encoded(labels: Labels, X: Any, y: Any) -> np.ndarray:
    """The matrix ``(n, L)`` of the labels, as many rows as X has."""
    Y, rows = labels.encode(y), _num_samples(X)
    if not isinstance(Y, np.ndarray):
        what = f"{Y.shape[0]:,} rows of {Y.shape[1]:,} labels are too many for a wrapped classifier"
        raise DataError(f"{what}; use MultiLabelClassifier")
    if rows != len(Y):
        raise DataError(f"X has {rows} rows and Y has {len(Y)}; row counts must match")
    if unknown := int(np.isnan(Y).sum()):
        what = f"{unknown:,} entries of Y are not known (NaN), which the base cannot learn from"
        raise DataError(f"{what}; fill them in, or use MultiLabelClassifier")
    return Y


def truth_of(X: Any, y: Any) -> Any:
    """The labels given, or those that X holds."""
    if not isinstance(X, MultiLabelData):
        return y
    if y is not None:
        raise DataError(f"{X.name} holds its labels; leave out Y")
    return X if X.labelled else None


def validation_of(given: Any, labels: Labels) -> tuple[Any, np.ndarray]:
    """Inputs and the label matrix of ``validation_data``, checked."""
    pair = (given, None) if isinstance(given, MultiLabelData) else given
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise DataError(f"validation_data must be a pair (X, y), got a {type(given).__name__}")
    try:
        X, y = inputs_and_labels(*pair)
        return X, encoded(labels, X, y)
    except DataError as error:
        raise DataError(f"validation_data: {error}") from error
