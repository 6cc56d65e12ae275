"""The commands on texts: one command from a file to labels."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import Result, one_line

from lossnet.cli import main
from lossnet.tasks.registry import tasks
from lossnet.tasks.text import load_text_splits
from lossnet.testing import write_tiny_encoder

Run = Callable[..., Result]
QUICK = [
    "--method",
    "cross-entropy",
    "--set",
    "max_epochs=40",
    "patience=40",
    "hidden=[32]",
    "batch_size=4",
]
KINDS = [
    ("crude oil rises", ["oil"]),
    ("gold mine opens", ["gold"]),
    ("oil and gold", ["gold", "oil"]),
]


def write_news(path: Path, count: int = 30, **more: object) -> Path:
    rows = ({"text": KINDS[k % 3][0], "labels": KINDS[k % 3][1], **more} for k in range(count))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file for each part, and a model trained on it."""
    base = tmp_path_factory.mktemp("text")
    for part, count in (("training", 30), ("dev", 9), ("test", 6)):
        write_news(base / "news" / f"news_{part}.jsonl", count)
    out = ["--out", str(base / "model"), *QUICK, "--quiet"]
    assert main(["train", str(base / "news"), *out]) == 0
    return base


def test_recognised_by_jsonl(tmp_path: Path, folder: Path) -> None:
    def told(source: Path) -> str:
        return next(task.name for task in tasks() if task.recognises(str(source)))

    assert told(folder / "news") == told(tmp_path / "a.jsonl.gz") == "text"
    (tmp_path / "a.csv").write_text("text,labels\na,b\n")
    assert told(tmp_path / "a.csv") == "multilabel"


def test_train_evaluate_predict(lossnet: Run, folder: Path) -> None:
    model, news = folder / "model", folder / "news"
    report = json.loads(lossnet("evaluate", model, news, "--json").out)
    assert (report["split"], report["texts"]) == ("test", 6)
    assert report["metrics"] == json.loads((model / "metrics.json").read_text())["test"]
    assert report["metrics"]["as predicted"]["example-f1"] == 1.0
    lines = lossnet("predict", model, news / "news_test.jsonl", "--proba").out.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["labels"] for row in rows] == [labels for _, labels in KINDS] * 2
    assert set(rows[0]["probabilities"]) == {"gold", "oil"}
    assert lossnet("predict", model, news, "--out", folder / "out.csv").code == 0
    assert (folder / "out.csv").read_text().startswith("row,label:gold,label:oil\n0,0,1\n")
    assert "trained on these texts" in lossnet("evaluate", model, news, "--split", "train").err


@pytest.mark.parametrize("as_json", [False, True])
def test_predicts_lines_from_a_pipe(
    lossnet: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    texts = ["crude oil rises", "", "gold mine opens"]
    lines = [json.dumps({"text": text}) if as_json else text for text in texts]
    stream = io.TextIOWrapper(io.BytesIO("\n".join(lines).encode()))
    monkeypatch.setattr("sys.stdin", stream)
    found = [
        json.loads(line) for line in lossnet("predict", folder / "model", "-").out.splitlines()
    ]
    assert [row["row"] for row in found] == [0, 1, 2]
    assert (found[0]["labels"], found[2]["labels"]) == (["oil"], ["gold"])


def test_predicts_a_text_file_and_unlabelled_rows(
    lossnet: Run, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("gold mine opens\n")
    (tmp_path / "a.jsonl").write_text('{"text": "gold mine opens"}\n')
    (tmp_path / "a.csv").write_text("id,text\n1,gold mine opens\n")
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"text\ngold mine opens\n"))
    for name in ("a.txt", "a.jsonl", "a.csv", "a.tsv.gz"):
        out = lossnet("predict", folder / "model", tmp_path / name).out
        assert json.loads(out) == {"row": 0, "labels": ["gold"]}
    message = one_line(lossnet("evaluate", folder / "model", tmp_path / "a.jsonl"))
    assert "no column of labels" in message
    assert "is for predict" in one_line(lossnet("evaluate", folder / "model", "-"))
    (tmp_path / "empty.txt").write_text("")
    assert "is empty" in one_line(lossnet("predict", folder / "model", tmp_path / "empty.txt"))


def test_describe(lossnet: Run, folder: Path) -> None:
    text = lossnet("describe", folder / "news", "--top", "1").out
    for line in (
        "texts        45 (30 train, 9 validation, 6 test)",
        "labels       2",
        "row  words  characters  begins\n  0      3          15  crude oil rises\n\n",
        "commonest labels\nlabel  rows   share\ngold     30  66.7 %\n",
    ):
        assert line in text


