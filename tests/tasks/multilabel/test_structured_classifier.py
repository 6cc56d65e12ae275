"""StructuredClassifier: the joint it learns, its cross-fitting, and its place in scikit-learn."""

from __future__ import annotations

import itertools
import pickle
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from lossnet import MultiLabelClassifier, Optimiser, StructuredClassifier
from lossnet.errors import DataError, SettingError
from lossnet.recipes import residual
from lossnet.tasks.multilabel import MultiLabelData


class Remembers(ClassifierMixin, BaseEstimator):
    """Certain of the rows it was fitted on, by the number in their first column; 0.4 elsewhere."""

    def fit(self, X: Any, y: np.ndarray) -> Remembers:
        numbers = np.asarray(X)[:, 0]
        self.seen_ = dict(zip(numbers.tolist(), np.atleast_2d(y.T).T, strict=True))
        self.kind_, self.rows_ = type(X), len(numbers)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        width = len(next(iter(self.seen_.values())))
        rows = [self.seen_.get(n, np.full(width, 0.4)) for n in np.asarray(X)[:, 0].tolist()]
        return np.stack(rows).astype(float)


def trees(**params: Any) -> ExtraTreesClassifier:
    return ExtraTreesClassifier(8, **params)


def quick(base: Any = None, **params: Any) -> StructuredClassifier:
    settings = {"max_epochs": 3, "random_state": 0, "decode_samples": 20}
    return StructuredClassifier(trees() if base is None else base, **{**settings, **params})


# The joint -------------------------------------------------------------------------------------


def test_the_joint_of_labels_is_learnt_around_a_base_that_knows_their_shares_alone() -> None:
    rng = np.random.default_rng(0)
    sets = np.array(list(itertools.product([0, 1], repeat=3)))
    p = np.array([0.05, 0.05, 0.20, 0.22, 0.35, 0.05, 0.04, 0.04])
    X, Y = np.zeros((4000, 1)), sets[rng.choice(8, size=4000, p=p)]
    slow = residual(energy_optimiser=Optimiser(1e-3, plateau=3))
    base = DummyClassifier(strategy="prior")
    model = StructuredClassifier(base, method=slow, batch_size=64, random_state=0).fit(X, Y)

    q = model.predict_proba(X[:1])[0]
    assert q == pytest.approx(Y.mean(0), abs=1e-3)
    log_q = np.where(sets, np.log(q), np.log(1 - q)).sum(1)
    log_joint = log_q - model.energy(np.zeros((8, 1)), sets)
    joint = np.exp(log_joint - np.logaddexp.reduce(log_joint))
    assert joint == pytest.approx(p, abs=0.04)
    assert np.abs(np.exp(log_q) - p).max() > 0.15
    # The gain is the dependence of the labels, KL(p || q), up to what was not learnt.
    share = np.bincount(Y @ [4, 2, 1]) / len(Y)
    gain = model.structure_gain(X, Y, max_rows=4000)
    assert gain.exact
    best = (share * (np.log(share) - log_q)).sum()
    assert best - 0.02 < gain.nats < best
    # The second label is on more often than the first, and yet the first alone is most probable.
    assert q[1] > q[0]
    assert model.decision_.weight > 0
    assert model.predict(X[:1]).tolist() == [[1, 0, 0]]


def test_without_dependence_nothing_is_lost() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2400, 4))
    Y = (X[:, :3] + rng.normal(size=(2400, 3)) > 0).astype(int)
    base = OneVsRestClassifier(LogisticRegression())
    model = StructuredClassifier(base, random_state=0).fit(X[:400], Y[:400])
    proba = clone(base).fit(X[:400], Y[:400]).predict_proba(X)
    floor = 0.5 / 401  # half a row in all
    assert model.predict_proba(X) == pytest.approx(np.clip(proba, floor, 1 - floor), abs=1e-5)
    assert abs(model.structure_gain(X[400:], Y[400:]).dependence) < 0.05
    at_threshold = ((proba[400:] >= model.threshold_) == Y[400:]).all(1).mean()
    assert model.score(X[400:], Y[400:]) > at_threshold - 0.01


