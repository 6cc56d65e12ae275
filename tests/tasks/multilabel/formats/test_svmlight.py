import io

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import load, load_files

TEXT = """1,3 1:0.5 4:-2 # a comment
# a whole line of it
 2:1e1
3:7
12 qid:4 1:1
"""


def test_rows_with_and_without_labels(write) -> None:
    data = load(write("a.svm", TEXT))
    assert data.label_names == ["1", "3", "12"]
    assert data.feature_names == ["x1", "x2", "x3", "x4"]  # no 0 anywhere: counted from 1
    np.testing.assert_array_equal(data.Y, [[1, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(
        data.X.toarray(), [[0.5, 0, 0, -2], [0, 10, 0, 0], [0, 0, 7, 0], [1, 0, 0, 0]]
    )


def test_header_of_the_extreme_classification_repository(write) -> None:
    data = load(write("a.txt", "3 5 4\n0,3 1:1\n\n2 4:0.5\n"))
    assert (data.n_rows, data.n_features, data.n_labels) == (3, 5, 4)
    np.testing.assert_array_equal(data.Y, [[1, 0, 0, 1], [0, 0, 0, 0], [0, 0, 1, 0]])
    np.testing.assert_array_equal(data.X.toarray()[:, [1, 4]], [[1, 0], [0, 0], [0, 0.5]])


def test_number_and_names_of_labels(write) -> None:
    path = write("a.libsvm", "1,3 1:1\n2 1:2\n")
    np.testing.assert_array_equal(load(path, labels=3).Y, [[1, 0, 1], [0, 1, 0]])  # from 1
    np.testing.assert_array_equal(load(path, labels=4).Y, [[0, 1, 0, 1], [0, 0, 1, 0]])  # from 0
    assert load(path, labels=["a", "b", "c"]).label_names == ["a", "b", "c"]
    with pytest.raises(DataError, match="line 1: label 3, but the labels are 0 to 1"):
        load(path, labels=2)
    with pytest.raises(SettingError, match="number of labels"):
        load(path, labels="a")


def test_files_of_one_data_set_agree(write) -> None:
    one, two = load_files([write("1.svm", "5 1:1\n"), write("2.svm", "7 0:1 3:1\n")])
    assert one.label_names == two.label_names == ["5", "7"]
    assert one.n_features == two.n_features == 4
    np.testing.assert_array_equal(one.X.toarray(), [[0, 1, 0, 0]])  # the 0 in the other file


def test_against_scikit_learn(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 6)) * (rng.random((20, 6)) < 0.4)
    X[0] = 1
    Y = rng.integers(0, 2, (20, 4))
    Y[:2] = 1
    buffer = io.BytesIO()
    dump_svmlight_file(X, Y, buffer, multilabel=True, zero_based=True)
    path = tmp_path / "s.svmlight"
    path.write_bytes(buffer.getvalue())
    data = load(path)
    theirs, _ = load_svmlight_file(io.BytesIO(buffer.getvalue()), multilabel=True)
    np.testing.assert_array_equal(data.X.toarray(), theirs.toarray().astype(np.float32))
    np.testing.assert_array_equal(data.Y, Y)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("# only this\n", "holds no rows"),
        ("1 1:1\na,b 1:1\n", "line 2: 'a,b' is not a list of label numbers"),
        ("1 1:1 2\n", "line 1: '2' is not feature:value"),
        ("1 1:1 2:x\n", "line 1: '2:x' is not feature:value"),
        ("1 1:1 2:3:4\n", "line 1: '2:3:4' is not feature:value"),
        ("1 1:1_0\n", "line 1: '1:1_0' is not feature:value"),
        ("1 1_0:1\n", "line 1: '1_0:1' is not feature:value"),
        ("1_0 1:1\n", "line 1: '1_0' is not a list of label numbers"),
        ("1 1:1 1:2\n", "line 1: a feature is given twice"),
        ("1 -1:1\n", "line 1: feature number -1 is negative"),
        ("1 1:nan\n", "line 1: '1:nan' is not feature:value, an integer and a finite number"),
        ("2 3 2\n0 0:1\n", "announces 2 rows, the file holds 1"),
        ("1 3 2\n0 3:1\n", "line 2: feature 3, but the header announces 3"),
        ("1 3 2\n2 0:1\n", "line 2: label 2, but the labels are 0 to 1"),
        (" 1:1\n", "no row has a label"),
        ("1 99999999999999999999:1\n", "more than the 5000000 that can be read"),
        ("1 3 2\n0 99999999999999999999:1\n", "line 2: feature 9+, but the header announces 3"),
        ("1 3 99999999\n0 1:1\n", "99999999 labels, more than"),
    ],
)
def test_damaged(write, text, message) -> None:
    with pytest.raises(DataError, match=message):
        load(write("bad.svm", text))


def test_headers_must_agree(write) -> None:
    paths = [write("1.svm", "1 3 2\n0 0:1\n"), write("2.svm", "1 4 2\n0 0:1\n")]
    with pytest.raises(DataError, match="differ in their header lines"):
        load_files(paths)
    with pytest.raises(DataError, match="announces 2 labels, labels= gives 3"):
        load(paths[0], labels=3)
