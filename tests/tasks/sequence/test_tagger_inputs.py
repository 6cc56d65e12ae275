"""What SequenceTagger takes and refuses, and scikit-learn's tools on it."""

import numpy as np
import pytest
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from lossnet import SequenceTagger
from lossnet.data import WordVectors
from lossnet.errors import DataError, SettingError
from lossnet.tasks.sequence import SequenceData, token_accuracy
from lossnet.training import Trainer

SENTENCES = [["Ann", "Jr", "saw", "Rome"], ["Rome", "fell"], ["Bob", "Jr"]] * 8
TAGS = [["B-PER", "I-PER", "O", "B-LOC"], ["B-LOC", "O"], ["B-PER", "I-PER"]] * 8


def tagger(method: str = "cross-entropy", **settings) -> SequenceTagger:
    small = {"hidden": 6, "word_width": 6, "batch_size": 8, "max_epochs": 1, "random_state": 0}
    small |= {"dropout": 0.3, "chars": False}
    return SequenceTagger(method, **{**small, **settings})


@pytest.fixture(scope="module")
def fitted() -> SequenceTagger:
    return tagger().fit(SENTENCES, TAGS)


BAD = {
    "an empty sentence": (lambda: tagger().fit([["a"], []], [["X"], []]), "sentence 1 .* is empty"),
    "tags of another length": (
        lambda: tagger().fit([["a"], ["b", "c"]], [["X"], ["Y"]]),
        "sentence 1 .* has 2 tokens and 1 in tags; give one for each token",
    ),
    "too few tags": (lambda: tagger().fit(SENTENCES, TAGS[1:]), "24 sentences .* and 23 of tags"),
    "a token that is no string": (
        lambda: tagger().fit([["a", 3]], [["X", "Y"]]),
        "sentence 0 .* of tokens, token 1 is 3; expected a non-empty string",
    ),
    "a tag that is no string": (
        lambda: tagger().fit([["a", "b"]], [["X", 1]]),
        "sentence 0 .* of tags, token 1 is 1; expected a non-empty string",
    ),
    "bytes": (lambda: tagger().fit([[b"a"]], [["X"]]), "is b'a'; expected a non-empty string"),
    "sentences that are strings": (
        lambda: tagger().fit(["a b"], [["X", "Y"]]),
        "sentence 0 .* is 'a b'; give a list of strings",
    ),
    "numbers": (lambda: tagger().fit([1, 2], TAGS), "sentence 0 .* is 1; give a list of strings"),
    "nothing": (lambda: tagger().fit(None, TAGS), "tokens is None; give a list of lists"),
    "no file": (lambda: tagger().fit("no.conll"), "'no.conll' is a string, and no file"),
    "tags twice": (
        lambda: tagger().fit(SequenceData(SENTENCES, TAGS), TAGS),
        "tags are given with a SequenceData, which holds its own",
    ),
    "validation without tags": (
        lambda: tagger().fit(SENTENCES, TAGS, validation_data=SequenceData(SENTENCES)),
        "validation_data has no tags",
    ),
    "validation of sentences alone": (
        lambda: tagger().fit(SENTENCES, TAGS, validation_data=SENTENCES),
        "validation_data must be a pair of inputs and their tags, or a data set, got a list",
    ),
    "columns without names": (
        lambda: tagger().fit(SENTENCES, TAGS, columns=[TAGS]),
        "columns is a list; give a dict of columns by name",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_training_data(case) -> None:
    call, message = BAD[case]
    with pytest.raises(DataError, match=message):
        call()


BAD_VECTORS = {
    "too few numbers": (b"a 1 2\nb 1 2\nc 1\n", "line 3: 1 numbers after 'c'; expected 2"),
    "no number": (b"a 1 2\nb 1 x\n", "line 2: could not convert"),
    "NaN": (b"a 1 2\nb 1 nan\n", "line 2: the vector of 'b' holds NaN"),
    "word2vec, too few numbers": (b"2 2\na 1 2\nb 1\n", "line 3: 1 numbers after 'b'"),
    "not UTF-8": (b"a 1 2\n\xe9 1 2\n", "line 2: byte 0xe9 is not UTF-8"),
}


@pytest.mark.parametrize("case", BAD_VECTORS)
def test_bad_vectors_name_their_line(case, tmp_path) -> None:
    content, message = BAD_VECTORS[case]
    path = tmp_path / "vectors.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        tagger(vectors=path).fit(SENTENCES, TAGS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.predict([["a"], []]), "sentence 1 .* is empty"),
        (lambda m: m.predict([]), "no sentences"),
        (lambda m: m.predict("Ann saw Rome"), "'Ann saw Rome' is a string, and no file"),
        (lambda m: m.predict([["a", None]]), "is None; expected a non-empty string"),
        (lambda m: m.predict(SENTENCES, columns={"pos": TAGS}), "trained with .none., got 'pos'"),
        (lambda m: m.predict(SENTENCES, columns={"pos": TAGS[1:]}), "24 sentences .* and 23 of"),
        (lambda m: m.score(SENTENCES), "the data to score has no tags"),
    ],
)
def test_bad_data_to_predict(fitted, call, message) -> None:
    with pytest.raises(DataError, match=message):
        call(fitted)


