"""``categorical_features``: numbers that are codes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from lossnet import MultiLabelClassifier, TextClassifier
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import MultiLabelData

RNG = np.random.default_rng(0)
CODES = RNG.choice([101, 202, 1000], 80)
X = np.column_stack([RNG.normal(size=80), CODES, RNG.normal(size=80)])
Y = np.stack([CODES == 101, X[:, 0] > 0], axis=1).astype(int)
ENCODED = np.column_stack([X[:, 0], *(code == CODES for code in (101, 202, 1000)), X[:, 2]])
NAMES = ["a", "zip", "b"]


@pytest.mark.parametrize("listed", [[1], (1,), np.array([1]), [False, True, False]])
def test_codes_of_an_array_are_a_column_each(classifier, listed, tmp_path) -> None:
    model = classifier(categorical_features=listed).fit(X, Y)
    by_hand = classifier().fit(ENCODED, Y)
    assert np.array_equal(model.predict_proba(X), by_hand.predict_proba(ENCODED))
    assert model.encoding_.coded[0].words == ("101", "202", "1000")
    again = MultiLabelClassifier.load(model.save(tmp_path / "model"))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(again).fit(X, Y).encoding_ == model.encoding_


def test_codes_by_name(classifier) -> None:
    pd = pytest.importorskip("pandas")
    frame, data = pd.DataFrame(X, columns=NAMES), MultiLabelData(X, Y, NAMES)
    by_hand = classifier().fit(ENCODED, Y).predict_proba(ENCODED)
    make = lambda: classifier(categorical_features=["zip"])  # noqa: E731
    model, read = make().fit(frame, Y), make().fit(data)
    for trained in (model, read):
        assert np.array_equal(trained.predict_proba(frame), by_hand)
        assert np.array_equal(trained.predict_proba(data), by_hand)
    # Integers, their category dtype and floats are the same codes.
    for dtype in (int, "category", "Int64"):
        assert np.array_equal(model.predict_proba(frame.astype({"zip": dtype})), by_hand)
    by_dtype = classifier().fit(frame.astype({"zip": "category"}), Y)
    assert np.array_equal(by_dtype.predict_proba(frame), by_hand)


def test_codes_that_are_missing_or_absent_from_training(classifier) -> None:
    model, rows = classifier(categorical_features=[1]).fit(X, Y), X[:2].copy()
    rows[:, 1] = np.nan, 5
    with pytest.warns(UserWarning, match="count as missing: '1': '5'"):
        got = model.predict_proba(rows)
    zeros = ENCODED[:2].copy()
    zeros[:, 1:4] = 0
    assert np.array_equal(got, classifier().fit(ENCODED, Y).predict_proba(zeros))


def test_an_empty_list_lists_nothing(classifier) -> None:
    plain = classifier().fit(X, Y).predict_proba(X)
    assert np.array_equal(classifier(categorical_features=[]).fit(X, Y).predict_proba(X), plain)


@pytest.mark.parametrize("listed", ["zip", 1, [1.5], [1, "zip"], [True, 1], [[1]], [None]])
def test_what_is_no_list_of_columns_is_refused_before_any_work(listed) -> None:
    with pytest.raises(SettingError, match="categorical_features must be None, or a list of names"):
        MultiLabelClassifier("cross-entropy", categorical_features=listed).fit(None, None)


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ([3], "categorical_features has 3; columns are numbered from 0 to 2"),
        ([-1], "categorical_features has -1; columns are numbered"),
        ([True], "categorical_features has 1 values for 3 columns"),
        (["zip"], "names 'zip', and the columns of X have no names"),
        ([0], "column '0' is text or names the rows .*leave it as numbers"),
    ],
)
def test_columns_that_do_not_exist(classifier, listed, message) -> None:
    with pytest.raises(DataError, match=message):
        classifier(categorical_features=listed).fit(X, Y)


def test_the_nearest_name_is_suggested(classifier) -> None:
    with pytest.raises(DataError, match="names 'zib', no column of X; did you mean 'zip'"):
        classifier(categorical_features=["zib"]).fit(MultiLabelData(X, Y, NAMES))


def test_sparse_codes_and_texts_are_refused(classifier) -> None:
    with pytest.raises(DataError, match="X is sparse, which categorical_features does not support"):
        classifier(categorical_features=[1]).fit(sp.csr_array(X), Y)
    model = classifier(categorical_features=[1], max_epochs=1).fit(X, Y)
    with pytest.raises(DataError, match="X is sparse, and its columns '1' are categories"):
        model.predict(sp.csr_array(X))
    with pytest.raises(SettingError, match="categorical_features is for columns"):
        TextClassifier(categorical_features=[0]).fit(["a b", "b c"], [["x"], ["y"]])