def test_on_held_out_rows_the_choice_is_never_worse_than_the_base_at_its_threshold(data) -> None:
    X, Y = data
    for metric in ("subset-accuracy", "example-f1"):
        model = quick(metric=metric, max_epochs=20).fit(X, Y, validation_data=(X, Y))
        tried = model.decision_.tried
        assert tried[model.decision_.rule] >= tried["threshold"]


# Cross-fitting ---------------------------------------------------------------------------------


@pytest.mark.parametrize("folds", [2, 4, 7])
def test_no_row_has_probabilities_of_a_base_that_saw_it(folds: int) -> None:
    rng = np.random.default_rng(0)
    X, Y = np.arange(60.0)[:, None], (rng.random((60, 3)) < 0.5).astype(int)
    model = quick(Remembers(), folds=folds, threshold=0.5).fit(X, Y)
    assert (model.out_of_fold_ == 0.4).all()
    assert np.bincount(model.folds_).tolist() == pytest.approx([60 / folds] * folds, abs=1)
    # The base that predicts has seen them all, and the energy has learnt from what it had not.
    assert model.bases_[0].rows_ == 60
    assert ((model.predict_proba(X) > 0.9) == Y).all()


def test_validation_rows_are_judged_by_the_base_of_all_rows_which_has_not_seen_them() -> None:
    rng = np.random.default_rng(0)
    X, Y = np.arange(80.0)[:, None], (rng.random((80, 2)) < 0.5).astype(int)
    model = quick(Remembers(), metric="hamming").fit(
        X[:60], Y[:60], validation_data=(X[60:], Y[60:])
    )
    assert model.bases_[0].rows_ == 60
    # 0.4 for rows of every fold and for these: all on or all off, by a threshold on either side.
    best = max(np.mean(on == Y) for on in (0, 1))
    cut = np.full(Y.shape, 0.4) >= model.threshold_
    assert np.mean(cut == Y) == pytest.approx(best)
    assert model.model_.training_rows_ == 60


def test_a_label_with_one_value_in_a_fold_has_a_constant_probability() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = (X[:, :3] > 0).astype(int)
    Y[:, 1] = np.arange(60) == 7  # on in one row alone: off in all other folds
    Y[:, 2] = 1
    for base in (
        trees(),
        MultiOutputClassifier(LogisticRegression()),
        OneVsRestClassifier(trees()),
    ):
        model = quick(base).fit(X, Y)
        assert model.out_of_fold_[7, 1] == 0.0
        assert (model.out_of_fold_[:, 2] == 1.0).all()
        assert model.predict_proba(X)[:, 2] == pytest.approx(np.full(60, 1 - 0.5 / 61), abs=1e-5)
        assert model.predict(X).shape == (60, 3)


# Bases -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "base",
    [
        trees(),
        OneVsRestClassifier(LogisticRegression()),
        MultiOutputClassifier(LogisticRegression()),
        make_pipeline(StandardScaler(), trees()),
        GridSearchCV(trees(), {"max_depth": [2]}, cv=2),
        MultiLabelClassifier("cross-entropy", hidden=(4,), max_epochs=1),
    ],
    ids=lambda base: type(base).__name__,
)
def test_bases_of_all_kinds(base, data) -> None:
    X, Y = data
    model = quick(base).fit(X, Y)
    own = model.bases_[0].predict_proba(X)
    if isinstance(own, list):
        own = np.column_stack([one[:, 1] for one in own])
    assert model.predict_proba(X) == pytest.approx(np.clip(own, 0.5 / 81, 1 - 0.5 / 81), abs=1e-5)
    assert model.score(X, Y) == accuracy_score(Y, model.predict(X))


def test_probabilities_of_several_bases_are_averaged(data) -> None:
    X, Y = data
    bases = [OneVsRestClassifier(LogisticRegression()), DummyClassifier(strategy="prior")]
    both = quick(bases, folds=3).fit(X, Y)
    single = [quick(base, folds=3).fit(X, Y) for base in bases]
    assert both.out_of_fold_ == pytest.approx(np.mean([m.out_of_fold_ for m in single], axis=0))
    assert len(both.bases_) == 2
    assert clone(both).get_params()["base"][0] is not bases[0]


