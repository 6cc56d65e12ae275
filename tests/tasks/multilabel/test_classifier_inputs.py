"""What fit and predict take, and what they refuse."""

import numpy as np
import pytest
import scipy.sparse as sp

from lossnet import MultiLabelClassifier
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import MultiLabelData

pd = pytest.importorskip("pandas")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int8, bool])
def test_dense_x_of_any_number_type(classifier, data, dtype) -> None:
    X, Y = data
    X = (X > 0).astype(dtype)
    expected = classifier().fit(X.astype(np.float32), Y).predict_proba(X)
    model = classifier().fit(X, Y)
    assert np.array_equal(model.predict_proba(X), expected)
    assert model.n_features_in_ == 6


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
@pytest.mark.parametrize("form", ["matrix", "array"])
def test_sparse_x_gives_what_dense_x_gives(classifier, data, kind, form) -> None:
    X, Y = data
    X = np.maximum(X, 0)
    model = classifier(standardise=False).fit(getattr(sp, f"{kind}_{form}")(X), Y)
    expected = classifier(standardise=False).fit(X, Y).predict_proba(X)
    assert np.array_equal(model.predict_proba(X), expected)
    assert np.array_equal(model.predict_proba(sp.csr_array(X)), expected)


def test_sparse_x_is_scaled_where_asked(classifier, data) -> None:
    X, Y = np.maximum(data[0], 0), data[1]
    scaled = classifier(standardise=True).fit(sp.csr_array(X), Y)
    assert not scaled.standardiser_.mean.any()
    assert np.allclose(scaled.predict_proba(sp.coo_array(X)), scaled.predict_proba(X), atol=1e-6)
    plain = classifier(standardise=True).fit(sp.csr_array(100 * X), Y)
    assert np.allclose(plain.predict_proba(100 * X), scaled.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("standardise", ["auto", True])
@pytest.mark.parametrize("fitted_on", [np.asarray, sp.csr_array])
def test_a_fitted_model_takes_dense_and_sparse_rows_alike(
    classifier, data, standardise, fitted_on, monkeypatch
) -> None:
    X, Y = 5 + 3 * data[0], data[1]
    X[::7, 3] = 0.0
    model = classifier(standardise=standardise).fit(fitted_on(X), Y)
    expected = model.predict_proba(X)
    assert np.allclose(model.predict_proba(sp.csr_array(X)), expected, atol=1e-6)
    monkeypatch.setattr("lossnet.training.source._DENSE_BYTES", 0)  # batch by batch
    assert np.allclose(model.predict_proba(sp.csr_array(X)), expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, np.float64, object])
def test_y_of_any_type(classifier, data, dtype) -> None:
    X, Y = data
    model = classifier().fit(X, Y.astype(dtype))
    assert np.array_equal(model.predict_proba(X), classifier().fit(X, Y).predict_proba(X))
    assert model.predict(X).dtype == np.int64
    assert set(np.unique(model.predict(X))) <= {0, 1}


@pytest.mark.parametrize(
    "form", [sp.csr_array, sp.csc_matrix, sp.lil_array, lambda Y: Y.tolist(), pd.DataFrame]
)
def test_y_in_any_form(classifier, data, form) -> None:
    X, Y = data
    expected = classifier().fit(X, Y).predict_proba(X)
    assert np.array_equal(classifier().fit(X, form(Y)).predict_proba(X), expected)


def test_frames_bring_names(classifier, data) -> None:
    X = pd.DataFrame(data[0], columns=[f"f{i}" for i in range(6)])
    Y = pd.DataFrame(data[1].astype(bool), columns=["a", "b", "ab"])
    model = classifier().fit(X, Y)
    assert model.label_names_ == ["a", "b", "ab"]
    assert list(model.feature_names_in_) == list(X.columns)
    turned = model.predict_proba(X[X.columns[::-1]])
    assert np.array_equal(turned, model.predict_proba(X))
    with pytest.raises(ValueError, match="now missing:\n- f5"):
        model.predict(X.drop(columns="f5"))
    with pytest.raises(ValueError, match="unseen at fit time:\n- f6"):
        model.predict(X.assign(f6=1.0))
    assert classifier().fit(*data).label_names_ == ["label_0", "label_1", "label_2"]


