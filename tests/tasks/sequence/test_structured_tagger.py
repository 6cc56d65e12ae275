"""StructuredTagger: the joint it learns, its cross-fitting, and its place in scikit-learn."""

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

from lossnet import Optimiser, SequenceTagger, StructuredTagger
from lossnet.errors import DataError, SettingError
from lossnet.recipes import residual
from lossnet.tasks.decision import Decision
from lossnet.tasks.sequence import SequenceData, token_accuracy


def words(**params: Any) -> Any:
    return make_pipeline(DictVectorizer(), LogisticRegression(**params))


def quick(base: Any = None, **params: Any) -> StructuredTagger:
    settings = {"max_epochs": 2, "random_state": 0}
    return StructuredTagger(words() if base is None else base, **{**settings, **params})


@pytest.fixture(scope="module")
def data() -> tuple[list[Any], list[Any]]:
    """Words of which most tell the tag, and every other tag is the same as the one before."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(40):
        tags = np.repeat(rng.choice(["A", "B", "C"], size=3), 2)[: rng.integers(1, 7)]
        seen = np.where(rng.random(len(tags)) < 0.6, tags, "?")
        X.append([{"word": word} for word in seen.tolist()])
        y.append(tags.tolist())
    return X, y


@pytest.fixture(scope="module")
def fitted(data) -> StructuredTagger:
    return quick(max_epochs=20).fit(*data)


# The joint -------------------------------------------------------------------------------------


def enumerated(model: StructuredTagger, sentence: Any) -> tuple[list[Any], np.ndarray]:
    """All taggings of a sentence and p(y|x) ∝ q(y|x) exp(-E) of each, by what users can ask."""
    every = list(itertools.product(model.tags_, repeat=len(sentence)))
    q = model.predict_proba([sentence])[0].astype(float)
    number = {tag: k for k, tag in enumerate(model.tags_)}
    log_q = [sum(np.log(q[t, number[tag]]) for t, tag in enumerate(tags)) for tags in every]
    log_p = np.array(log_q) - model.energy([sentence] * len(every), every)
    return every, np.exp(log_p - np.logaddexp.reduce(log_p))


def test_marginals_and_mode_of_the_joint_equal_enumeration(data, fitted) -> None:
    X = [sentence for sentence in data[0] if len(sentence) <= 4][:6]
    modes = fitted.model_._decode(
        fitted.model_._decide(Decision("mode", weight=1.0), given(fitted, X))
    )
    for sentence, marginals, mode in zip(X, fitted.marginals(X), modes, strict=True):
        every, p = enumerated(fitted, sentence)
        assert tuple(mode) == every[p.argmax()]
        found = np.zeros_like(marginals)
        for tags, share in zip(every, p, strict=True):
            for t, tag in enumerate(tags):
                found[t, fitted.tags_.index(tag)] += share
        assert marginals == pytest.approx(found, abs=1e-5)


def given(model: StructuredTagger, X: Any) -> Any:
    return model._ready(X)[1]


def test_the_gain_is_what_enumeration_gives(data, fitted) -> None:
    pairs = [(s, tags) for s, tags in zip(*data, strict=True) if len(s) <= 3]
    gains = []
    for sentence, tags in pairs:
        every, p = enumerated(fitted, sentence)
        q = fitted.predict_proba([sentence])[0].astype(float)
        log_q = sum(np.log(q[t, fitted.tags_.index(tag)]) for t, tag in enumerate(tags))
        gains.append(np.log(p[every.index(tuple(tags))]) - log_q)
    gain = fitted.structure_gain(*zip(*pairs, strict=True))
    assert gain.exact
    assert gain.nats == pytest.approx(np.mean(gains), abs=1e-5)


def test_the_joint_of_tags_is_learnt_around_a_base_that_knows_their_shares_alone() -> None:
    rng = np.random.default_rng(0)
    step = np.array([[0.8, 0.15, 0.05], [0.1, 0.2, 0.7], [0.3, 0.6, 0.1]])
    first = np.array([0.5, 0.2, 0.3])
    every = np.array(list(itertools.product(range(3), repeat=3)))
    p = np.array([first[a] * step[a, b] * step[b, c] for a, b, c in every])
    y = np.array(list("ABC"))[every[rng.choice(27, size=2000, p=p)]].tolist()
    # All tokens alike but for their place, so that q is the share of each tag there.
    X = [np.eye(3)] * 2000
    fast = residual(samples=None, energy_optimiser=Optimiser(2e-2, plateau=3))
    settings = {"random_state": 0, "batch_size": 64, "max_epochs": 15, "folds": 2}
    model = StructuredTagger(LogisticRegression(C=1e3), method=fast, **settings).fit(X, y)
    found = enumerated(model, X[0])[1]
    assert found == pytest.approx(p, abs=0.02)
    q = model.predict_proba(X[:1])[0]
    assert np.abs(q[0, every[:, 0]] * q[1, every[:, 1]] * q[2, every[:, 2]] - p).max() > 0.05
    assert model.marginals(X[:1])[0] == pytest.approx(q, abs=0.02)


def test_ranking_against_samples_learns_the_same_direction(data, fitted) -> None:
    X, y = data
    ranked = quick(method=residual(samples=20), max_epochs=20).fit(X, y)
    assert np.corrcoef(ranked.energy(X, y), fitted.energy(X, y))[0, 1] > 0.9


def test_neighbours_that_agree_are_worth_more_than_the_base(data) -> None:
    X, y = data
    model = StructuredTagger(words(), folds=2, random_state=0, max_epochs=40).fit(
        X * 3, y * 3, validation_data=data
    )
    before = model.set_params(decode="argmax").score(X, y)
    model.set_params(decode="auto")
    assert model.decision_.weight > 0
    assert model.score(X, y) > before + 0.05
    assert model.score(X, y) == pytest.approx(token_accuracy(y, model.predict(X)))


def test_without_dependence_the_base_decides_alone() -> None:
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(5, 2)) for _ in range(60)]
    y = [np.where(x[:, 0] + rng.normal(size=5) > 0, "A", "B").tolist() for x in X]
    model = StructuredTagger(LogisticRegression(), random_state=0, max_epochs=20).fit(X, y)
    own = LogisticRegression().fit(np.concatenate(X), np.concatenate(y))
    assert model.decision_.rule == "argmax"
    assert model.predict(X) == [own.predict(x).tolist() for x in X]
    floor = 0.5 / 301  # half a token in all
    raised = np.maximum(own.predict_proba(np.concatenate(X)), floor)
    proba = np.concatenate(model.predict_proba(X))
    assert proba == pytest.approx(raised / raised.sum(1, keepdims=True), abs=1e-5)


@pytest.mark.parametrize("metric", ["span-f1", "strict-span-f1"])
def test_spans_follow_the_scheme_and_are_never_worse_than_the_base_on_validation(metric) -> None:
    rng = np.random.default_rng(0)
    kinds = [["B-P", "I-P"], ["O"], ["B-L"], ["O", "O"]]
    y = [[tag for k in rng.integers(0, 4, size=3) for tag in kinds[k]] for _ in range(40)]
    X = [[{"word": tag[-1] if rng.random() < 0.7 else "?"} for tag in tags] for tags in y]
    model = quick(metric=metric, max_epochs=10).fit(X, y, validation_data=(X, y))
    tried = model.decision_.tried
    assert tried[model.decision_.rule] >= tried["argmax"]
    follows = {"I-P": {"B-P", "I-P"}}
    for tags in model.predict(X):
        for before, after in itertools.pairwise(["O", *tags]):
            assert before in follows.get(after, {before})
    found = model.predict_spans(X)
    assert {span.type for row in found for span in row} <= {"P", "L"}
    assert model.set_params(follow_scheme=False, decode="argmax").score(X, y) <= 1.0


def test_spans_of_plain_tags_are_decided_by_the_most_probable_sequence(data) -> None:
    X, y = data
    model = quick(metric="span-f1", max_epochs=40, folds=2).fit(X * 3, y * 3, validation_data=data)
    assert model.decision_.rule == "mode"
    before = model.set_params(decode="argmax").score(X, y)
    assert model.set_params(decode="auto").score(X, y) > before + 0.05


# Cross-fitting ---------------------------------------------------------------------------------


class Remembers(BaseEstimator):
    """Certain of the tokens it was fitted on, by their number; undecided elsewhere."""

    def fit(self, X: Any, y: Any) -> Remembers:
        self.classes_ = np.unique(y)
        self.seen_ = {int(np.ravel(x)[0]): tag for x, tag in zip(X, y, strict=True)}
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        even = np.full(len(self.classes_), 1 / len(self.classes_))
        rows = [self.seen_.get(int(np.ravel(x)[0])) for x in X]
        return np.stack([even if tag is None else self.classes_ == tag for tag in rows]).astype(
            float
        )


class RemembersSentences(BaseEstimator):
    """The same of sentences, as sklearn-crfsuite gives probabilities."""

    def fit(self, X: Any, y: Any) -> RemembersSentences:
        self.base_ = Remembers().fit(*(list(itertools.chain(*rows)) for rows in (X, y)))
        return self

    def predict_marginals(self, X: Any) -> list[list[dict[str, float]]]:
        names = self.base_.classes_.tolist()
        found = [self.base_.predict_proba(sentence) for sentence in X]
        return [[dict(zip(names, row.tolist(), strict=True)) for row in rows] for rows in found]


def numbered(sentences: int = 30) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(0)
    ends = np.cumsum(rng.integers(1, 5, size=sentences))
    X = [[[float(n)] for n in range(a, b)] for a, b in itertools.pairwise([0, *ends.tolist()])]
    return X, [rng.choice(["A", "B"], size=len(x)).tolist() for x in X]


@pytest.mark.parametrize("base", [Remembers(), RemembersSentences()], ids=["tokens", "sentences"])
@pytest.mark.parametrize("folds", [2, 5])
def test_no_sentence_has_probabilities_of_a_base_that_saw_it(base, folds: int) -> None:
    X, y = numbered()
    model = quick(base, folds=folds).fit(X, y)
    assert all((proba == 0.5).all() for proba in model.out_of_fold_)
    assert [proba.shape for proba in model.out_of_fold_] == [(len(x), 2) for x in X]
    assert np.bincount(model.folds_).tolist() == [30 / folds] * folds
    # The base that predicts has seen them all.
    proba = np.concatenate(model.predict_proba(X))
    assert (proba.argmax(1) == (np.concatenate(y) == "B")).all()
    assert proba.max(1) == pytest.approx(np.ones(len(proba)), abs=0.01)


def test_sentences_of_one_document_are_in_one_fold() -> None:
    X, y = numbered()
    names = [f"document {k // 5}" for k in range(30)]
    model = quick(Remembers(), folds=3).fit(X, y, groups=names)
    assert all(len(set(model.folds_[k : k + 5])) == 1 for k in range(0, 30, 5))
    assert np.bincount(model.folds_).tolist() == [10, 10, 10]
    with pytest.raises(DataError, match=r"of 6 groups \(documents\), fewer than folds=7"):
        quick(Remembers(), folds=7).fit(X, y, groups=names)
    with pytest.raises(DataError, match="29 groups for 30 sentences"):
        quick(Remembers()).fit(X, y, groups=names[1:])


def test_validation_sentences_are_judged_by_the_base_of_all_sentences() -> None:
    X, y = numbered()
    model = quick(Remembers()).fit(X[:20], y[:20], validation_data=(X[20:], y[20:]))
    assert len(model.out_of_fold_) == 20
    assert len(model.bases_[0].seen_) == sum(map(len, X[:20]))


def test_a_tag_that_a_fold_lacks_has_no_probability_but_the_floor(data) -> None:
    X, y = data
    rare = [["D", *y[0][1:]], *y[1:]]
    model = quick().fit(X, rare)
    column = model.tags_.index("D")
    assert (model.out_of_fold_[0][:, column] == 0).all()
    assert model.model_.nets_["energy"].pairwise.shape == (4, 4)
    floor = 0.5 / (sum(map(len, y)) + 1)
    assert min(proba.min() for proba in model.predict_proba(X)) > 0.9 * floor


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
