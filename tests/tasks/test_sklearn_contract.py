"""MultiLabelClassifier among scikit-learn's own tools."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import f1_score
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from lossnet import Method, MultiLabelClassifier, Optimiser, build
from lossnet.errors import SettingError
from lossnet.tasks.multilabel import EXPECTED_FAILED_CHECKS

#: Checks that a row of weight 2 is a row given twice.
WEIGHTED = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
FAST = {"task_optimiser": {"lr": 0.03}}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_check_estimator_fails_only_where_it_must() -> None:
    model = MultiLabelClassifier(
        "cross-entropy", hidden=(16,), max_epochs=20, patience=5, batch_size=16
    )
    results = check_estimator(
        model, expected_failed_checks=EXPECTED_FAILED_CHECKS, on_fail=None, on_skip=None
    )
    status = {(r["check_name"], r["status"]) for r in results}
    assert not [name for name, found in status if found == "failed"]
    assert {name for name, found in status if found == "xfail"} == set(EXPECTED_FAILED_CHECKS)
    assert set(EXPECTED_FAILED_CHECKS) == {
        "check_classifier_multioutput",
        "check_classifiers_train",
        "check_class_weight_classifiers",
        *WEIGHTED,
    }
    assert len(results) > 50


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_check_estimator_passes_at_a_fixed_threshold_but_for_repeated_rows() -> None:
    model = MultiLabelClassifier(
        hidden=(16,),
        global_hidden=8,
        max_epochs=12,
        batch_size=16,
        threshold=0.5,
        validation_fraction=0.0,
        trees=60,
    )
    allowed = {name: EXPECTED_FAILED_CHECKS[name] for name in WEIGHTED}
    results = check_estimator(model, expected_failed_checks=allowed, on_skip=None)
    failed = {r["check_name"] for r in results if r["status"] not in ("passed", "skipped")}
    assert failed == set(WEIGHTED)


@pytest.mark.parametrize("method", ["seal-nce", "dvn", build("cross-entropy")])
def test_clone_copies_parameters_and_nothing_fitted(classifier, data, method) -> None:
    model = classifier(method, max_epochs=1).fit(*data)
    copied = clone(model)
    assert not hasattr(copied, "nets_")
    assert copied.get_params()["hidden"] == (8,)
    if not isinstance(method, Method):
        assert copied.get_params() == model.get_params()


@pytest.mark.parametrize("method", ["seal-nce", "dvn", "spen-e2e", "seal-static-margin"])
def test_pickle_gives_the_same_predictions(classifier, data, method) -> None:
    X, Y = data
    model = classifier(method, max_epochs=1)
    unfitted = pickle.loads(pickle.dumps(model))
    assert unfitted.get_params() == model.get_params()
    model.fit(X, Y)
    proba = model.predict_proba(X)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), unfitted.fit(X, Y)):
        assert np.array_equal(other.predict_proba(X), proba)
        assert np.array_equal(other.predict(X), model.predict(X))


def test_pipeline_with_scaler(classifier, data) -> None:
    X, Y = data
    pipe = make_pipeline(StandardScaler(), classifier(max_epochs=30, method_params=FAST)).fit(X, Y)
    assert pipe.predict(X).shape == Y.shape
    assert f1_score(Y, pipe.predict(X), average="micro") > 0.8
    pipe.set_params(multilabelclassifier__method__task_optimiser__lr=0.5)
    assert pipe[-1].method_params == {"task_optimiser": {"lr": 0.5}}


def test_grid_search_over_the_method_and_the_net(classifier, data) -> None:
    grid = {"method__samples": [2, 3], "hidden": [(4,), (6,)]}
    search = GridSearchCV(classifier("seal-nce", max_epochs=1), grid, cv=2, error_score="raise")
    search.fit(*data)
    assert len(search.cv_results_["params"]) == 4
    best = search.best_estimator_
    assert best.method_params == {"samples": search.best_params_["method__samples"]}
    width = search.best_params_["hidden"][0]
    assert best.nets_["task"].features.out_features == width


@pytest.mark.filterwarnings("ignore:F-score is ill-defined")
@pytest.mark.parametrize("scoring", [None, "f1_samples", "f1_macro", "roc_auc"])
def test_cross_val_score(classifier, data, scoring) -> None:
    scores = cross_val_score(
        classifier(max_epochs=30, method_params=FAST),
        *data,
        cv=2,
        scoring=scoring,
        error_score="raise",
    )
    assert scores.shape == (2,)
    assert (scores > 0.3).all()


def test_cross_val_predict(classifier, data) -> None:
    X, Y = data
    assert cross_val_predict(classifier(), X, Y, cv=2).shape == Y.shape
    proba = cross_val_predict(classifier(), X, Y, cv=2, method="predict_proba")
    assert proba.shape == Y.shape
    y = np.where(Y[:, 0] == 1, "yes", "no")
    assert set(cross_val_predict(classifier(), X, y, cv=2)) <= {"yes", "no"}
    assert cross_val_predict(classifier(), X, y, cv=2, method="predict_proba").shape == (80, 2)


def test_train_test_split_outputs(classifier, data) -> None:
    pd = pytest.importorskip("pandas")
    X, Y = pd.DataFrame(data[0]).add_prefix("f"), pd.DataFrame(data[1], columns=["a", "b", "ab"])
    Xa, Xb, Ya, Yb = train_test_split(X, Y, random_state=0)
    model = classifier().fit(Xa, Ya, validation_data=(Xb, Yb))
    assert model.predict(Xb).shape == Yb.shape
    assert 0.0 <= model.score(Xb, Yb) <= 1.0


def test_score_is_subset_accuracy(classifier, data) -> None:
    X, Y = data
    model = classifier().fit(X, Y)
    assert model.score(X, Y) == (model.predict(X) == Y).all(axis=1).mean()


def test_params_are_stored_untouched_until_fit() -> None:
    model = MultiLabelClassifier(5, method_params=7, hidden="x", threshold=None)
    assert model.get_params()["method_params"] == 7
    model.set_params(method_params=None).set_params(
        method__samples=3, method__task_optimiser__lr=0.1
    )
    assert model.get_params()["method__samples"] == 3
    assert model.method_params == {"samples": 3, "task_optimiser": {"lr": 0.1}}
    with pytest.raises(ValueError, match="Invalid parameter 'epochs'"):
        model.set_params(epochs=3)
    with pytest.raises(SettingError, match="method_params must be a dict"):
        model.set_params(method_params=7, method__samples=3)


def test_set_params_leaves_a_given_dict_alone() -> None:
    given = {"samples": 3}
    model = MultiLabelClassifier(method_params=given).set_params(method__samples=9)
    assert given == {"samples": 3}
    assert model.method_params == {"samples": 9}


def test_parts_of_a_method_are_searched_over(classifier, data) -> None:
    """By names at any depth, with the numbers of NumPy that grids are made of."""
    grid = {
        "method__energy_optimiser__lr": np.logspace(-3, -2, 2),
        "method__samples": np.array([2, 3]),
    }
    model = classifier("seal-nce", max_epochs=1)
    search = GridSearchCV(model, grid, cv=2, scoring="f1_samples", error_score="raise").fit(*data)
    best = search.best_estimator_
    assert best.method_.phases[0].updates[0].optimiser.lr in (1e-3, 1e-2)
    assert best.get_params()["method__energy_optimiser__lr"] in (1e-3, 1e-2)


def test_set_params_reaches_into_parts() -> None:
    given = {"energy_optimiser": Optimiser(0.5, beta1=0.25)}
    model = MultiLabelClassifier("implicit-nce", method_params=given)
    model.set_params(
        method__gradient__solver__steps=2,
        method__gradient__solver="cg",
        method__energy_optimiser__lr=0.125,
    )
    assert given == {"energy_optimiser": Optimiser(0.5, beta1=0.25)}
    found = model.resolved_method_params()
    assert found["gradient"]["solver"] == {"kind": "cg", "steps": 2, "tolerance": 1e-6}
    assert (found["energy_optimiser"]["lr"], found["energy_optimiser"]["beta1"]) == (0.125, 0.25)
    again = MultiLabelClassifier("implicit-nce", method_params=found)
    assert again.resolved_method_params() == found
    assert again._assembled() == model._assembled()


def test_a_model_keeps_the_parts_it_was_given(classifier, data, tmp_path) -> None:
    params = {"task_optimiser": Optimiser(0.02, clip=1.0)}
    model = classifier("cross-entropy", method_params=params, max_epochs=1).fit(*data)
    model.save(tmp_path / "m")
    loaded = MultiLabelClassifier.load(tmp_path / "m")
    assert loaded.method_ == model.method_
