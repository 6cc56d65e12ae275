"""Predictions for training rows by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Rows = np.ndarray[Any, Any]
#: Outputs ``(n, *S)`` of some rows, by a model that was fitted on others.
Predict = Callable[[Rows], Rows]


def out_of_fold(fold: Rows, fit: Callable[[Rows], Predict]) -> Rows:
    """Outputs for every row, each by a model fitted on the other folds alone, ``(n, *S)``.

    Args:
        fold: the fold of each row, ``(n,)``.
        fit: fits a model on rows, given by their numbers, and gives the function that predicts
            others.

    >>> def mean(rows):
    ...     return lambda others: np.full(len(others), rows.mean())
    >>> out_of_fold(np.array([0, 0, 1, 1]), mean)  # rows 2 and 3, then 0 and 1
    array([2.5, 2.5, 0.5, 0.5])
    """
    numbers = np.unique(fold)
    held = [np.flatnonzero(fold == number) for number in numbers]
    found = [fit(np.flatnonzero(fold != number))(held[k]) for k, number in enumerate(numbers)]
    joined = np.concatenate(found)
    outputs = np.empty_like(joined)
    outputs[np.concatenate(held)] = joined
    return outputs
