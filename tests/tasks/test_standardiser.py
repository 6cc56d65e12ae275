"""Columns are shifted and scaled by training rows; 0/1 columns and sparse zeros stay."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from lossnet.tasks.standardiser import Standardiser

X = np.array([[1.0, 0.0, 5.0], [3.0, 1.0, 5.0], [2.0, 1.0, 5.0]])


def test_min_max_maps_real_columns_to_the_unit_interval() -> None:
    scaled = Standardiser.of(X, "min-max")
    assert scaled is not None
    np.testing.assert_allclose(scaled(X), [[0, 0, 0], [1, 1, 0], [0.5, 1, 0]])
    np.testing.assert_allclose(scaled(X + 2)[:, 0], [1, 2, 1.5])  # by training rows


def test_auto_centres_and_leaves_binary_columns() -> None:
    scaled = Standardiser.of(X, "auto")
    assert scaled is not None
    np.testing.assert_allclose(scaled(X)[:, 0], (X[:, 0] - 2) / X[:, 0].std(), rtol=1e-6)
    np.testing.assert_array_equal(scaled(X)[:, 1], X[:, 1])
    assert Standardiser.of(X[:, 1:2], "auto") is None
    assert Standardiser.of(X, False) is None


@pytest.mark.parametrize(
    ("setting", "scale"), [("min-max", [3, 1, 5]), (True, [*X[:, :2].std(0), 1])]
)
def test_sparse_columns_are_scaled_and_not_shifted(setting: bool | str, scale: list[float]) -> None:
    found = Standardiser.of(csr_matrix(X), setting)
    assert found is not None
    assert not found.mean.any()
    np.testing.assert_allclose(found.scale, scale, rtol=1e-6)


@pytest.mark.parametrize(
    ("column", "scale"),
    [
        ([0, 1, 1], 1),  # a bag of words
        ([0, 0.1, 0.3], 1),  # TF-IDF
        ([0, 1.5, 12], 1),  # TF-IDF that is not normalised
        ([0, 2, 40], 1),  # counts
        ([0, 30, 40], np.sqrt((30**2 + 40**2) / 2)),  # too large
        ([0, -3, 0], 3),
        ([0, 0, 0], 1),
    ],
)
def test_auto_scales_sparse_columns_but_bags_of_words(column: list[float], scale: float) -> None:
    other = [0.0, -5.5, 0.0]
    found = Standardiser.of(csr_matrix(np.column_stack([column, other])), "auto")
    assert found is not None
    np.testing.assert_allclose(found.scale, [scale, 5.5], rtol=1e-6)
    assert not found.mean.any()
    alone = Standardiser.of(csr_matrix(np.array(column, dtype=float)[:, None]), "auto")
    assert (alone is None) == (scale == 1)


def test_explicit_zeros_count_for_nothing() -> None:
    rows = csr_matrix((np.array([3.0, 0.0, -5.5]), ([0, 1, 2], [0, 0, 0])), shape=(4, 1))
    found = Standardiser.of(rows, "auto")
    assert found is not None
    np.testing.assert_allclose(found.scale, [np.sqrt((9 + 5.5**2) / 2)], rtol=1e-6)
