"""A tagger on bracketed trees: files, training, metric, predictions, storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lossnet import SequenceTagger
from lossnet.data.brackets import parse_trees
from lossnet.errors import DataError, SettingError
from lossnet.tasks.sequence import (
    ConllFormat,
    TreeData,
    bracket_scores,
    load_sequence_splits,
    load_sequences,
    read_trees,
    write_trees,
)
from lossnet.tasks.sequence.folders import holds_sequences

SHORT = "(TOP (S (NP (DT the) (NN {0})) (VP (VBZ barks)) (. .)))"
LONG = "(TOP (S (NP (PRP we)) (VP (VBD saw) (NP (DT a) (NN {0}))) (. .)))"
TREES = [form.format(noun) for noun in ("dog", "cat", "cow") for form in (SHORT, LONG)] * 5


def data(trees: list[str] = TREES) -> TreeData:
    return TreeData.of(parse_trees("\n".join(trees), "trees"))


def tagger(method: str = "cross-entropy", **params: Any) -> SequenceTagger:
    quick = {"hidden": 8, "max_epochs": 12, "dropout": 0.0, "batch_size": 4, "random_state": 0}
    return SequenceTagger(method, **{**quick, **params})


@pytest.fixture(scope="module")
def fitted() -> SequenceTagger:
    return tagger().fit(data())


def test_trees_are_learned(fitted: SequenceTagger) -> None:
    assert fitted.scheme_ == "trees"
    assert fitted.score(data()) == 1.0
    assert fitted.predict_trees(data()) == data().trees
    [tree] = fitted.predict_trees([["we", "saw", "a", "dog", "."]])
    assert str(tree) == LONG.format("dog").replace("PRP", "XX").replace("VBD", "XX").replace(
        "DT", "XX"
    ).replace("NN", "XX").replace("(. .)", "(XX .)")


def test_brackets_are_what_training_watches(fitted: SequenceTagger) -> None:
    other = data([SHORT.format("dog").replace("(VP", "(ADJP (VP").replace("barks)", "barks))")])
    model = tagger(max_epochs=1).fit(data(), validation_data=other)
    scores = bracket_scores(other.trees, model.predict_trees(other))
    assert model.history_[-1]["metric"] == pytest.approx(scores.f1)
    # A label that training never saw is missed, the brackets next to it count.
    assert fitted.score(other) == bracket_scores(other.trees, fitted.predict_trees(other)).f1
    assert 0.0 < fitted.score(other) < 1.0
    assert tagger(metric="accuracy").fit(data()).score(other) < 1.0


def test_punctuation_is_left_out_of_the_metric(fitted: SequenceTagger) -> None:
    moved = data([SHORT.format("dog").replace(")) (. .)", ") (. .))")])
    assert moved.tags != data([SHORT.format("dog")]).tags
    assert fitted.score(moved) == 1.0


@pytest.mark.parametrize(
    ("method", "params"),
    [("crf", {}), ("infnet-plus", {"global_energy": "forward"}), ("seal-nce", {})],
)
def test_methods(method, params) -> None:
    model = tagger(method, max_epochs=2, **params).fit(data(), validation_data=data())
    assert len(model.predict_trees(data())) == len(data())
    assert 0.0 <= model.score(data()) <= 1.0


def test_samples_are_compared_by_brackets() -> None:
    model = tagger("seal-nce", max_epochs=2, decode="samples", decode_samples=4).fit(data())
    assert model.decision_.rule in ("samples", "argmax")
    assert len(model.predict_trees(data())) == len(data())


def test_words_in_capitals_and_long_sentences(fitted: SequenceTagger) -> None:
    words = ["WE", "SAW", "A", "DOG", "(", ")"] * 100
    for model in (fitted, tagger("crf", max_epochs=1).fit(data())):
        [tree] = model.predict_trees([words])
        assert len(parse_trees(str(tree), "again")[0].words) == 600


def test_a_saved_tagger_gives_the_same_trees(fitted: SequenceTagger, tmp_path: Path) -> None:
    fitted.save(tmp_path / "m")
    model = SequenceTagger.load(tmp_path / "m")
    assert model.predict_trees(data()) == fitted.predict_trees(data())
    assert model.score(data()) == 1.0


def test_parts_of_speech_may_be_a_column(tmp_path: Path) -> None:
    file = write_trees(data().trees, tmp_path / "a.trees")
    columns = ConllFormat(columns=("pos",))
    read = load_sequences(file, conll=columns)
    assert read.columns["pos"][0] == ["DT", "NN", "VBZ", "."]
    model = tagger(max_epochs=1).fit(read)
    assert model.predict_trees(read)[0].pos == ("DT", "NN", "VBZ", ".")
    with pytest.raises(DataError, match="the column of trees is 'pos', got chunk"):
        load_sequences(file, conll=ConllFormat(columns=("chunk",)))


def test_files(tmp_path: Path, fitted: SequenceTagger) -> None:
    for part in ("train", "dev", "test"):
        write_trees(data().trees, tmp_path / f"{part}.mrg")
    assert holds_sequences(tmp_path)
    parts = load_sequence_splits(tmp_path)
    assert isinstance(parts.test, TreeData)
    assert parts.test.trees == data().trees
    whole = load_sequences(tmp_path)
    assert isinstance(whole, TreeData)
    assert whole.trees == data().trees * 3
    divided = load_sequence_splits(tmp_path / "dev.mrg")
    assert [len(part.trees) for _, part in divided.items()] == [18, 6, 6]
    assert fitted.score(tmp_path / "dev.mrg") == 1.0
    text = tmp_path / "trees.txt"  # by its first line, whatever its name
    text.write_text(TREES[0], encoding="utf-8")
    assert holds_sequences(text)
    assert fitted.predict_trees(text) == data(TREES[:1]).trees


def test_normalised_as_asked(write) -> None:
    file = write("a.trees", "(S (NP-SBJ (-NONE- *)) (VP (VB go)))\n(X (-NONE- *))\n")
    read = read_trees(file)
    assert [str(tree) for tree in read.trees] == ["(S (VP (VB go)))"]
    assert read.notes == ["1 of 2 trees hold empty elements alone: left out"]
    exact = read_trees(file, normalise=False)
    assert "".join(f"{tree}\n" for tree in exact.trees) == file.read_text()
    with pytest.raises(DataError, match=r"no tree holds a word besides empty elements"):
        read_trees(write("b.trees", "(X (-NONE- *))"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.trees is empty"),
        (b"\n \n", "a.trees is empty"),
        (b"(S (NN a))\n(S (NN b)", "a.trees, line 2: the tree that begins here is not closed"),
        (b"(S (NN a))\n(S (NN caf\xe9))", "a.trees, line 2: byte 0xe9 is not UTF-8"),
        (b"dogs\tNNS\n", "a.trees, line 1: 'dogs' is outside brackets"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.trees").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_sequences(tmp_path / "a.trees")


def test_a_subset_keeps_its_parts_of_speech() -> None:
    part = data().subset([3, 1])
    assert part.trees == [data().trees[3], data().trees[1]]
    train, held = np.array([0, 1]), np.array([2, 3])
    assert [rows.tolist() for rows in data().with_known_tags(train, held)] == [[0, 1], [2, 3]]


def test_what_does_not_suit_trees(fitted: SequenceTagger, tmp_path: Path) -> None:
    file = write_trees(data().trees, tmp_path / "a.trees")
    with pytest.raises(SettingError, match="holds trees, which have no scheme BIOES"):
        load_sequences(file, scheme="BIOES")
    with pytest.raises(DataError, match="metric='span-f1' cannot count spans"):
        tagger(metric="span-f1").fit(data())
    with pytest.raises(DataError, match="metric='bracket-f1' cannot count spans in these tags"):
        tagger(metric="bracket-f1").fit([["a", "b"]] * 9, [["N", "V"]] * 9)
    plain = tagger(max_epochs=1).fit([["a", "b"]] * 9, [["N", "V"]] * 9)
    with pytest.raises(DataError, match="the tags are plain, not those of trees; use predict"):
        plain.predict_trees([["a"]])