def test_a_missing_column_is_named() -> None:
    model = tagger().fit(SENTENCES, TAGS, columns={"pos": TAGS})
    with pytest.raises(DataError, match=r"columns must be those .* trained with .'pos'., got none"):
        model.predict(SENTENCES)


def test_tags_that_training_lacks_count_as_wrong(fitted) -> None:
    other = [["B-NEW"] * len(tags) for tags in TAGS]
    assert fitted.score(SENTENCES, other) == 0.0
    half = [["B-NEW", *tags[1:]] for tags in fitted.predict(SENTENCES)]
    assert fitted.score(SENTENCES, half) == pytest.approx(1 - 24 / 64)
    with pytest.raises(DataError, match="tags absent from the training data: 'B-NEW'; correct"):
        tagger(metric="span-f1").fit(SENTENCES, TAGS, validation_data=(SENTENCES, other))


@pytest.mark.parametrize(("metric", "score"), [("span-f1", 1.0), ("strict-span-f1", 0.0)])
def test_a_span_may_begin_with_an_inside_tag(metric, score) -> None:
    tags = [["I-X"] * len(words) for words in SENTENCES]
    assert tagger(metric=metric).fit(SENTENCES, tags).score(SENTENCES, tags) == score


@pytest.mark.parametrize("method", ["crf", "infnet-plus", "seal-nce"])
def test_one_tag_alone(method) -> None:
    tags = [["X"] * len(words) for words in SENTENCES]
    assert tagger(method).fit(SENTENCES, tags).predict(SENTENCES) == tags


@pytest.mark.parametrize("method", ["infnet-plus", "crf"])
def test_a_sentence_of_5000_tokens(method) -> None:
    sentences = [*SENTENCES, ["Ann", "saw"] * 2500]
    tags = [*TAGS, ["B-PER", "O"] * 2500]
    model = tagger(method, validation_fraction=0.0, batch_size=32).fit(sentences, tags)
    found = model.predict(sentences)
    assert [len(row) for row in found] == [len(row) for row in sentences]
    # No array holds every sentence at the longest one's length.
    assert sum(proba.size for proba in model.predict_proba(sentences)) == 4 * (64 + 5000)


def test_what_counts_as_lists(fitted) -> None:
    expected = fitted.predict(SENTENCES)
    assert fitted.predict((word for word in words) for words in SENTENCES) == expected
    assert fitted.predict(np.array(SENTENCES, dtype=object)) == expected
    assert fitted.predict(tuple(np.array(words) for words in SENTENCES)) == expected
    model = tagger().fit(
        ((word for word in words) for words in SENTENCES), np.array(TAGS, dtype=object)
    )
    assert model.predict(SENTENCES) == expected
    grid = tagger().fit(np.array([["a", "b"]] * 6), np.array([["X", "Y"]] * 6))
    assert {type(tag) for tag in [*grid.tags_, *grid.predict([["a"]])[0]]} == {str}


def conll(sentences, *columns) -> str:
    rows = zip(sentences, *columns, strict=True)
    return "\n".join("".join("\t".join(c) + "\n" for c in zip(*r, strict=True)) for r in rows)


def test_files_in_place_of_lists(fitted, tmp_path) -> None:
    tagged, bare, bad = tmp_path / "train.conll", tmp_path / "new.conll", tmp_path / "bad.conll"
    tagged.write_text(conll(SENTENCES, TAGS))
    bare.write_text(conll(SENTENCES))
    model = tagger().fit(str(tagged), validation_data=tagged)
    again = tagger().fit(SENTENCES, TAGS, validation_data=(SENTENCES, TAGS))
    assert model.predict(bare) == model.predict(str(tagged)) == again.predict(SENTENCES)
    assert model.score(tagged) == model.score(SENTENCES, TAGS)
    with_column, bare_column = tmp_path / "c.conll", tmp_path / "d.conll"
    with_column.write_text(conll(SENTENCES, TAGS, TAGS))
    bare_column.write_text(conll(SENTENCES, TAGS))
    richer = tagger().fit(with_column)
    assert richer.predict(with_column) == richer.predict(bare_column)
    bad.write_bytes(b"a X\n\xe9 Y\n")
    with pytest.raises(DataError, match="line 2: byte 0xe9 is not UTF-8"):
        tagger().fit(bad)
    tuned = tagger("infnet", method_params={"tune_on": "unlabelled"})
    assert tuned.fit(tagged, unlabelled=tagged).predict(bare)


