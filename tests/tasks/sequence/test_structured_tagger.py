"""StructuredTagger: the joint it learns, and its cross-fitting."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from structured_taggers import in_pairs, quick, words

from lossnet import Optimiser, StructuredTagger
from lossnet.errors import DataError
from lossnet.recipes import residual
from lossnet.tasks.decision import Decision
from lossnet.tasks.sequence import token_accuracy


@pytest.fixture(scope="module")
def data() -> tuple[list[Any], list[Any]]:
    return in_pairs()


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