def test_validation_frame_is_matched_by_name(classifier, data) -> None:
    X, Y = data[0], pd.DataFrame(data[1], columns=["a", "b", "ab"])
    plain = classifier().fit(X, Y, validation_data=(X, Y))
    turned = classifier().fit(X, Y, validation_data=(X, Y[["ab", "a", "b"]]))
    assert turned.history_[-1]["metric"] == plain.history_[-1]["metric"]
    assert turned.threshold_ == plain.threshold_
    wrong = Y.rename(columns={"ab": "c"})
    with pytest.raises(DataError, match="validation_data: Y has no column 'ab'"):
        classifier().fit(X, Y, validation_data=(X, wrong))


def test_two_columns_of_one_name_are_refused(classifier, data) -> None:
    Y = pd.DataFrame(data[1], columns=["a", "b", "a"])
    with pytest.raises(DataError, match="two columns of Y are called 'a'"):
        classifier().fit(data[0], Y)


@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e39])
@pytest.mark.filterwarnings("ignore:overflow")
def test_x_holds_no_infinity(classifier, data, bad) -> None:
    X, Y = data[0].astype(np.float64), data[1]
    model = classifier(max_epochs=1).fit(X, Y)
    X[3, 2] = bad
    words = r"Input X contains infinity .*: row 3, column 2 \(from 0\) is .*; clip it"
    with pytest.raises(DataError, match=words):
        classifier().fit(X, Y)
    with pytest.raises(DataError, match=words):
        classifier().fit(sp.csr_array(X), Y)
    with pytest.raises(DataError, match=words):
        model.predict(X)


@pytest.mark.parametrize("bad", [2, -1, 0.5, np.inf])
def test_y_must_be_binary(classifier, data, bad) -> None:
    X, Y = data[0], data[1].astype(float)
    Y[4, 1] = bad
    with pytest.raises(DataError, match=r"Y is not binary: row 4, label 1 \(label_1\) is"):
        classifier().fit(X, Y)
    with pytest.raises(DataError, match=r"row 4, label 1 \(b\) is"):
        classifier().fit(X, pd.DataFrame(Y, columns=["a", "b", "ab"]))


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        ([["a"], ["b", "c"]] * 40, "MultiLabelBinarizer"),
        ([{"a"}, {"b", "c"}] * 40, "MultiLabelBinarizer"),
        (np.full((80, 2), "a"), "MultiLabelBinarizer|expected only 0 and 1"),
        (np.zeros((80, 0)), r"Y has shape \(80, 0\)"),
        (np.zeros((80, 2, 2)), r"Y has shape \(80, 2, 2\)"),
        (3, r"Y has shape \(\)"),
        (None, "requires y to be passed, but the target y is None"),
        (np.zeros((79, 3)), "X has 80 rows and Y has 79"),
    ],
)
def test_unusable_y(classifier, data, Y, message) -> None:
    with pytest.raises(DataError, match=message):
        classifier().fit(data[0], Y)


def test_empty_x(classifier) -> None:
    with pytest.raises(ValueError, match="0 sample"):
        classifier().fit(np.zeros((0, 3)), np.zeros((0, 2)))
    with pytest.raises(ValueError, match="0 feature"):
        classifier().fit(np.zeros((3, 0)), np.zeros((3, 2)))


def test_predict_wants_the_columns_of_training(classifier, data) -> None:
    model = classifier(max_epochs=1).fit(*data)
    with pytest.raises(ValueError, match=r"X has 5 features.*expecting 6"):
        model.predict(data[0][:, :5])


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce", "dvn"])
@pytest.mark.parametrize("value", [0, 1])
def test_labels_of_one_value_can_be_trained(classifier, data, method, value) -> None:
    X, Y = data[0], data[1].copy()
    Y[:, 1] = value
    assert np.isfinite(classifier(method, max_epochs=2).fit(X, Y).predict_proba(X)).all()
    everything = np.full_like(Y, value)
    model = classifier(max_epochs=40, threshold=0.5, method_params={"task_optimiser": {"lr": 0.05}})
    assert (model.fit(X, everything).predict(X) == value).mean() > 0.95


@pytest.mark.parametrize("rows", [1, 2, 3, 7])
def test_very_few_rows(classifier, data, rows) -> None:
    X, Y = data[0][:rows, :1], data[1][:rows]
    model = classifier("seal-nce", max_epochs=1).fit(X, Y)
    assert model.predict_proba(X).shape == (rows, 3)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda X, Y: X, "pair of inputs and their labels, or a data set, got a ndarray"),
        (lambda X, Y: (X, Y, Y), "pair of inputs and their labels.*, got a tuple of length 3"),
        (lambda X, Y: (X[:, :5], Y), "X has 5 features"),
        (lambda X, Y: (X, Y[:, :2]), r"validation_data: Y has shape \(80, 2\); expected 3 labels"),
        (lambda X, Y: (X, Y[:, 0]), r"validation_data: Y has shape \(80,\); expected 3 labels"),
        (lambda X, Y: (X[:9], Y), "validation_data: .*X has 9 rows and Y has 80"),
        (lambda X, Y: (X, Y + 1), "validation_data: Y is not binary: row 0"),
        (lambda X, Y: (X * np.inf, Y), "Input X contains infinity"),
        (lambda X, Y: (X[:0], Y[:0]), "0 sample"),
    ],
)
def test_unusable_validation_data(classifier, data, given, message) -> None:
    model = classifier()
    with pytest.raises(ValueError, match=message):
        model.fit(*data, validation_data=given(*data))
    assert not hasattr(model, "n_features_in_")


