"""SequenceTagger: every method tags, padding changes nothing, folders and bad input."""

import numpy as np
import pytest
from sklearn.base import clone

from lossnet import SequenceTagger
from lossnet.data.vectors import WordVectors
from lossnet.errors import DataError, SettingError
from lossnet.recipes import methods_for
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tags import Span

RNG = np.random.default_rng(0)
NAMES = {"B-PER": ["Ann", "Bob"], "B-LOC": ["Rome", "Oslo"], "O": ["saw", "the", "to", "went"]}


def corpus(count: int, seed: int = 0) -> SequenceData:
    """Sentences whose tags follow from the word, and an I- tag after a B- tag before 'Jr'."""
    rng = np.random.default_rng(seed)
    tokens, tags = [], []
    for _ in range(count):
        sentence, row = [], []
        for _ in range(int(rng.integers(2, 7))):
            tag = str(rng.choice(list(NAMES)))
            sentence.append(str(rng.choice(NAMES[tag])))
            row.append(tag)
            if tag == "B-PER" and rng.random() < 0.5:
                sentence.append("Jr")
                row.append("I-PER")
        tokens.append(sentence)
        tags.append(row)
    return SequenceData(tokens, tags)


TRAIN, TEST = corpus(80), corpus(40, seed=1)
SMALL = {
    "chars": False,
    "hidden": 12,
    "word_width": 12,
    "batch_size": 8,
    "dropout": 0.0,
    "random_state": 0,
}


def tagger(method: str = "cross-entropy", **settings) -> SequenceTagger:
    return SequenceTagger(method, **{**SMALL, "max_epochs": 12, **settings})


@pytest.fixture(scope="module")
def fitted() -> SequenceTagger:
    return tagger().fit(TRAIN)


@pytest.mark.parametrize("method", ["cross-entropy", "crf", "ssvm", "infnet-plus", "seal-nce"])
def test_learns(method) -> None:
    rates = (
        {"energy_optimiser": {"lr": 1e-2}}
        if method in ("crf", "ssvm")
        else {"task_optimiser": {"lr": 1e-2}}
    )
    model = tagger(method, method_params=rates).fit(TRAIN)
    assert model.score(TEST) > 0.97
    found = model.predict_spans([["Ann", "Jr", "saw", "Rome"]])
    assert found == [[Span("PER", 0, 2), Span("LOC", 3, 4)]]


@pytest.mark.parametrize("method", methods_for(SequenceTagger.provides - {"reward"}))
def test_every_method_runs(method) -> None:
    model = tagger(method, max_epochs=1).fit(TRAIN.subset(range(16)), validation_data=TEST)
    tags = model.predict(TEST)
    assert [len(row) for row in tags] == [len(row) for row in TEST.tokens]
    assert {tag for row in tags for tag in row} <= set(model.tags_)
    for proba in model.predict_proba(TEST.tokens[:3]):
        assert proba.shape[1] == len(model.tags_)
        np.testing.assert_allclose(proba.sum(1), 1.0, atol=1e-4)


@pytest.mark.parametrize("energy", ["forward", "both", "both+words"])
def test_global_energies_are_trained(energy) -> None:
    model = tagger("infnet-plus", max_epochs=2, global_energy=energy).fit(TRAIN)
    parts = {"forward": 2, "both": 3, "both+words": 5}[energy]
    assert len(model.nets_["energy"].parts) == parts
    assert np.isfinite(model.history_[-1]["loss/energy"])


def test_other_sentences_of_a_batch_change_no_prediction(fitted) -> None:
    together = fitted.predict_proba(TEST)
    for row, tokens in enumerate(TEST.tokens[:5]):
        (alone,) = fitted.predict_proba([tokens])
        np.testing.assert_allclose(alone, together[row], atol=1e-6)


