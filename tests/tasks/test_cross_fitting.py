"""Predictions for training rows by models that have not seen them."""

from __future__ import annotations

import numpy as np
import pytest

from lossnet.errors import DataError
from lossnet.tasks.cross_fitting import out_of_fold, ragged, random_folds


def test_every_row_is_predicted_once_by_a_model_of_the_other_folds() -> None:
    fold = np.array([2, 0, 5, 2, 5, 0, 0])  # numbers need not be consecutive
    fitted: list[list[int]] = []

    def fit(rows):
        fitted.append(rows.tolist())
        return lambda others: np.stack([others, np.full(len(others), rows.sum())], axis=1)

    found = out_of_fold(fold, fit)
    assert fitted == [np.flatnonzero(fold != number).tolist() for number in (0, 2, 5)]
    assert found[:, 0].tolist() == list(range(7))  # each in its own place
    assert found[:, 1].tolist() == [sum(np.flatnonzero(fold != own)) for own in fold]


def test_outputs_may_have_various_shapes() -> None:
    fold = np.array([1, 0, 1, 0, 0])

    def fit(rows):
        return lambda others: ragged([np.full((row + 1, 2), rows.sum()) for row in others])

    found = out_of_fold(fold, fit)
    assert [one.shape for one in found] == [(row + 1, 2) for row in range(5)]
    assert [one[0, 0] for one in found] == [8, 2, 8, 2, 2]


@pytest.mark.parametrize("seed", range(5))
def test_random_folds_are_of_equal_size_and_keep_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert np.ptp(np.bincount(random_folds(23, 4, rng))) <= 1
    groups = rng.integers(0, 40, size=200)
    folds = random_folds(200, 4, rng, groups)
    assert all(len(set(folds[groups == group])) == 1 for group in groups)
    assert np.ptp(np.bincount(folds)) <= np.bincount(groups).max()
    with pytest.raises(DataError, match="fewer than folds=50"):
        random_folds(200, 50, rng, groups)
