"""StructuredTagger: its bases, its place in scikit-learn, and bad input."""

from __future__ import annotations

import itertools
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from structured_taggers import in_pairs, quick, words

from lossnet import SequenceTagger, StructuredTagger
from lossnet.errors import DataError, SettingError
from lossnet.tasks.sequence import SequenceData


@pytest.fixture(scope="module")
def data() -> tuple[list[Any], list[Any]]:
    return in_pairs()


@pytest.fixture(scope="module")
def fitted(data) -> StructuredTagger:
    return quick(max_epochs=20).fit(*data)


# Bases -----------------------------------------------------------------------------------------


def test_tokens_of_all_forms_give_the_same(data) -> None:
    _, y = data
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(len(tags), 2)) for tags in y]
    expected = quick(LogisticRegression()).fit(X, y).out_of_fold_
    forms = {
        "lists": [x.tolist() for x in X],
        "sparse": [sp.csr_matrix(x) for x in X],
        "frames": [pd.DataFrame(x, columns=["a", "b"]) for x in X],
    }
    for form, rows in forms.items():
        model = quick(LogisticRegression()).fit(rows, y)
        found = np.concatenate(model.out_of_fold_)
        assert found == pytest.approx(np.concatenate(expected), abs=1e-6), form
        assert list(map(len, model.predict(rows))) == list(map(len, y))


class Sentences(BaseEstimator):
    """A tagger of sentences with an array for each, whose columns are in no order."""

    def fit(self, X: Any, y: Any) -> Sentences:
        self.base_ = words().fit(*(list(itertools.chain(*rows)) for rows in (X, y)))
        self.tags_ = self.base_.classes_[::-1]
        return self

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        return [self.base_.predict_proba(sentence)[:, ::-1] for sentence in X]


def test_taggers_of_sentences_and_of_tokens_give_the_same(data) -> None:
    X, y = data
    tokens = quick().fit(X, y)
    sentences = quick(Sentences(), unit="sentence").fit(X, y)
    assert np.concatenate(sentences.out_of_fold_) == pytest.approx(
        np.concatenate(tokens.out_of_fold_)
    )
    assert sentences.predict(X) == tokens.predict(X)
    with pytest.raises(DataError, match=r"cannot be fitted on tokens .* needs unit='sentence'"):
        quick(Sentences()).fit(X, y)


