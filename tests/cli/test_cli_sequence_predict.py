"""lossnet evaluate and lossnet predict on sentences."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Result, one_line, write_ner
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2

from lossnet import SequenceTagger
from lossnet.tasks.sequence import load_sequences, read_conll, spans

Run = Callable[..., Result]


def objects(result: Result) -> list[dict[str, Any]]:
    assert result.code == 0, result.err
    return [json.loads(line) for line in result.out.splitlines()]


def test_evaluates_a_part(lossnet: Run, tagger: Path, ner: Path) -> None:
    result = json.loads(lossnet("evaluate", tagger, ner, "--json").out)
    assert (result["split"], result["sentences"]) == ("test", 10)
    assert result["metrics"] == json.loads((tagger / "metrics.json").read_text())["test"]
    text = lossnet("evaluate", tagger, ner, "--split", "validation").out
    assert text.startswith(f"{ner}: the validation part's 10 sentences\n")
    assert [line.split()[0] for line in text.splitlines()[1:] if line] == [
        "metric",
        "accuracy",
        "span-precision",
        "span-recall",
        "span-f1",
        "type",
        "LOC",
        "PER",
    ]
    whole = lossnet("evaluate", tagger, ner / "test.conll", "--json")
    assert json.loads(whole.out)["metrics"] == result["metrics"]
    assert json.loads(whole.out)["split"] == "all"


def test_strict_is_seqevals(lossnet: Run, tagger: Path, tmp_path: Path) -> None:
    path = tmp_path / "odd.conll"
    path.write_text("Ann I-PER\nLee I-PER\nsaw O\nRome B-LOC\n\nBob B-PER\nsaw O\n")
    data = load_sequences(path)
    predicted = SequenceTagger.load(tagger).predict(data)
    for options, mode in (([], {}), (["--strict"], {"mode": "strict", "scheme": IOB2})):
        result = json.loads(lossnet("evaluate", tagger, path, "--json", *options).out)
        expected = f1_score(data.tags, predicted, **mode)
        assert result["metrics"]["all"]["span-f1"] == pytest.approx(expected)
        assert result.get("mode") == mode.get("mode")
    assert "counted strictly" in lossnet("evaluate", tagger, path, "--strict").out
    path.write_text("Ann I-PER\nLee I-PER\nsaw O\nRome I-LOC\n")
    assert "add --scheme IOB2" in lossnet("evaluate", tagger, path, "--strict").err
    assert not lossnet("evaluate", tagger, path, "--strict", "--scheme", "IOB2").err


def test_unknown_tags_count_as_wrong(lossnet: Run, tagger: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.conll"
    path.write_text("Ann B-CAT\nLee I-CAT\nsaw O\n\nBob B-CAT\n")
    result = lossnet("evaluate", tagger, path, "--json")
    assert "never saw the tags 'B-CAT', 'I-CAT' (3 of 4 tokens)" in result.err
    assert "counts as wrong" in result.err
    metrics = json.loads(result.out)["metrics"]
    assert metrics["all"]["accuracy"] <= 0.25
    assert metrics["type:CAT"] == {
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "spans": 2,
        "predicted": 0,
    }


def test_predicts_text(
    lossnet: Run, tagger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Ann Lee saw  Rome\n\n \t\nBob saw\tZürich\n"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    result = lossnet("predict", tagger, tmp_path / "a.txt", "--proba")
    rows = objects(result)
    assert [row["row"] for row in rows] == [0, 1, 2, 3]
    assert rows[1] == {"row": 1, "tokens": [], "tags": [], "spans": [], "probabilities": []}
    assert rows[3]["tokens"] == ["Bob", "saw", "Zürich"]
    model = SequenceTagger.load(tagger)
    sentences = [rows[0]["tokens"], rows[3]["tokens"]]
    for row, tags, proba in zip(
        (rows[0], rows[3]), model.predict(sentences), model.predict_proba(sentences), strict=True
    ):
        assert row["tags"] == tags
        chosen = [p[model.tags_.index(tag)] for p, tag in zip(proba, tags, strict=True)]
        assert row["probabilities"] == pytest.approx(chosen, abs=2e-6)
        found = [(span["type"], span["start"], span["end"]) for span in row["spans"]]
        assert found == [tuple(span) for span in spans(tags)]
        for span in row["spans"]:
            assert span["text"] == " ".join(row["tokens"][span["start"] : span["end"]])
    assert rows[0]["spans"][0]["text"] == "Ann Lee"

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert lossnet("predict", tagger, "-", "--proba").out == result.out
    out = tmp_path / "a.conll"
    assert lossnet("predict", tagger, tmp_path / "a.txt", "--out", out).code == 0
    lines = out.read_text(encoding="utf-8").split("\n")
    assert lines[:4] == ["Ann\tB-PER", "Lee\tI-PER", "saw\tO", "Rome\tB-LOC"]
    assert lines[4:7] == ["", "", ""]
    assert lines[7].startswith("Bob\t")


def test_predicts_conll_with_all_its_columns(
    lossnet: Run, pos_tagger: Path, tmp_path: Path
) -> None:
    text = "-DOCSTART- -X- O\n\nAnn N B-LOC\nsaw V B-LOC\n\n-DOCSTART- -X- O\n\nRome N B-LOC\n"
    source = tmp_path / "in.conll"
    source.write_text(text)
    given = read_conll(source, columns=["pos"])
    tags = SequenceTagger.load(pos_tagger).predict(given)
    out = tmp_path / "out.conll"
    assert lossnet("predict", pos_tagger, source, "--out", out).code == 0
    found = read_conll(out, columns=["pos"])
    assert (found.tokens, found.tags, found.columns) == (given.tokens, tags, given.columns)
    assert found.documents == [0, 1]
    # The same without tags: they are appended.
    bare = tmp_path / "bare.conll"
    bare.write_text("\n".join(line.rpartition(" ")[0] for line in text.split("\n")))
    again = tmp_path / "again.conll"
    assert lossnet("predict", pos_tagger, bare, "--out", again).code == 0
    assert again.read_text() == out.read_text()
    # Tags in another column go back to it; the probabilities stand beside the others.
    turned = tmp_path / "turned.conll"
    turned.write_text("B-LOC N Ann\nB-LOC V saw\n\nB-LOC N Rome\n")
    order = ["--token-column", "2", "--tag-column", "0", "--proba"]
    assert lossnet("predict", pos_tagger, turned, "--out", again, *order).code == 0
    back = read_conll(again, tag_column=0, token_column=2, columns=["pos", "p"])
    assert (back.tokens, back.tags) == (given.tokens, tags)
    assert all(0 < float(p) <= 1 for row in back.columns["p"] for p in row)


def test_a_folders_parts(lossnet: Run, tagger: Path, ner: Path) -> None:
    assert len(objects(lossnet("predict", tagger, ner))) == 50
    part = objects(lossnet("predict", tagger, ner, "--split", "test"))
    assert part == objects(lossnet("predict", tagger, ner / "test.conll"))
    lone = lossnet("predict", tagger, ner / "test.conll", "--split", "validation")
    assert len(objects(lone)) == 2


def test_plain_tags_have_no_spans(lossnet: Run, tmp_path: Path) -> None:
    data = write_ner(tmp_path / "pos.conll", pos=True)
    small = ["--method", "crf", "--set", "max_epochs=1", "hidden=8", "--quiet"]
    options = ["--tag-column", "1", "--columns", "none", *small]
    assert lossnet("train", data, "--out", tmp_path / "m", *options).code == 0
    (tmp_path / "a.txt").write_text("Ann saw\n")
    (row,) = objects(lossnet("predict", tmp_path / "m", tmp_path / "a.txt"))
    assert set(row) == {"row", "tokens", "tags"}
    message = one_line(lossnet("evaluate", tmp_path / "m", data, "--strict"))
    assert "these tags have no prefixes" in message


def test_a_span_metric_counts_runs_of_plain_tags(lossnet: Run, tmp_path: Path) -> None:
    data = write_ner(tmp_path / "pos.conll", pos=True)
    small = ["--method", "crf", "--set", "max_epochs=1", "hidden=8", "metric=span-f1", "--quiet"]
    options = ["--tag-column", "1", "--columns", "none", *small]
    assert lossnet("train", data, "--out", tmp_path / "m", *options).code == 0
    assert "span-f1" in lossnet("evaluate", tmp_path / "m", data).out
    (tmp_path / "a.txt").write_text("Ann saw\n")
    (row,) = objects(lossnet("predict", tmp_path / "m", tmp_path / "a.txt"))
    assert sum(span["end"] - span["start"] for span in row["spans"]) == 2


def test_columns_that_are_missing(lossnet: Run, pos_tagger: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ann saw Rome\n")
    message = one_line(lossnet("predict", pos_tagger, tmp_path / "a.txt"))
    assert "lacks the column 'pos' that the model was trained with" in message
    assert "--columns none" in message
    narrow = write_ner(tmp_path / "narrow.conll", tags=False)
    message = one_line(lossnet("predict", pos_tagger, narrow))
    assert "has 1 columns, and the training data had 3 (token, pos, tag), or 2 without" in message
    narrow = write_ner(tmp_path / "two.conll")
    told = lossnet("evaluate", pos_tagger, narrow, "--columns", "none")
    assert "lacks the column 'pos'" in one_line(told)
    message = one_line(lossnet("evaluate", pos_tagger, narrow))
    assert "had 3 (token, pos, tag), evaluation needs tags; say which is which" in message
    # Two columns are taken for tokens and parts of speech; that they are not is told.
    result = lossnet("predict", pos_tagger, narrow)
    assert "values in the column 'pos'; is it another column?" in result.err


def test_mistakes(lossnet: Run, tagger: Path, ner: Path, tmp_path: Path) -> None:
    conll = write_ner(tmp_path / "ner.txt")
    message = one_line(lossnet("predict", tagger, conll))
    assert "add --format conll, or --format text" in message
    assert len(objects(lossnet("predict", tagger, conll, "--format", "conll"))) == 30
    assert len(objects(lossnet("predict", tagger, conll, "--format", "text"))) > 90
    (tmp_path / "refs.txt").write_text("<r><a><who>Ann</who><where>Rome</where></a></r>")
    (row,) = objects(lossnet("predict", tagger, tmp_path / "refs.txt"))
    assert row["tokens"] == ["Ann", "Rome"]
    (tmp_path / "a.txt").write_bytes(b"Ann saw\nt\xe9 a\n")
    message = one_line(lossnet("predict", tagger, tmp_path / "a.txt"))
    assert "a.txt, line 2: byte 0xe9 is not UTF-8 text; save the file as UTF-8" in message
    (tmp_path / "a.txt").write_text("\n \n")
    assert "a.txt is empty" in one_line(lossnet("predict", tagger, tmp_path / "a.txt"))
    (tmp_path / "a.txt").write_text("Ann\n")
    split = lossnet("predict", tagger, tmp_path / "a.txt", "--split", "test")
    assert "text has no parts" in one_line(split)
    out = lossnet("predict", tagger, tmp_path / "a.txt", "--out", tmp_path / "a.csv")
    assert "a .jsonl file or a .conll file" in one_line(out)
    (tmp_path / "a.txt").write_text("-DOCSTART- said Ann\n")
    out = lossnet("predict", tagger, tmp_path / "a.txt", "--out", tmp_path / "a.conll")
    assert "would be read as a mark" in one_line(out)
    assert not (tmp_path / "a.conll").exists()
    assert "not a column's number" in one_line(lossnet("predict", tagger, ner, "--tag-column", "x"))
    assert "standard input is text" in one_line(
        lossnet("predict", tagger, "-", "--format", "conll")
    )
    assert "refine needs the net 'energy'" in one_line(
        lossnet("predict", tagger, ner, "--refine", "net")
    )


def test_a_tagger_saved_from_python(lossnet: Run, ner: Path, tmp_path: Path) -> None:
    data = load_sequences(ner / "train.conll")
    SequenceTagger("cross-entropy", hidden=8, max_epochs=1).fit(data).save(tmp_path / "m")
    assert lossnet("evaluate", tmp_path / "m", ner).code == 0
    assert len(objects(lossnet("predict", tmp_path / "m", ner / "test.conll"))) == 10
