"""Predictions for training rows by models that have not seen them."""

from __future__ import annotations

import numpy as np

from lossnet.tasks.cross_fitting import out_of_fold


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