def test_rows_reach_the_base_as_they_came(data) -> None:
    _, Y = data
    frame = pd.DataFrame({"number": np.arange(80), "word": ["a", "b"] * 40})
    model = quick(Remembers()).fit(frame, pd.DataFrame(Y, columns=["x", "y", "z"]))
    assert model.bases_[0].kind_ is pd.DataFrame
    assert model.label_names_ == ["x", "y", "z"]

    texts = [
        " ".join(w for w, on in zip(["red", "blue", "all"], row, strict=True) if on) for row in Y
    ]
    words = make_pipeline(TfidfVectorizer(), OneVsRestClassifier(LogisticRegression()))
    assert quick(words).fit(texts, Y).predict(texts).shape == Y.shape


def test_sparse_rows_and_labels(data) -> None:
    X, Y = data
    dense = quick().fit(X, Y)
    for form in (sp.csr_matrix, sp.coo_matrix):
        other = quick().fit(form(X), sp.csr_matrix(Y))
        assert other.out_of_fold_ == pytest.approx(dense.out_of_fold_)


def test_a_data_set_holds_rows_and_labels(data) -> None:
    X, Y = data
    table = MultiLabelData(X, Y, label_names=["a", "b", "c"])
    model = quick().fit(table, validation_data=table)
    assert model.label_names_ == ["a", "b", "c"]
    assert model.score(table) == model.score(X, Y)
    assert model.structure_gain(table).nats == model.structure_gain(X, Y).nats
    with pytest.raises(DataError, match="holds its labels; leave out Y"):
        model.score(table, Y)


def test_one_label_is_two_classes(data) -> None:
    X, Y = data
    classes = np.array(["no", "yes"])[Y[:, 0]]
    model = quick(LogisticRegression(), threshold=0.5).fit(X, classes)
    assert model.classes_.tolist() == ["no", "yes"]
    own = LogisticRegression().fit(X, Y[:, 0]).predict_proba(X)
    assert model.predict_proba(X) == pytest.approx(np.clip(own, 0.5 / 81, 1 - 0.5 / 81), abs=1e-5)
    assert set(model.predict(X)) == {"no", "yes"}


# scikit-learn ----------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_check_estimator_passes_at_a_fixed_threshold() -> None:
    model = StructuredClassifier(trees(random_state=0), max_epochs=2, threshold=0.5)
    results = check_estimator(model, on_skip=None)
    assert {r["status"] for r in results} <= {"passed", "skipped"}
    assert len(results) > 50


def test_parameters_of_the_base_are_set_by_name(data) -> None:
    model = quick().set_params(base__max_depth=3, folds=2)
    assert model.get_params()["base__max_depth"] == 3
    fitted = model.fit(*data)
    assert all(tree.get_depth() <= 3 for tree in fitted.bases_[0].estimators_)
    assert not hasattr(model.base, "estimators_")  # the base given is never fitted itself


def test_the_seed_decides_on_everything(data) -> None:
    X, Y = data
    first, again, other = (quick(random_state=s).fit(X, Y) for s in (1, 1, 2))
    assert np.array_equal(first.out_of_fold_, again.out_of_fold_)
    assert np.array_equal(first.energy(X, Y), again.energy(X, Y))
    assert not np.array_equal(first.out_of_fold_, other.out_of_fold_)
    own = quick(trees(random_state=5)).fit(X, Y)
    assert own.bases_[0].random_state == 5  # a base's own seed stays


def test_pickle_works_and_save_says_so(data, tmp_path) -> None:
    X, Y = data
    model = quick().fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    with pytest.raises(SettingError, match=r"cannot store; use joblib\.dump"):
        model.save(tmp_path / "model")


def test_decisions_can_be_chosen_again_for_another_metric(data) -> None:
    X, Y = data
    model = quick(max_epochs=10).fit(X, Y)
    energies = model.energy(X, Y)
    model.set_params(metric="example-f1", decode="expected").tune_threshold(X, Y)
    assert model.decision_.rule == "expected"
    assert np.array_equal(model.energy(X, Y), energies)
    model.set_params(decode="threshold")  # at once, as for the other estimators
    before = model.predict(X)
    assert np.array_equal(before, model.predict_proba(X) >= model.threshold_)
    assert np.array_equal(model.calibrate(X, Y).predict(X), before)


# Errors ----------------------------------------------------------------------------------------