def test_columns_of_tables(lossnet: Run, tmp_path: Path) -> None:
    rows = "".join(f"{text}\t{'|'.join(labels)}\n" for text, labels in KINDS * 7)
    (tmp_path / "a.tsv").write_text(rows)
    columns = ["--text-column", "0", "--label-column", "1", "--label-delimiter", "|"]
    model = tmp_path / "m"
    result = lossnet(
        "train", tmp_path / "a.tsv", "--task", "text", *columns, *QUICK, "--out", model
    )
    assert result.out.startswith("a: 13 train, 4 validation, 4 test texts, 2 labels; ")
    # Evaluation reads the columns as training did.
    assert (
        json.loads(lossnet("evaluate", model, tmp_path / "a.tsv", "--json").out)["split"] == "test"
    )
    (tmp_path / "b.csv").write_text("body,topics\ncrude oil,oil\n")
    columns = ["--text-column", "body", "--label-column", "topics"]
    assert lossnet("evaluate", model, tmp_path / "b.csv", *columns).code == 0
    columns = ["--text-column", "body", "--label-column", "topic", "--task", "text"]
    message = one_line(lossnet("describe", tmp_path / "b.csv", *columns))
    assert "no column named 'topic': its columns are 'body', 'topics'" in message
    message = one_line(lossnet("describe", "ising", "--text-column", "body"))
    assert "--text-column is an option for the task text" in message


def test_labels_that_training_never_saw(lossnet: Run, folder: Path, tmp_path: Path) -> None:
    strange = write_news(tmp_path / "strange.jsonl", 4, labels=["oil", "tin"])
    result = lossnet("evaluate", folder / "model", strange, "--json")
    assert "training never saw the label 'tin' (4 of 4 texts)" in result.err
    assert json.loads(result.out)["metrics"]["at 0.5"]["subset-accuracy"] == 0.0
    news = folder / "news" / "news_training.jsonl"
    out = ["--out", tmp_path / "m", *QUICK]
    told = lossnet("train", news, "--validation", strange, "--test", strange, *out).out
    assert "note: validation: training never saw the label 'tin'" in told
    assert "note: test: training never saw" in told


def test_parts_of_a_folder_with_other_labels(lossnet: Run, tmp_path: Path) -> None:
    train = write_news(tmp_path / "news" / "train.jsonl", 30)
    train.write_text(train.read_text() + '{"text": "brass", "labels": ["brass"]}\n')
    write_news(tmp_path / "news" / "dev.jsonl", 9)
    write_news(tmp_path / "news" / "test.jsonl", 3, text="crude oil rises", labels=["aaa", "oil"])
    parts = load_text_splits(tmp_path / "news")
    assert parts.validation is not None
    assert parts.test is not None
    assert parts.validation.label_names == ["brass", "gold", "oil"]
    assert parts.test.label_names == ["brass", "gold", "oil", "aaa"]
    result = lossnet("train", tmp_path / "news", *QUICK, "--out", tmp_path / "m")
    assert result.code == 0, result.err
    found = json.loads((tmp_path / "m" / "metrics.json").read_text())
    assert found["validation"]["at 0.5"]["example-f1"] == 1.0
    assert found["test"]["at 0.5"]["example-f1"] == pytest.approx(2 / 3)


def test_compare(lossnet: Run, folder: Path, tmp_path: Path) -> None:
    methods = ["--methods", "cross-entropy,seal-nce", "--seeds", "1", "--quiet"]
    methods += ["--baselines", "logistic-regression"]
    out = ["--out", tmp_path / "report", "--set", "max_epochs=1", "hidden=[4]"]
    assert lossnet("compare", folder / "news", *methods, *out).code == 0


def test_an_encoder(
    lossnet: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOSSNET_CACHE", str(tmp_path / "cache"))
    encoder = write_tiny_encoder(tmp_path / "encoder")
    settings = ["--set", f"encoder={encoder}", "max_length=5", "max_epochs=1", "hidden=[4]"]
    for training in ("frozen", "lora"):
        model = tmp_path / training
        out = [*settings, f"encoder_training={training}", "--out", model]
        trained = lossnet("train", folder / "news", *out)
        cut = "note: 30 of 30 texts cut to 5 sub-words, which leaves out "
        assert cut in trained.err
        shown = lossnet("predict", model, folder / "news" / "news_test.jsonl")
        assert "lossnet: note: 6 of 6 texts cut to 5 sub-words" in shown.err
        assert len(shown.out.splitlines()) == 6
        assert "6 of 6 texts cut" in lossnet("evaluate", model, folder / "news").err
    settings[1], out = f"encoder={tmp_path / 'frozen'}", ["--out", tmp_path / "other"]
    message = one_line(lossnet("train", folder / "news", *settings, *out))
    assert "has no model_type" in message