def test_the_librarys_own_tagger_is_a_base() -> None:
    text = SequenceData([["Ann", "saw", "Rome"], ["Bob", "left"]] * 6,
                        [["B-P", "O", "B-L"], ["B-P", "O"]] * 6,
                        documents=[k // 2 for k in range(12)])  # fmt: skip
    base = SequenceTagger("cross-entropy", hidden=4, max_epochs=1, chars=False)
    model = quick(base, folds=2, metric="span-f1").fit(text)
    assert model.bases_[0].random_state is not None
    own = model.bases_[0].predict_proba(text)
    assert np.concatenate(model.predict_proba(text)) == pytest.approx(np.concatenate(own), abs=1e-4)
    assert model.score(text) == model.score(text.tokens, text.tags)
    with pytest.raises(DataError, match="holds its tags and documents; leave out y"):
        model.score(text, text.tags)
    with pytest.raises(DataError, match="has the columns pos, which do not reach a base"):
        model.predict(SequenceData([["Ann"]], columns={"pos": [["N"]]}))


def test_probabilities_of_several_bases_are_averaged(data) -> None:
    X, y = data
    bases = [words(), make_pipeline(DictVectorizer(), DummyClassifier(strategy="prior"))]
    both = quick(bases, folds=3).fit(X, y)
    single = [quick(base, folds=3).fit(X, y) for base in bases]
    mean = np.mean([np.concatenate(model.out_of_fold_) for model in single], axis=0)
    assert np.concatenate(both.out_of_fold_) == pytest.approx(mean)
    assert len(both.bases_) == 2


# scikit-learn ----------------------------------------------------------------------------------


def test_parameters_clone_and_search(data) -> None:
    X, y = data
    model = quick().set_params(base__logisticregression__C=0.5, folds=2)
    assert clone(model).get_params()["base__logisticregression__C"] == 0.5
    search = GridSearchCV(model, {"base__logisticregression__C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert len(search.predict(X)) == len(X)
    assert len(cross_val_score(quick(max_epochs=1, folds=2), X, y, cv=2)) == 2
    assert not hasattr(model.base[-1], "coef_")  # the base given is never fitted itself


def test_the_seed_decides_on_everything(data) -> None:
    X, y = data
    first, again, other = (quick(random_state=s).fit(X, y) for s in (1, 1, 2))
    assert np.array_equal(first.folds_, again.folds_)
    assert np.array_equal(first.energy(X, y), again.energy(X, y))
    assert not np.array_equal(first.folds_, other.folds_)


def test_pickle_works_and_save_says_so(data, fitted, tmp_path) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(data[0]) == fitted.predict(data[0])
    for model in (fitted, fitted.model_):
        with pytest.raises(SettingError, match=r"cannot (be )?store.*joblib\.dump"):
            model.save(tmp_path / "model")


def test_decisions_can_be_chosen_again(data) -> None:
    X, y = data
    model = quick(max_epochs=10).fit(X, y)
    energies, proba = model.energy(X, y), np.concatenate(model.predict_proba(X))
    model.set_params(decode="mode").tune_decision(X, y)
    assert model.decision_.rule == "mode"
    best = model.predict(X)
    model.set_params(decode="argmax")  # at once, as for the other estimators
    flat = [tag for tags in model.predict(X) for tag in tags]
    assert flat == np.array(model.tags_)[proba.argmax(1)].tolist()
    model.set_params(decode="mode").calibrate(X, y)
    assert model.predict(X) == best
    assert np.array_equal(model.energy(X, y), energies)


# Errors ----------------------------------------------------------------------------------------


class Unfit(DummyClassifier):
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Unfit:
        raise AssertionError("no base may be fitted before settings and data are checked")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"base": []}, "base must hold at least one tagger, got an empty list"),
        ({"base": None}, "base must be a tagger or a list of taggers, got None"),
        ({"base": LogisticRegression}, "base must be a tagger, such as .* got <class"),
        ({"base": LinearSVC()}, "base LinearSVC has no predict_proba; use one that has"),
        ({"base": LinearSVC(), "unit": "sentence"}, "no predict_proba or predict_marginals"),
        ({"unit": "tokens"}, "unknown unit 'tokens': did you mean 'token'"),
        ({"folds": 1}, "folds must be an integer of at least 2, got 1"),
        ({"folds": 41}, "40 sentences are fewer than folds=41"),
        ({"metric": "f1"}, "unknown metric 'f1'"),
        ({"decode": "threshold"}, "unknown decode 'threshold'"),
        ({"decode": "expected"}, "decode='expected' needs a metric of spans"),
        ({"follow_scheme": 3}, "follow_scheme must be True or False, got 3"),
        ({"method": "crf"}, "method must be a lossnet.Method whose task-net is given"),
    ],
)
def test_settings_are_refused_before_any_fit(data, params, message) -> None:
    model = StructuredTagger(**{"base": Unfit(), **params})
    with pytest.raises((SettingError, DataError), match=message):
        model.fit(*data)


T = [{"word": "a"}]