class Unfit(DummyClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Unfit:
        raise AssertionError("no base may be fitted before settings are checked")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"base": []}, "base must hold at least one classifier, got an empty list"),
        ({"base": None}, "base must be a classifier or a list of classifiers, got None"),
        ({"base": "trees"}, "base must be a classifier or a list of classifiers, got 'trees'"),
        (
            {"base": ExtraTreesClassifier},
            "must be a classifier, such as .* got <class .*ExtraTrees",
        ),
        ({"base": [Unfit(), 3]}, "must be a classifier, such as .* got 3"),
        ({"base": OneVsRestClassifier(LinearSVC())}, "base OneVsRestClassifier has no predict_pro"),
        ({"folds": 1}, "folds must be an integer of at least 2, got 1"),
        ({"folds": 2.5}, "folds must be an integer of at least 2, got 2.5"),
        ({"folds": 81}, "80 rows are fewer than folds=81"),
        ({"metric": "exact"}, "unknown metric 'exact'"),
        ({"decode": "made"}, "unknown decode 'made': did you mean 'mode'"),
        ({"patience": 0}, "patience must be an integer of at least 1, got 0"),
        ({"method": "seal-nce"}, "method must be a lossnet.Method whose task-net is given"),
    ],
)
def test_settings_are_refused_before_any_fit(data, params, message) -> None:
    model = StructuredClassifier(**{"base": Unfit(), **params})
    with pytest.raises((SettingError, DataError), match=message):
        model.fit(*data)


@pytest.mark.parametrize(
    ("X", "Y", "validation", "message"),
    [
        (np.zeros((5, 2)), np.ones((4, 2)), None, "X has 5 rows and Y has 4"),
        (np.zeros((5, 2)), None, None, "requires y to be passed"),
        (np.zeros((5, 2)), np.full((5, 2), 3), None, "expected only 0 and 1"),
        (np.zeros((5, 2)), np.eye(5, 2), np.zeros((5, 2)), "validation_data must be a pair"),
        (
            np.zeros((5, 2)),
            np.eye(5, 2),
            (np.zeros((5, 2)), np.eye(3, 2)),
            "validation_data: X has 5 rows and Y",
        ),
        (np.zeros((5, 2)), np.eye(5, 2), (np.zeros((5, 2)), np.eye(5, 3)), "_data: Y has shape"),
    ],
)
def test_data_is_refused_before_any_fit(X, Y, validation, message) -> None:
    with pytest.raises(DataError, match=message):
        StructuredClassifier(Unfit()).fit(X, Y, validation_data=validation)


def test_a_base_of_one_label_is_told_what_to_be_wrapped_in(data) -> None:
    rule = re.escape("LogisticRegression cannot be fitted on 3 labels")
    with pytest.raises(DataError, match=f"{rule}.*OneVsRestClassifier or MultiOutputClassifier"):
        quick(LogisticRegression()).fit(*data)
    with pytest.raises(DataError, match="no label varies"):
        quick().fit(data[0], np.ones((80, 2), dtype=int))


class Broken(DummyClassifier):
    def predict_proba(self, X: Any) -> Any:
        return self.answer(np.asarray(X).shape[0])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.full((n, 3), 1.5), "must be from 0 to 1"),
        (lambda n: np.full((n, 3), np.nan), "must be from 0 to 1"),
        (lambda n: np.full((n, 2), 0.5), r"gives \(.*, 2\); expected a column"),
        (lambda n: [np.full((n, 2), 0.5)] * 4, r"gives \(.*, 4\); expected a column"),
    ],
)
def test_what_is_no_probability_is_refused(data, answer, message) -> None:
    class Answers(Broken):
        pass

    Answers.answer = staticmethod(answer)
    with pytest.raises(DataError, match=message):
        quick(Answers()).fit(*data)


def test_a_failed_fit_leaves_the_model_as_it_was(data) -> None:
    X, Y = data
    model = quick().fit(X, Y)
    before = model.predict_proba(X)
    model.set_params(folds=1)
    with pytest.raises(SettingError):
        model.fit(X, Y)
    assert np.array_equal(model.predict_proba(X), before)


def test_the_recipe_needs_a_net_that_is_given(data) -> None:
    with pytest.raises(
        SettingError, match="'residual' never trains the net 'task', which is given"
    ):
        MultiLabelClassifier(residual()).fit(*data)
