"""Sparse label matrices that stay sparse, and predictions that never are a matrix of all."""

import numpy as np
import pytest
import scipy.sparse as sp

from lossnet import MultiLabelClassifier
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import MultiLabelData, evaluate
from lossnet.tasks.multilabel.decisions import common_sets
from lossnet.tasks.multilabel.metrics import METRICS

MODULE = "lossnet.tasks.multilabel.arrays"


@pytest.fixture
def few_entries(monkeypatch) -> None:
    """Label matrices of more than 90 entries, 30 rows of three labels, are large."""
    monkeypatch.setattr(f"{MODULE}.MOST_ENTRIES", 90)


def test_predictions_are_sparse_where_training_labels_were(classifier, data, tmp_path) -> None:
    X, Y = data
    expected = classifier().fit(X, Y)
    model = classifier().fit(X, sp.csc_array(Y))
    assert isinstance(expected.predict(X), np.ndarray)
    found = model.predict(X)
    assert sp.issparse(found)
    assert found.format == "csr"
    assert np.array_equal(found.toarray(), expected.predict(X))
    loaded = MultiLabelClassifier.load(model.save(tmp_path / "model"))
    assert sp.issparse(loaded.predict(X))
    assert np.array_equal(model.predict_proba(X), expected.predict_proba(X))


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce", "auto"])
def test_labels_that_stay_sparse_train_as_dense_ones(
    classifier, data, method, few_entries, monkeypatch
) -> None:
    X, Y = data
    own = {"trees": 0, "members": 2} if method == "auto" else {}
    rows, held = slice(0, 60), slice(60, 80)
    model = classifier(method, **own)
    model.fit(X[rows], sp.csr_matrix(Y[rows]), validation_data=(X[held], Y[held]))
    found = model.predict_proba(X)
    if not own:  # folds of large matrices are random ones, not stratified
        monkeypatch.setattr(f"{MODULE}.MOST_ENTRIES", 2**26)
        dense = classifier(method).fit(X[rows], Y[rows], validation_data=(X[held], Y[held]))
        assert np.array_equal(found, dense.predict_proba(X))
        assert model.threshold_ == dense.threshold_
    assert sp.issparse(model.predict(X))


def test_a_fit_holds_out_no_more_rows_than_it_can_measure(classifier, data, few_entries) -> None:
    X, Y = data
    model = classifier(validation_fraction=0.9).fit(X, sp.csr_matrix(Y))
    assert model.training_rows_ == 50


def test_scores_and_predictions_of_parts_are_those_of_all_rows(
    classifier, data, few_entries, monkeypatch
) -> None:
    X, Y = data
    model = classifier().fit(X, Y)
    in_parts = model.predict(X), model.score(X, sp.csr_matrix(Y)), model.score(X, Y)
    monkeypatch.setattr(f"{MODULE}.MOST_ENTRIES", 2**26)
    assert np.array_equal(in_parts[0], model.predict(X))
    assert in_parts[1:] == (model.score(X, Y),) * 2


@pytest.mark.parametrize("method", ["cross-entropy", "alen"])
def test_top_k_is_what_sorting_all_probabilities_gives(classifier, data, method) -> None:
    X, Y = data
    model = classifier(method).fit(X, Y)
    proba = model.predict_proba(X)
    for k in (1, 2, 3):
        labels, found = model.predict_top_k(X, k)
        assert labels.shape == found.shape == (80, k)
        assert np.allclose(found, -np.sort(-proba, axis=1)[:, :k], atol=1e-6)
        assert np.allclose(np.take_along_axis(proba, labels, axis=1), found, atol=1e-6)


def test_top_k_is_calibrated_as_probabilities_are(classifier, data) -> None:
    X, Y = data
    model = classifier().fit(X, Y).calibrate(X, Y)
    assert model.temperature_ != 1
    best = model.predict_proba(X).max(1)
    assert np.allclose(model.predict_top_k(sp.csr_matrix(X), 1)[1][:, 0], best, atol=1e-6)


@pytest.mark.parametrize("k", [0, 4, 1.5, "all"])
def test_a_wrong_k_is_refused(classifier, data, k) -> None:
    with pytest.raises(SettingError, match="k must be"):
        classifier().fit(*data).predict_top_k(data[0], k)


def test_probabilities_that_do_not_fit_in_memory_are_refused(classifier, data, monkeypatch) -> None:
    model = classifier().fit(*data)
    monkeypatch.setattr("lossnet.tasks.multilabel.many_labels.memory_of_machine", lambda: 500)
    with pytest.raises(DataError, match=r"80 rows and 3 labels .* use predict_top_k"):
        model.predict_proba(data[0])


@pytest.mark.parametrize("value", [2, -1, np.nan])
def test_other_values_in_a_large_sparse_matrix_are_refused(
    classifier, data, few_entries, value
) -> None:
    X, Y = data[0], data[1].astype(float)
    Y[7, 1] = value
    with pytest.raises(DataError, match=r"row 7, label 1 .*only 0 and 1"):
        classifier().fit(X, sp.csr_matrix(Y))


def test_trees_are_refused_or_left_out(classifier, data, few_entries) -> None:
    X, Y = data[0], sp.csr_matrix(data[1])
    with pytest.raises(DataError, match=r"trees must be 0 for 6\d rows of 3 labels"):
        classifier(trees=5).fit(X, Y)
    assert not hasattr(classifier("auto", members=2).fit(X, Y), "trees_")


def test_data_with_sparse_labels_says_what_dense_data_says(data, few_entries) -> None:
    X, Y = data
    dense, sparse = MultiLabelData(X, Y), MultiLabelData(X, sp.csr_matrix(Y))
    assert not sparse.has_dense_labels
    for name in ("cardinality", "density", "diversity", "n_labels", "n_unknown"):
        assert getattr(sparse, name) == pytest.approx(getattr(dense, name))
    assert sparse.subset(range(30)).has_dense_labels
    assert np.array_equal(sparse.subset(range(9)).Y, dense.subset(range(9)).Y)
    assert sparse.checksum() != sparse.subset(range(79)).checksum()
    joined = MultiLabelData.join({"one": sparse, "two": sparse})
    assert np.array_equal(joined.Y.toarray(), np.concatenate([Y, Y]))
    sets, expected = (common_sets(one.complete) for one in (sparse, dense))
    assert {row.tobytes() for row in sets} == {row.tobytes() for row in expected}


@pytest.mark.parametrize("name", [name for name in METRICS if name != "map"])
def test_metrics_of_sparse_matrices_are_those_of_dense_ones(name, few_entries) -> None:
    rng = np.random.default_rng(0)
    Y, P = (rng.random((2, 40, 5)) < 0.3).astype(np.uint8)
    found = METRICS[name].function(sp.csr_matrix(Y), sp.csc_matrix(P))
    assert found == pytest.approx(METRICS[name].function(Y, P), abs=1e-12)
    both = evaluate(sp.csr_matrix(Y), sp.csr_matrix(P)), evaluate(Y, P)
    assert all(both[1][key] == pytest.approx(value) for key, value in both[0].items())


def test_sparse_metrics_of_other_shapes_are_refused(few_entries) -> None:
    with pytest.raises(DataError, match=r"shapes \(40, 5\) and \(40, 6\)"):
        evaluate(sp.csr_matrix((40, 5)), sp.csr_matrix((40, 6)))