@pytest.mark.parametrize(
    ("X", "y", "validation", "message"),
    [
        ([], [], None, "holds no sentences"),
        ([T] * 4, None, None, "fit requires y"),
        ([T] * 4, [["A"]] * 3, None, "4 sentences of tokens and 3 of tags"),
        ([T] * 4, [["A"]] * 3 + [["A", "B"]], None, "sentence 3 .* has 1 tokens and 2 in tags"),
        ([T] * 3 + [[]], [["A"]] * 4, None, "sentence 3 .* is empty; remove it"),
        ([T] * 4, [["A"]] * 3 + [[None]], None, "1 tags are not known"),
        ([T] * 4, [["A"]] * 3 + [[3]], None, "token 0 is 3; expected a non-empty string"),
        ("train.conll", None, None, r"X is 'train.conll'; give a list of sentences"),
        ([T, np.array(3)], [["A"]] * 2, None, r"sentence 1 .* of X is array\(3\)"),
        ([T, "Ann left"], [["A"]] * 2, None, "sentence 1 .* of X is 'Ann left'"),
        ([T] * 4, [["A"], ["B"]] * 2, [T], "validation_data must be a pair"),
        ([T] * 4, [["A"], ["B"]] * 2, ([T], [["A", "A"]]), "validation_data: .* 1 tokens and 2"),
        ([T] * 4, [["A"], ["B"]] * 2, ([T], [["C"]]), "tags absent from the training data: 'C'"),
    ],
)
def test_data_is_refused_before_any_fit(X, y, validation, message) -> None:
    with pytest.raises(DataError, match=message):
        StructuredTagger(Unfit(), folds=2).fit(X, y, validation_data=validation)


def test_tags_that_mark_no_spans_are_refused_before_any_fit() -> None:
    with pytest.raises(DataError, match="cannot count spans in these tags"):
        StructuredTagger(Unfit(), metric="strict-span-f1").fit([T] * 4, [["B-P"], ["N"]] * 2)


def test_tokens_that_the_base_cannot_take_are_named(data) -> None:
    X = [[row["word"] for row in sentence] for sentence in data[0]]
    for base in (LogisticRegression(), words()):
        with pytest.raises(DataError, match=r"tokens such as '.' \(.*\); give each token as feat"):
            quick(base).fit(X, data[1])
    with pytest.raises(DataError, match="all tokens that the base is fitted on have the tag 'A'"):
        quick().fit(data[0], [["A"] * len(x) for x in data[0]])


class Broken(DummyClassifier):
    def predict_proba(self, X: Any) -> Any:
        return self.answer(X)


@pytest.mark.parametrize(
    ("answer", "unit", "message"),
    [
        (lambda X: np.full((len(X), 3), 0.5), "token", "at least 0 with a sum of 1"),
        (lambda X: np.full((len(X), 3), np.nan), "token", "at least 0 with a sum of 1"),
        (lambda X: np.full((len(X), 2), 0.5), "token", "gives 2 columns; expected a column for"),
        (lambda X: np.full((3, 3), 1 / 3), "token", r"gives \(3, 3\); expected an array \("),
        (lambda X: [np.ones((1, 3))] * len(X), "token", "gives a list of .* unit='sentence'"),
        (lambda X: [np.ones((len(x) + 1, 3)) for x in X], "sentence", "rows for sentence 0"),
        (lambda X: [np.ones((1, 3))], "sentence", "gives 1 outputs for 10 sentences"),
        (lambda X: [np.ones(len(x)) for x in X], "sentence", r"gives \(\d+,\); expected an array"),
    ],
)  # fmt: skip
def test_what_is_no_probability_is_refused(data, answer, unit, message) -> None:
    class Answers(Broken):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Answers:
            self.classes_ = np.array(["A", "B", "C"])
            return self

    Answers.answer = staticmethod(answer)
    with pytest.raises(DataError, match=message):
        quick(Answers(), unit=unit).fit(*data)


def test_a_failed_fit_leaves_the_model_as_it_was(data) -> None:
    X, y = data
    model = quick().fit(X, y)
    before = model.predict(X)
    with pytest.raises(SettingError):
        model.set_params(folds=1).fit(X, y)
    assert model.predict(X) == before
    with pytest.raises(DataError, match="tags absent from training have no energy: 'Z'"):
        model.energy(X[:1], [["Z"] * len(X[0])])
    assert model.score(X[:1], [["Z"] * len(X[0])]) == 0.0
    with pytest.raises(DataError, match="the tags are not known; give y"):
        model.energy(X)
    with pytest.raises(DataError, match="1 tags are not known; give y, complete"):
        model.energy(X[:1], [[None, *y[0][1:]]])
