"""Trees beside the nets: votes out of fold, as columns, and what they count."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lossnet.tasks.multilabel.trees import (
    affordable,
    as_columns,
    choose_share,
    cross_fitted,
    votes_in,
)


def test_out_of_fold_votes_come_from_trees_that_left_the_row_out() -> None:
    X = np.arange(40, dtype=np.float32)[:, None]
    Y = np.eye(40, dtype=np.float32)  # each label is on in one row alone
    folds = np.arange(40) % 4
    forest, votes = cross_fitted(X, Y, folds, 8, 0)
    assert not votes[Y == 1].any()
    np.testing.assert_array_equal(forest(torch.as_tensor(X)).numpy(), Y)
    one_fold, own = cross_fitted(X, Y, np.zeros(40, dtype=int), 8, 0)
    assert own.shape == Y.shape
    assert len(one_fold.roots) == 8


def test_columns_hold_votes_exactly_and_are_0_where_nobody_votes() -> None:
    votes = np.array([[0.0, 0.001, 0.3, 0.5, 0.999, 1.0]])
    columns = as_columns(votes)
    assert columns[0, 0] == 0.0
    assert columns[0, 3] == pytest.approx(np.log(201) / 2, abs=1e-5)
    rows = torch.hstack([torch.ones(1, 2), torch.as_tensor(columns)])
    np.testing.assert_allclose(votes_in(rows, labels=6).numpy(), votes, atol=1e-6)


def test_the_share_is_a_half_unless_another_is_surely_better() -> None:
    rng = np.random.default_rng(0)
    Y = (rng.random((200, 3)) < 0.5).astype(float)
    good, bad = np.abs(Y - 0.1), rng.random((200, 3))
    assert choose_share(good, bad, Y) == 0.25
    assert choose_share(bad, good, Y) == 0.75
    assert choose_share(good, good, Y) == 0.5
    assert choose_share(good[:1], bad[:1], Y[:1]) == 0.5
    Y[:, 0] = np.nan
    bad[:, 0] = 0.0  # nobody knows
    assert choose_share(bad, good, Y) == 0.75


def test_large_data_has_fewer_trees() -> None:
    assert affordable(300, 1_000, 100) == 300
    assert 10 <= affordable(300, 5_000, 2_000) < 300
    assert affordable(300, 1_000_000, 100_000) == 0
