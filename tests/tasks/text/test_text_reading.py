"""Texts in files: every format, columns by name and by number, and errors that name the line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from lossnet.errors import DataError, SettingError
from lossnet.tasks.text import TextFormat, load_text_splits, load_texts
from lossnet.tasks.text.reading import label_names, read_parts

ROWS = [("Oil, and gas", ["oil", "gas"]), ('"Gold" 3\'', []), ("Gas\n falls", ["gas"])]
JSONL = "".join(json.dumps({"id": 1, "text": t, "labels": ls}) + "\n" for t, ls in ROWS)


def check(path: Path, texts: list[str] | None = None, form: TextFormat | None = None) -> None:
    data = load_texts(path, form=form)
    assert data.texts == (texts or [text for text, _ in ROWS])
    assert data.label_names == ["gas", "oil"]
    assert data.Y.tolist() == [[1, 1], [0, 0], [1, 0]]


def test_json(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(JSONL + "\n")
    check(tmp_path / "a.jsonl")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(JSONL.encode()))
    check(tmp_path / "b.jsonl.gz")
    rows = [{"sentence": text, "label": labels} for text, labels in ROWS]
    (tmp_path / "c.json").write_text(json.dumps(rows))
    check(tmp_path / "c.json")
    rows = [{"body": text, "topics": ";".join(labels)} for text, labels in ROWS]
    (tmp_path / "d.json").write_text(json.dumps(rows))
    check(tmp_path / "d.json", form=TextFormat("body", "topics", ";"))


def test_one_label_as_a_string(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a", "label": "x, y"}\n{"text": "b", "label": "z"}')
    assert load_texts(tmp_path / "a.jsonl").label_names == ["x, y", "z"]


@pytest.mark.parametrize("labels", ["oil,gas", "oil , gas", "['oil', 'gas']", '["oil", "gas"]'])
def test_csv(tmp_path: Path, labels: str) -> None:
    quoted = labels.replace('"', '""')
    rows = f'"Oil, and gas","{quoted}"\n"""Gold"" 3\'",\n"Gas\n falls",gas\n'
    (tmp_path / "a.csv").write_text(f"text,labels\n{rows}")
    check(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text(rows)
    check(tmp_path / "b.csv", form=TextFormat(0, 1))


def test_tsv(tmp_path: Path) -> None:
    texts = ["Oil, and gas", '"Gold" 3\'', "Gas 'falls"]
    rows = "Oil, and gas\t7\toil|gas\n\"Gold\" 3'\t8\t\nGas 'falls\t9\tgas\n"
    (tmp_path / "a.tsv").write_text("sentence\tid\tlabel\n" + rows)
    check(tmp_path / "a.tsv", texts, TextFormat(delimiter="|"))
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(rows.encode()))
    check(tmp_path / "b.tsv.gz", texts, TextFormat(0, 2, "|"))
    (tmp_path / "c.tsv").write_text('text\tlabels\n"a ""b"" c"\tx\n"a" and "b"\tx\n')
    assert load_texts(tmp_path / "c.tsv").texts == ['a "b" c', '"a" and "b"']