def test_validation_data_replaces_the_split(classifier, data) -> None:
    X, Y = data
    given = classifier(validation_fraction=0.0, max_epochs=2).fit(X, Y, validation_data=(X, Y))
    assert given.best_metric_ is not None
    assert [row["epoch"] for row in given.history_] == [1, 2]
    without = classifier(validation_fraction=0.0, max_epochs=2).fit(X, Y)
    assert without.best_metric_ is None
    assert without.threshold_ == 0.5
    assert np.array_equal(
        classifier(validation_fraction=0.0, max_epochs=2, patience=9)
        .fit(X, Y)
        .nets_["task"]
        .label_embeddings.numpy(),
        without.nets_["task"].label_embeddings.numpy(),
    )


def test_energy_of_label_sets(classifier, data) -> None:
    X, Y = data
    model = classifier("seal-nce").fit(X, pd.DataFrame(Y, columns=["a", "b", "ab"]))
    e = model.energy(X, Y)
    assert e.shape == (80,)
    assert np.array_equal(model.energy(X, sp.csr_array(Y)), e)
    turned = pd.DataFrame(Y, columns=["a", "b", "ab"])[["ab", "b", "a"]]
    assert np.array_equal(model.energy(X, turned), e)
    assert np.isfinite(model.energy(X, Y / 2)).all()
    with pytest.raises(DataError, match="between 0 and 1"):
        model.energy(X, 2 * Y)
    with pytest.raises(DataError, match=r"Y has shape \(80, 2\)"):
        model.energy(X, Y[:, :2])
    with pytest.raises(SettingError, match="has no loss-net"):
        classifier(max_epochs=1).fit(X, Y).energy(X, Y)


def test_data_in_place_of_matrices(classifier, data) -> None:
    X, Y = data
    named = MultiLabelData(X, Y, None, ["a", "b", "ab"])
    turned = MultiLabelData(X, Y[:, [2, 0, 1]], None, ["ab", "a", "b"])
    model = classifier("seal-nce").fit(named, validation_data=turned)
    plain = classifier("seal-nce").fit(X, Y, validation_data=(X, Y))
    assert model.label_names_ == ["a", "b", "ab"]
    proba = plain.predict_proba(X)
    for given in (X, named, turned, named.without_labels()):
        assert np.array_equal(model.predict_proba(given), proba)
    assert model.score(named) == model.score(turned) == plain.score(X, Y)
    assert np.array_equal(model.energy(turned), plain.energy(X, Y))
    assert model.tune_threshold(turned).threshold_ == plain.threshold_
    for bad in (named.without_labels(), None):
        with pytest.raises(DataError, match=r"no labels|target y is None"):
            classifier().fit(bad if bad is not None else X)
    with pytest.raises(DataError, match="holds its labels"):
        classifier().fit(named, Y)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_columns_of_data_are_put_in_the_order_of_the_frame(classifier, data) -> None:
    X, Y = data
    names = [f"f{k}" for k in range(X.shape[1])]
    model = classifier().fit(pd.DataFrame(X, columns=names), Y)
    backwards = MultiLabelData(X[:, ::-1].copy(), feature_names=names[::-1])
    expected = model.predict_proba(pd.DataFrame(X, columns=names))
    np.testing.assert_array_equal(model.predict_proba(backwards), expected)


def test_errors_of_other_rows_name_them() -> None:
    X, Y = np.zeros((20, 4)), np.tile([[0, 1], [1, 0]], (10, 1))
    model = MultiLabelClassifier("seal-nce", max_epochs=1)
    with pytest.raises(DataError, match=r"unlabelled: X has 3 features.* expecting 4"):
        model.fit(X, Y, unlabelled=X[:, :3])
    with pytest.raises(DataError, match=r"validation_data: X has 3 features.* expecting 4"):
        model.fit(X, Y, validation_data=(X[:, :3], Y))
