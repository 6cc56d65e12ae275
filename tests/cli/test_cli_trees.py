"""The commands on bracketed trees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import SMALL_TAGGER, Result, one_line, write_ner

from lossnet import SequenceTagger
from lossnet.data.brackets import parse_trees
from lossnet.tasks.sequence import bracket_scores, read_trees

Run = Callable[..., Result]
TREE = "(TOP (S (NP (DT the) (NN {0})) (VP (VBZ {1})) (. .)))\n"
TREES = [TREE.format(noun, verb) for noun in ("dog", "cat") for verb in ("runs", "eats")] * 4


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """A folder of trees; the test part has a label that training lacks."""
    folder = tmp_path / "trees"
    folder.mkdir()
    texts = {"train": TREES, "dev": TREES[:4], "test": [*TREES[:3], "(TOP (FRAG (NN rain)))\n"]}
    for part, lines in texts.items():
        (folder / f"{part}.trees").write_text("".join(lines), encoding="utf-8")
    return folder


@pytest.fixture
def model(lossnet: Run, trees: Path, tmp_path: Path) -> Path:
    result = lossnet("train", trees, "--task", "sequence", "--out", tmp_path / "m", *SMALL_TAGGER)
    assert result.code == 0, result.err
    return tmp_path / "m"


def test_train_and_evaluate_report_brackets(lossnet: Run, trees: Path, model: Path) -> None:
    test = read_trees(trees / "test.trees")
    scores = bracket_scores(test.trees, SequenceTagger.load(model).predict_trees(test))
    found = json.loads((model / "metrics.json").read_text())["test"]
    assert found["all"]["bracket-f1"] == scores.f1
    assert found["all"]["exact-trees"] == scores.exact
    assert found["type:NP"]["recall"] == scores.types["NP"].recall
    result = lossnet("evaluate", model, trees / "test.trees")
    assert result.code == 0, result.err
    assert f"{100 * scores.f1:.2f}" in result.out
    assert "never saw the tag" in result.err
    assert "their brackets are counted all the same" in result.err


def test_trees_are_known_by_their_files(lossnet: Run, trees: Path, tmp_path: Path) -> None:
    result = lossnet("train", trees, "--out", tmp_path / "m", *SMALL_TAGGER[:-1])
    assert result.code == 0, result.err
    assert "bracket-f1" in result.out


def test_describe(lossnet: Run, trees: Path) -> None:
    out = lossnet("describe", trees).out
    assert "one tree per sentence" in out
    assert "constituents" in out
    assert [line.split()[:5] for line in out.splitlines() if line.startswith("FRAG")] == [
        ["FRAG", "1", "0", "0", "1"]
    ]


def test_predictions_in_brackets(lossnet: Run, trees: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.trees"
    assert lossnet("predict", model, trees / "test.trees", "--out", out).code == 0
    expected = SequenceTagger.load(model).predict_trees(trees / "test.trees")
    assert parse_trees(out.read_text(), out) == expected
    assert expected[0].pos == ("DT", "NN", "VBZ", ".")  # those of the source
    text = tmp_path / "some.txt"
    text.write_text("THE dog ( runs ) .\n\nthe cat eats .\n", encoding="utf-8")
    assert lossnet("predict", model, text, "--out", out).code == 0
    first, empty, second = out.read_text().splitlines()
    assert "(XX -LRB-)" in first
    assert empty == ""
    assert len(parse_trees(second, out)[0].words) == 4
    rows = [json.loads(line) for line in lossnet("predict", model, text).out.splitlines()]
    assert [row["tree"] for row in rows] == [first, "", second]


def test_parts_of_speech_as_a_column(lossnet: Run, trees: Path, tmp_path: Path) -> None:
    out = tmp_path / "p"
    result = lossnet("train", trees, "--columns", "pos", "--out", out, *SMALL_TAGGER[:-1])
    assert "1 other column" in result.out
    assert lossnet("evaluate", out, trees).code == 0
    assert lossnet("predict", out, trees / "dev.trees", "--out", tmp_path / "o.trees").code == 0
    text = tmp_path / "some.txt"
    text.write_text("the dog runs .\n", encoding="utf-8")
    assert "lacks the column 'pos'" in one_line(lossnet("predict", out, text))


def test_compare(lossnet: Run, trees: Path, tmp_path: Path) -> None:
    methods = ["--methods", "cross-entropy,crf", "--seeds", "1"]
    quick = ["--set", "max_epochs=1", "hidden=8", "--quiet"]
    result = lossnet("compare", trees, *methods, "--out", tmp_path / "c", *quick)
    assert result.code == 0, result.err
    assert "bracket-f1" in result.out


def test_what_cannot_be(lossnet: Run, trees: Path, model: Path, tmp_path: Path) -> None:
    (trees / "train.trees").write_text("(S (NN a))\n(S (NN b)\n", encoding="utf-8")
    train = ["train", trees, "--out", tmp_path / "n", *SMALL_TAGGER]
    assert "train.trees, line 2: the tree that begins here" in one_line(lossnet(*train))
    other = [*train, "--scheme", "BIOES"]
    (trees / "train.trees").write_text("(S (NN a))\n", encoding="utf-8")
    assert "holds trees, which have no scheme BIOES" in one_line(lossnet(*other))
    dev, out = trees / "dev.trees", tmp_path / "o.trees"
    wrong = lossnet("predict", model, dev, "--out", out, "--proba")
    assert ".trees holds no probabilities" in one_line(wrong)
    ner = write_ner(tmp_path / "ner.conll")
    assert lossnet("train", ner, "--out", tmp_path / "ner", *SMALL_TAGGER).code == 0
    wrong = lossnet("predict", tmp_path / "ner", ner, "--out", out)
    assert "trained on IOB2 tags, not on trees" in one_line(wrong)
