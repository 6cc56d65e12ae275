import numpy as np
import pytest
from scipy.sparse import csr_matrix, vstack

from lossnet.errors import DataError
from lossnet.tasks.multilabel import MultiLabelData

X = np.array([[0, 1.5], [2, 0], [0, 0], [1, 1]])
Y = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0]])


def test_statistics_and_types() -> None:
    data = MultiLabelData(X, Y)
    assert (data.X.dtype, data.Y.dtype) == (np.float32, np.uint8)
    assert (data.n_rows, data.n_features, data.n_labels, len(data)) == (4, 2, 3, 4)
    assert data.feature_names == ["x0", "x1"]
    assert data.label_names == ["y0", "y1", "y2"]
    assert data.cardinality == pytest.approx(5 / 4)
    assert data.density == pytest.approx(5 / 12)
    assert data.diversity == 3
    assert not data.is_sparse


def test_boolean_and_sparse_labels_are_taken() -> None:
    assert (MultiLabelData(X, Y.astype(bool)).Y == Y).all()
    assert (MultiLabelData(X, csr_matrix(Y)).Y == Y).all()


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_subset_keeps_order_and_names(make) -> None:
    data = MultiLabelData(make(X), Y, ["a", "b"], ["p", "q", "r"], "toy", {1: [0]}, ["note"])
    part = data.subset([3, 0])
    rows = part.X.toarray() if part.is_sparse else part.X
    np.testing.assert_array_equal(rows, X[[3, 0]].astype(np.float32))
    np.testing.assert_array_equal(part.Y, Y[[3, 0]])
    assert (part.feature_names, part.label_names) == (["a", "b"], ["p", "q", "r"])
    assert (part.name, part.parents, part.notes) == ("toy", {1: [0]}, ["note"])
    masked = data.subset(np.array([True, False, False, True]))
    np.testing.assert_array_equal(masked.Y, Y[[0, 3]])
    assert data.subset([]).n_rows == 0
    assert data.subset([]).cardinality == 0


def test_checksum_is_of_the_contents() -> None:
    data = MultiLabelData(X, Y)
    explicit_zero = csr_matrix(X + 5 * (np.arange(4) == 2)[:, None] * [1, 0])
    explicit_zero.data[explicit_zero.data == 5] = 0
    assert data.checksum() == MultiLabelData(explicit_zero, Y, name="other").checksum()
    assert explicit_zero.nnz == 5  # hashing did not change the matrix it was given
    changed = [
        MultiLabelData(X + 1, Y),
        MultiLabelData(X, 1 - Y),
        MultiLabelData(X, Y, ["a", "b"]),
        MultiLabelData(X, Y, None, ["a", "b", "c"]),
        data.subset([1, 0, 2, 3]),
    ]
    sums = {data.checksum(), *(d.checksum() for d in changed)}
    assert len(sums) == 6
    # Fixed once and for all: results that name a checksum must stay comparable.
    assert data.checksum().startswith("538cbb54b3aa")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[:3], Y), "X has 3 rows and Y has 4"),
        ((X[0], Y), r"X has shape \(2,\)"),
        ((X, Y[0]), r"Y has shape \(3,\)"),
        ((X, 2 * Y), "Y is not binary: row 0, label 0 is 2; expected only 0 and 1"),
        ((X, np.full((4, 3), "a")), "expected only 0 and 1"),
        ((X * 1e300, Y), "too large for 32 bits"),
        ((csr_matrix(np.full((4, 2), np.inf)), Y), "X holds infinity"),
        (([["a", "b"]] * 4, Y), "not a matrix of numbers"),
        ((X, Y, ["a"]), "1 feature names for 2 features"),
        ((X, Y, None, ["a", "b"]), "2 label names for 3 labels"),
        ((X, Y, None, ["a", "b", "a"]), "two labels are called 'a'"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_does_not_fit_is_refused(arguments, message) -> None:
    with pytest.raises(DataError, match=message):
        MultiLabelData(*arguments)


@pytest.mark.parametrize("rows", [[4], [-5], [True, False]])
def test_rows_that_do_not_exist(rows) -> None:
    with pytest.raises(DataError, match="rows"):
        MultiLabelData(X, Y).subset(rows)


def test_sparse_input_of_any_format() -> None:
    data = MultiLabelData(vstack([csr_matrix(X)]).tocoo(), Y)
    assert data.is_sparse
    assert data.X.dtype == np.float32
    assert data.X.format == "csr"


def test_the_root_of_a_hierarchy_as_a_label() -> None:
    data = MultiLabelData(np.eye(2), [[1, 1], [0, 0]], label_names=["a", "a/b"], parents={1: [0]})
    rooted = data.with_root()
    np.testing.assert_array_equal(rooted.Y, [[1, 1, 1], [0, 0, 1]])
    assert rooted.label_names == ["a", "a/b", "root"]
    assert rooted.parents == {0: [2], 1: [0]}
    assert rooted.notes == ["the hierarchy's root is a label, on in every row"]
    with pytest.raises(DataError, match="has no hierarchy"):
        MultiLabelData(np.eye(2), np.eye(2)).with_root()
