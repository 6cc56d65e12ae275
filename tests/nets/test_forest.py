"""A forest as tensors gives what its trees give, and damaged tensors are refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.tree import ExtraTreeClassifier

from lossnet.errors import DataError
from lossnet.nets import Forest
from lossnet.tasks.multilabel.trees import PROJECTED, grow


def _rows(n: int = 60, d: int = 7, labels: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(np.float32)
    Y = (X @ rng.normal(size=(d, labels)) + rng.normal(size=(n, labels)) > 0.5).astype(np.float32)
    return X, Y


def _walked(forest: Forest, x: np.ndarray) -> np.ndarray:
    """Probabilities of one row, node by node."""
    total = np.zeros(forest.labels)
    for root in forest.roots.tolist():
        node = root
        while forest.left[node] != node:
            low = x[forest.feature[node]] <= forest.threshold[node].item()
            node = int((forest.left if low else forest.right)[node])
        own = slice(int(forest.start[node]), int(forest.start[node + 1]))
        total[forest.label[own].numpy()] += forest.value[own].numpy()
    return total / len(forest.roots)


def test_rows_are_walked_to_their_leaves() -> None:
    X, Y = _rows()
    forest = grow(X, Y, trees=5, seed=0)
    found = forest(torch.as_tensor(X + 0.1)).numpy()
    np.testing.assert_allclose(found, [_walked(forest, x) for x in X + np.float32(0.1)], atol=1e-6)


def test_full_trees_know_their_own_rows_and_split_as_gini_does() -> None:
    X, Y = _rows()
    one = grow(X, Y, trees=1, seed=3)
    np.testing.assert_array_equal(one(torch.as_tensor(X)).numpy(), Y)
    # The variance of labels of 0 and 1 is half of Gini's impurity: the same splits.
    rng = np.random.default_rng(3)
    own = ExtraTreeClassifier(max_features=3, random_state=int(rng.integers(2**31 - 1))).fit(X, Y)
    new = np.random.default_rng(1).normal(size=(50, X.shape[1])).astype(np.float32)
    expected = np.column_stack([p[:, 1] for p in own.predict_proba(new)])
    np.testing.assert_allclose(one(torch.as_tensor(new)).numpy(), expected, atol=1e-6)


def test_thresholds_split_single_precision_exactly() -> None:
    X = np.array([[1e-3], [1e-3 + 3e-7]], dtype=np.float32)
    forest = grow(X, np.array([[0.0], [1.0]], dtype=np.float32), trees=20, seed=0)
    np.testing.assert_array_equal(forest(torch.as_tensor(X)).numpy(), [[0.0], [1.0]])


def test_sparse_and_dense_rows_grow_the_same_trees() -> None:
    X, Y = _rows()
    X[np.abs(X) < 0.8] = 0.0
    dense, csr = (grow(rows, Y, trees=4, seed=1) for rows in (X, sparse.csr_matrix(X)))
    for name, tensor in dense.tensors().items():
        torch.testing.assert_close(tensor, csr.tensors()[name])


def test_many_labels_are_projected_for_splits_alone() -> None:
    X, Y = _rows(80, 5, 3 * PROJECTED)
    forest = grow(X, Y, trees=3, seed=0)
    np.testing.assert_array_equal(forest(torch.as_tensor(X)).numpy(), Y)


def test_a_row_of_weight_0_is_no_row() -> None:
    X, Y = _rows()
    weight = np.ones(len(X))
    weight[10:] = 0.0
    own = grow(X, Y, trees=3, seed=0, weight=weight)
    assert set(own.label.tolist()) <= set(np.flatnonzero(Y[:10].any(0)).tolist())


def test_labels_that_are_not_known_count_in_no_leaf() -> None:
    X, Y = _rows()
    partly = Y.copy()
    partly[:30, 1] = np.nan
    found = grow(X, partly, trees=4, seed=0)(torch.as_tensor(X)).numpy()
    np.testing.assert_array_equal(found[:, [0, 2, 3]], Y[:, [0, 2, 3]])
    np.testing.assert_array_equal(found[30:, 1], Y[30:, 1])
    # Alone in its leaf, a row whose label is not known has the label's mean.
    np.testing.assert_allclose(found[:30, 1], Y[30:, 1].mean(), atol=1e-6)


def test_weights_of_labels_move_the_probabilities_of_mixed_leaves() -> None:
    X = np.zeros((4, 1), dtype=np.float32)  # one leaf
    Y = np.array([[1.0], [0.0], [0.0], [0.0]], dtype=np.float32)
    entries = np.array([[1.0], [3.0]])
    assert grow(X, Y, trees=1, seed=0)(torch.zeros(1, 1)).item() == pytest.approx(0.25)
    weighted = grow(X, Y, trees=1, seed=0, entries=entries)
    assert weighted(torch.zeros(1, 1)).item() == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("feature", lambda t: t + 100),
        ("label", lambda t: t - 1),
        ("left", lambda t: torch.zeros_like(t)),
        ("start", lambda t: t[1:]),
        ("value", lambda t: t[:-1]),
        ("roots", lambda t: t[:0]),
    ],
)
def test_what_is_no_forest_is_refused(name: str, change) -> None:
    forest = grow(*_rows(), trees=2, seed=0)
    damaged = {**forest.tensors(), name: change(forest.tensors()[name])}
    with pytest.raises(DataError, match="no forest of 7 features"):
        Forest(damaged, features=7, labels=4)


def test_no_rows_have_no_votes() -> None:
    forest = grow(*_rows(), trees=2, seed=0)
    assert forest(torch.zeros(0, 7)).shape == (0, 4)
    assert not forest.state_dict()
