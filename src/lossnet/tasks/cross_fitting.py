"""Predictions for training rows by models that have not seen them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lossnet.errors import DataError

Rows = np.ndarray[Any, Any]
#: Outputs ``(n, *S)`` of some rows, by a model that was fitted on others; arrays of various shapes
#: are an array of objects ``(n,)``, see :func:`ragged`.
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


def random_folds(
    rows: int, folds: int, rng: np.random.Generator, groups: Sequence[int] | None = None
) -> Rows:
    """The fold of each row, ``(n,)``, at random; rows of one group stay together.

    Without groups, sizes differ by at most one row. Groups are placed in turn, the largest first,
    in the fold that has the fewest rows.

    >>> random_folds(6, 2, np.random.default_rng(0), groups=[0, 0, 0, 1, 1, 2]).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    if groups is None:
        return rng.permutation(np.arange(rows) % folds)
    _, number, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    if len(sizes) < folds:
        what = f"the rows are of {len(sizes)} groups (documents), fewer than folds={folds}"
        raise DataError(f"{what}; give more of them, or fewer folds")
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    place, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(folds)
    for group in order:
        place[group] = filled.argmin()
        filled[place[group]] += sizes[group]
    return place[number]


def ragged(arrays: Sequence[Rows]) -> Rows:
    """Arrays of various shapes as one array of objects, ``(n,)``."""
    found = np.empty(len(arrays), dtype=object)
    for row, array in enumerate(arrays):
        found[row] = array
    return found
