import numpy as np
import pytest
from scipy.sparse import csr_matrix

from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import load, load_files

X = np.array([[0, 1.5], [2, 0], [1, 1]])
Y = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


def pieces(X):
    S = csr_matrix(X)
    return {"X_data": S.data, "X_indices": S.indices, "X_indptr": S.indptr, "X_shape": S.shape}


def test_dense_and_sparse(tmp_path) -> None:
    names = {"feature_names": ["a", "b"], "label_names": ["p", "q", "r"]}
    dense = load(save(tmp_path / "d.npz", X=X, Y=Y, **names))
    sparse = load(save(tmp_path / "s.npz", Y=Y == 1, **pieces(X), **names))
    assert sparse.is_sparse
    assert not dense.is_sparse
    assert dense.name == "d"
    assert dense.checksum() == sparse.checksum()
    assert dense.label_names == ["p", "q", "r"]
    assert load(save(tmp_path / "n.npz", X=X, Y=Y)).feature_names == ["x0", "x1"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": X}, "has no key Y"),
        ({"Y": Y}, "has no key X, nor the pieces"),
        ({"X": X, "Y": Y, "Z": Y}, "unknown key 'Z'"),
        ({"X": X[:2], "Y": Y}, "X has 2 rows and Y has 3"),
        ({"X": np.full((3, 2), np.inf), "Y": Y}, "infinity"),
        ({"X": X, "Y": Y - 1}, "expected only 0 and 1"),
        ({"X": X, "Y": Y, "label_names": ["a"]}, "1 label names for 3"),
        ({"X": X, "Y": Y, "label_names": np.array([1, "a", None], object)}, "not objects"),
        ({"Y": Y, "X_data": [1.0]}, "lacks X_indices, X_indptr, X_shape"),
        ({"Y": Y, **pieces(X), "X_shape": (3, 1)}, "do not fit"),
        ({"Y": Y, **pieces(X), "X_shape": (3,)}, "do not fit"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_damaged(tmp_path, arrays, message) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load(save(tmp_path / "bad.npz", **arrays))
    assert "bad.npz" in str(caught.value)


def test_not_an_archive(tmp_path) -> None:
    path = save(tmp_path / "a.npz", X=X, Y=Y)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match="not a complete"):
        load(path)
    path.write_bytes(b"")
    with pytest.raises(DataError, match="not a complete"):
        load(path)
    np.save(tmp_path / "one.npy", X)
    with pytest.raises(DataError, match="single array"):
        load((tmp_path / "one.npy").rename(tmp_path / "one.npz"))


def test_labels_and_columns(tmp_path) -> None:
    one = save(tmp_path / "1.npz", X=X, Y=Y)
    with pytest.raises(SettingError, match="leave labels= out"):
        load(one, labels=2)
    with pytest.raises(DataError, match="does not have the columns"):
        load_files([one, save(tmp_path / "2.npz", X=X[:, :1], Y=Y)])
