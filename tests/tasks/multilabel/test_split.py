"""The stratified split: sizes, proportions, determinism."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import stratified_folds, stratified_split


@settings(max_examples=100, deadline=None)
@given(
    st.integers(2, 30),
    st.integers(1, 6),
    st.floats(0.01, 0.99),
    st.floats(0, 1),
    st.integers(0, 99),
)
def test_disjoint_covering_and_of_exact_size(
    n: int, L: int, fraction: float, density: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    Y = rng.random((n, L)) < density
    train, validation = stratified_split(Y, fraction, rng)
    assert sorted([*train.tolist(), *validation.tolist()]) == list(range(n))
    assert len(train) >= 1
    assert len(validation) == min(max(round(n * fraction), 1), n - 1)
    assert (np.diff(train) > 0).all()


def test_label_proportions_are_close() -> None:
    rng = np.random.default_rng(0)
    n = 2000
    Y = rng.random((n, 40)) < np.geomspace(0.005, 0.5, 40)
    _, validation = stratified_split(Y, 0.25, rng)
    wanted = 0.25 * Y.sum(axis=0)
    off = np.abs(Y[validation].sum(axis=0) - wanted)
    plain = rng.permutation(n)[: len(validation)]
    plain_off = np.abs(Y[plain].sum(axis=0) - wanted)
    assert off[wanted < 100].max() <= 1.5
    assert (off / wanted).max() < 0.2
    assert off.sum() < 0.4 * plain_off.sum()


def test_a_label_of_two_rows_is_on_both_sides_of_a_half_split() -> None:
    Y = np.zeros((20, 3), dtype=int)
    Y[[4, 11], 0] = 1
    Y[:, 2] = 1
    for seed in range(20):
        train, validation = stratified_split(Y, 0.5, np.random.default_rng(seed))
        assert Y[train, 0].sum() == Y[validation, 0].sum() == 1


def test_same_generator_same_split() -> None:
    Y = np.random.default_rng(0).random((100, 8)) < 0.2
    one = stratified_split(Y, 0.2, np.random.default_rng(5))
    two = stratified_split(sp.csr_matrix(Y), 0.2, np.random.default_rng(5))
    other = stratified_split(Y, 0.2, np.random.default_rng(6))
    assert one[1].tolist() == two[1].tolist()
    assert one[1].tolist() != other[1].tolist()


def test_without_labels_the_split_is_random() -> None:
    Y = np.zeros((100, 4))
    seen = np.zeros(100)
    for seed in range(200):
        seen[stratified_split(Y, 0.3, np.random.default_rng(seed))[1]] += 1
    assert seen.sum() == 200 * 30
    assert seen.min() > 30
    assert seen.max() < 90


def test_bad_settings_are_named() -> None:
    with pytest.raises(SettingError, match=r"fraction=1\.5"):
        stratified_split(np.ones((5, 2)), 1.5, np.random.default_rng(0))
    with pytest.raises(DataError, match="at least 2"):
        stratified_split(np.ones((1, 2)), 0.5, np.random.default_rng(0))


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 40), st.integers(2, 6), st.floats(0, 1), st.integers(0, 99))
def test_folds_are_of_equal_size(n: int, folds: int, density: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    Y = rng.random((n, 4)) < density
    if folds > n:
        with pytest.raises(DataError, match=f"cannot divide {n} rows into {folds} folds"):
            stratified_folds(Y, folds, rng)
        return
    sizes = np.bincount(stratified_folds(Y, folds, rng), minlength=folds)
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1


def test_every_label_is_in_all_folds_in_proportion() -> None:
    rng = np.random.default_rng(0)
    Y = rng.random((1000, 20)) < np.geomspace(0.01, 0.5, 20)
    fold = stratified_folds(Y, 4, rng)
    counts = np.stack([Y[fold == number].sum(axis=0) for number in range(4)])
    assert (np.abs(counts - Y.sum(axis=0) / 4) <= 2).mean() > 0.9
    assert (counts > 0).all()