def test_features_reach_the_net() -> None:
    """The tag is in a column, in the case or in the letters alone."""
    words = [["x" + str(n) for n in RNG.integers(0, 10**6, size=4)] for _ in range(60)]
    column = [[str(v) for v in RNG.integers(0, 2, size=4)] for _ in words]
    with_column = tagger(method_params={"task_optimiser": {"lr": 1e-2}})
    with_column.fit(words, column, columns={"pos": column})
    assert with_column.score(words, column, columns={"pos": column}) > 0.99
    with pytest.raises(DataError, match=r"trained with .'pos'., got none"):
        with_column.predict(words)
    cased = [
        [w.upper() if v == "1" else w for w, v in zip(*r, strict=True)]
        for r in zip([["ab", "cd", "ef", "gh"]] * 60, column, strict=True)
    ]
    blind = tagger(method_params={"task_optimiser": {"lr": 1e-2}}, case=False).fit(cased, column)
    seeing = tagger(method_params={"task_optimiser": {"lr": 1e-2}}, case=True).fit(cased, column)
    assert seeing.score(cased, column) > 0.99 > blind.score(cased, column)
    spelt = [
        [w + ("s" if v == "1" else "t") for w, v in zip(*r, strict=True)]
        for r in zip(words, column, strict=True)
    ]
    letters = tagger(method_params={"task_optimiser": {"lr": 1e-2}}, chars=True, max_epochs=25).fit(
        spelt, column
    )
    assert letters.score(spelt, column) > 0.95


def test_coverage_of_vectors_is_told_before_training(tmp_path, capsys) -> None:
    sentences, tags = [["The", "dog", "saw", "the", "cat"]] * 4, [list("DNVDN")] * 4
    vectors = WordVectors(["the", "dog", "sea"], np.eye(3, dtype=np.float32))
    model = tagger(vectors=vectors, max_epochs=1, verbose=1).fit(sentences, tags)
    assert model.vector_coverage_ == (0.6, 0.6)
    said = "word vectors cover 60.0 % of the training tokens, 60.0 % of the words\n"
    assert capsys.readouterr().err.startswith(said)
    model.save(tmp_path / "model")
    again = SequenceTagger.load(tmp_path / "model", vectors=vectors)
    assert again.vector_coverage_ == (0.6, 0.6)
    cased = tagger(vectors=vectors, max_epochs=1, lowercase=False).fit(sentences, tags)
    assert cased.vector_coverage_ == (0.4, 0.4)
    assert tagger(max_epochs=1).fit(sentences, tags).vector_coverage_ is None


def test_vectors_know_words_that_training_never_saw() -> None:
    vectors = WordVectors(
        ["Ann", "Eve", "Rome", "Bonn", "saw"],
        np.array([[1, 0], [1, 0.1], [-1, 0], [-1, 0.1], [0, 3]], dtype=np.float32),
    )
    sentences = [["Ann", "saw", "Rome"], ["Rome", "saw", "Ann"]] * 20
    tags = [["P", "O", "L"], ["L", "O", "P"]] * 20
    model = tagger(
        vectors=vectors, fixed_vectors=True, method_params={"task_optimiser": {"lr": 1e-2}}
    )
    assert model.fit(sentences, tags).predict([["Eve", "saw", "Bonn"]]) == [["P", "O", "L"]]


def test_scikit_learn_manners_and_folders(fitted, tmp_path) -> None:
    again = clone(fitted).set_params(method__task_optimiser__lr=1e-3, hidden=4)
    assert again.get_params()["hidden"] == 4
    assert not hasattr(again, "nets_")
    for method in ("cross-entropy", "infnet-plus", "crf"):
        model = tagger(method, max_epochs=1).fit(TRAIN)
        loaded = SequenceTagger.load(model.save(tmp_path / method))
        assert loaded.predict(TEST) == model.predict(TEST)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: tagger().fit([["a"]], [["X", "Y"]]), DataError, "tags"),
        (lambda: tagger().fit([], []), DataError, "no sentences"),
        (lambda: tagger().fit([["a"]]), DataError, "has no tags"),
        (lambda: tagger("crff").fit(TRAIN), SettingError, "did you mean 'crf'"),
        (lambda: tagger(metric="f2").fit(TRAIN), SettingError, "metric"),
        (lambda: tagger(hidden=0).fit(TRAIN), SettingError, "hidden must be .*got 0"),
        (lambda: tagger(vectors="no.txt").fit(TRAIN), DataError, "no file of word vectors"),
        (
            lambda: tagger("crf", global_energy="both").fit(TRAIN),
            SettingError,
            "'crf' is exact, which a global energy is not",
        ),
    ],
)
def test_bad_input(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


def test_sizes_may_be_numpy_integers() -> None:
    sizes = {name: np.int32(SMALL[name]) for name in ("hidden", "word_width", "batch_size")}
    settings = {"max_epochs": 1, "global_energy": "forward"}
    one, two = (tagger("infnet", **settings, **given).fit(TRAIN) for given in ({}, sizes))
    assert one.predict(TEST) == two.predict(TEST)