def test_cross_validation() -> None:
    model = tagger(max_epochs=8, batch_size=2, method_params={"task_optimiser": {"lr": 2e-2}})
    assert min(cross_val_score(model, SENTENCES, TAGS, cv=3)) > 0.9
    split = KFold(2, shuffle=True, random_state=0)
    scores = cross_val_score(model, SENTENCES, TAGS, cv=split, scoring=make_scorer(token_accuracy))
    assert min(scores) > 0.7


def test_grid_search_over_the_methods_parameters() -> None:
    grid = {"method__task_optimiser__lr": [1e-5, 2e-2], "hidden": [6]}
    search = GridSearchCV(tagger(max_epochs=8, batch_size=2), grid, cv=2).fit(SENTENCES, TAGS)
    assert search.best_params_ == {"method__task_optimiser__lr": 2e-2, "hidden": 6}
    assert search.predict(SENTENCES) == search.best_estimator_.predict(SENTENCES)
    with pytest.raises(SettingError, match="task_rl"):
        tagger().set_params(method__task_rl=1.0).fit(SENTENCES, TAGS)


def test_a_pipeline() -> None:
    def lower(sentences):
        return [[word.lower() for word in words] for words in sentences]

    line = make_pipeline(FunctionTransformer(lower), tagger(max_epochs=8, batch_size=2))
    line.set_params(sequencetagger__method__task_optimiser__lr=2e-2)
    assert line.fit(SENTENCES, TAGS).score(SENTENCES, TAGS) > 0.9
    assert line.predict([["ANN"]]) == line.predict([["ann"]])


PLAIN = [["author", "author", "O", "title"], ["title", "O"], ["author", "author"]] * 8


@pytest.mark.parametrize("metric", ["span-f1", "strict-span-f1"])
def test_spans_of_plain_tags_are_runs(metric) -> None:
    model = tagger(metric=metric, max_epochs=20, method_params={"task_optimiser": {"lr": 0.05}})
    model.fit(SENTENCES, PLAIN)
    assert model.scheme_ == "plain"
    assert model.score(SENTENCES, PLAIN) == 1.0
    assert model.predict_spans(SENTENCES[:1]) == [[("author", 0, 2), ("title", 3, 4)]]


MIXED = [["B-PER", "I-PER", "X", "B-LOC"], ["B-LOC", "X"], ["B-PER", "I-PER"]] * 8


def test_tags_that_mark_no_spans_are_refused_before_training(monkeypatch) -> None:
    message = r"tags with a prefix \('B-LOC'\) and without \('X'\) side by side"
    model = tagger(metric="span-f1")
    monkeypatch.setattr(Trainer, "run", lambda _: pytest.fail("it trained"))
    with pytest.raises(DataError, match=f"metric='span-f1' cannot count spans .* {message}"):
        model.fit(SENTENCES, MIXED, validation_data=(SENTENCES, MIXED))


def test_mixed_tags_have_no_spans_to_predict() -> None:
    model = tagger().fit(SENTENCES, MIXED)
    with pytest.raises(DataError, match="side by side"):
        model.predict_spans(SENTENCES)


def test_an_unknown_metric_to_score_is_named() -> None:
    model = tagger().fit(SENTENCES, TAGS).set_params(metric="bad")
    with pytest.raises(SettingError, match="unknown metric 'bad'"):
        model.score(SENTENCES, TAGS)


def test_vectors_that_are_neither_file_nor_vectors_are_refused() -> None:
    with pytest.raises(SettingError, match=r"vectors is a dict; give a file, lossnet\.data\.WordV"):
        tagger(vectors={"Ann": [1.0]}).fit(SENTENCES, TAGS)


def test_a_fit_goes_on_with_the_same_vectors_only(tmp_path) -> None:
    first, second = (WordVectors(["Ann"], [[number]]) for number in (1.0, 2.0))
    options = {"checkpoint": tmp_path / "fit.pt", "resume_from_checkpoint": True}
    tagger(vectors=first).fit(SENTENCES, TAGS, checkpoint=tmp_path / "fit.pt")
    tagger(vectors=first).fit(SENTENCES, TAGS, **options)
    with pytest.raises(DataError, match="made with other settings"):
        tagger(vectors=second).fit(SENTENCES, TAGS, **options)


def test_a_text_file_to_tag_is_refused_and_one_to_train_on_is_conll(fitted, tmp_path) -> None:
    path = tmp_path / "new.txt"
    path.write_text("Ann saw Rome\n")
    with pytest.raises(
        DataError, match=r"new\.txt' may be CoNLL or text with one sentence per line"
    ):
        fitted.predict(path)
    model = tagger("infnet", method_params={"tune_on": "unlabelled"})
    with pytest.raises(DataError, match="may be CoNLL or text"):
        model.fit(SENTENCES, TAGS, unlabelled=path)
    path.write_text("Ann B-PER\nsaw O\n\nRome B-LOC\n")
    assert 0 <= fitted.score(path) <= 1
    path.write_text("<data><ref><author>Ann Lee</author></ref></data>")
    assert len(fitted.predict(path)[0]) == 2