def test_numbers_of_labels(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("gas\ntin\noil\n")
    (tmp_path / "train.tsv").write_text('"Oil\t2,0\tx\nGas"\t0\ty\nnone\t1\tz\n')
    (tmp_path / "dev.tsv").write_text("b\t2\ty\n")
    splits = load_text_splits(tmp_path)
    assert splits.train.texts == ['"Oil', 'Gas"', "none"]
    assert splits.train.label_names == ["gas", "oil", "tin"]
    assert splits.validation is not None
    assert splits.validation.label_names == ["gas", "oil", "tin"]
    assert splits.validation.Y.tolist() == [[0, 1, 0]]
    assert splits.train.notes == []
    (tmp_path / "labels.txt").unlink()
    for names in ('["gas", "tin", "oil"]', '{"oil": 2, "gas": 0, "tin": 1}'):
        (tmp_path / "labels.json").write_text(names)
        assert label_names(tmp_path) == ["gas", "tin", "oil"]
        assert load_text_splits(tmp_path).train.label_names == ["gas", "oil", "tin"]
    (tmp_path / "dev.tsv").write_text("text\tlabels\nb\t3\ty\n")
    with pytest.raises(DataError, match=r"dev\.tsv, line 2"):
        load_text_splits(tmp_path)
    (tmp_path / "dev.tsv").write_text("b\t3\ty\n")
    with pytest.raises(DataError, match="line 1: label 3, but there are names for 3"):
        load_texts(tmp_path / "dev.tsv", form=TextFormat(0, 1))


def test_a_folder_without_a_training_part(tmp_path: Path) -> None:
    for part in ("val", "test"):
        (tmp_path / f"{part}.jsonl").write_text(JSONL)
    assert len(load_texts(tmp_path)) == 6
    with pytest.raises(DataError, match="only validation, test; name the file to train on"):
        load_text_splits(tmp_path)


def test_a_test_part_may_lack_labels(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text(JSONL)
    (tmp_path / "test.jsonl").write_text('{"text": "a"}\n')
    splits = load_text_splits(tmp_path)
    assert splits.test is not None
    assert not splits.test.labelled
    (tmp_path / "train.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(DataError, match=r"no column of labels .* --label-column"):
        load_text_splits(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", '{"text": "a", "labels": ["x"]}\n{"text": ', "line 2 is not valid JSON"),
        ("a.jsonl", '{"text": "a", "labels": ["x"]}\n3', "line 2: expected an object"),
        ("a.jsonl", '{"text": "a", "labels": null}', "line 1: the labels are missing"),
        ("a.jsonl", '{"text": "a", "labels": [null]}', "line 1: None is no label"),
        ("a.jsonl", '{"text": "a", "labels": 1.5}', "line 1: the labels are 1.5"),
        ("a.jsonl", '{"text": null, "labels": ["x"]}', "line 1: the text .* is missing"),
        ("a.jsonl", '{"text": " ", "labels": ["x"]}', "line 1: the text is empty"),
        ("a.jsonl", '{"text": "a", "labels": []}', "no text has a label"),
        ("a.jsonl", '{"body": "a", "labels": ["x"]}', "no column of texts .* 'body', 'labels'"),
        ("a.jsonl", "", "is empty"),
        ("a.json", '{"text": "a"}', "must hold a list of objects"),
        ("a.csv", "text,labels\n", "a header and no rows"),
        ("a.csv", "text,labels\na\n", "line 2: 1 cells for 2 columns"),
        ("a.tsv", "text\tlabels\na\tx\ty\n", "line 2: 3 cells for 2 columns"),
        ("a.txt", "some text", "unknown kind of file"),
    ],
)
def test_damaged_files(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        load_texts(tmp_path / name)


def test_columns_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(JSONL)
    (tmp_path / "a.csv").write_text("a,x\n")
    with pytest.raises(SettingError, match="both be names or both be numbers"):
        TextFormat(0, "labels")
    with pytest.raises(SettingError, match="must not be empty"):
        TextFormat(delimiter="")
    with pytest.raises(SettingError, match="give names, not numbers"):
        load_texts(tmp_path / "a.jsonl", form=TextFormat(0, 1))
    with pytest.raises(SettingError, match="no column 2: it has 2"):
        load_texts(tmp_path / "a.csv", form=TextFormat(0, 2))
    with pytest.raises(SettingError, match="--label-column too"):
        load_texts(tmp_path / "a.csv", form=TextFormat(0))
    with pytest.raises(DataError, match="no column named 'body'"):
        load_texts(tmp_path / "a.jsonl", form=TextFormat("body"))


def test_a_long_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f'text,labels\n"{"oil " * 250_000}",x\n"a\nb",x\n')
    assert [len(text) for text in load_texts(tmp_path / "a.csv").texts] == [1_000_000, 3]


@pytest.mark.parametrize(
    ("name", "sizes", "labels"),
    [
        ("reuters21578", {"train": 7769, "test": 3019}, 90),
        ("go_emotions", {"train": 43410, "validation": 5426, "test": 5427}, 28),
        ("aapd_small", {"validation": 1000, "test": 1000}, 54),
    ],
)
def test_benchmark_sets(shared_texts: Path, name: str, sizes: dict[str, int], labels: int) -> None:
    read = read_parts(shared_texts / name, TextFormat())
    assert {part: len(data) for part, data in read.items()} == sizes
    assert len({label for data in read.values() for label in data.label_names}) == labels
