"""lossnet evaluate says where it measures on what the model was trained on."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SMALL, SMALL_TAGGER, Result, write_csv

from lossnet.tasks.multilabel import load_splits
from lossnet.tasks.sequence import load_sequence_splits, write_conll

Run = Callable[..., Result]
THESE, SOME = "the model was trained on these", "the model was trained on some of these"


def told(result: Result) -> str:
    assert result.code == 0, result.err
    return SOME if SOME in result.err else THESE if THESE in result.err else ""


def test_rows(lossnet: Run, model: Path, trained_on: Path, tmp_path: Path) -> None:
    lines = trained_on.read_text().splitlines()
    train = load_splits(trained_on).train
    values = {tuple(row) for row in np.round(train.X, 4).tolist()}
    same = [line for line in lines[1:] if _cells(line) in values]
    assert len(same) == 24
    other = tmp_path / "same.csv"
    other.write_text("\n".join([lines[0], *same]) + "\n")
    turned = tmp_path / "turned.csv"
    turned.write_text(
        "\n".join(",".join(line.split(",")[::-1]) for line in [lines[0], *same]) + "\n"
    )
    for file in (other, turned):
        assert told(lossnet("evaluate", model, file)) == THESE
    assert told(lossnet("evaluate", model, trained_on, "--split", "train")) == THESE
    assert told(lossnet("evaluate", model, trained_on, "--split", "all")) == SOME
    copy = shutil.copy(trained_on, tmp_path / "copy.csv")
    assert told(lossnet("evaluate", model, copy, "--split", "all")) == SOME
    for split in ([], ["--split", "test"], ["--split", "validation"]):
        assert told(lossnet("evaluate", model, trained_on, *split)) == ""
    assert told(lossnet("evaluate", model, write_csv(tmp_path / "new.csv", seed=5))) == ""


def _cells(line: str) -> tuple[float, ...]:
    return tuple(np.round(np.float32(line.split(",")[:3]), 4).tolist())


def test_a_file_that_was_for_training_alone(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    held_out = write_csv(tmp_path / "dev.csv", seed=1)
    out = tmp_path / "model"
    assert lossnet("train", csv_file, "--validation", held_out, "--out", out, *SMALL).code == 0
    assert told(lossnet("evaluate", out, csv_file)) == THESE
    assert told(lossnet("evaluate", out, csv_file, "--split", "test")) == SOME
    assert told(lossnet("evaluate", out, held_out)) == ""


def test_sentences(lossnet: Run, tagger: Path, ner: Path, tmp_path: Path) -> None:
    copy = shutil.copy(ner / "train.conll", tmp_path / "other.conll")
    assert told(lossnet("evaluate", tagger, copy)) == THESE
    assert told(lossnet("evaluate", tagger, ner, "--split", "train")) == THESE
    assert told(lossnet("evaluate", tagger, ner, "--split", "all")) == SOME
    assert told(lossnet("evaluate", tagger, ner)) == ""
    assert told(lossnet("evaluate", tagger, ner / "test.conll")) == ""


def test_sentences_of_documents(lossnet: Run, tmp_path: Path) -> None:
    data = tmp_path / "documents.conll"
    document = "-DOCSTART- O\n\n{0} B-X\nb O\n\nc{0} O\n\n"
    data.write_text("".join(document.format(k) for k in range(20)))
    assert lossnet("train", data, "--out", tmp_path / "model", *SMALL_TAGGER).code == 0
    write_conll(load_sequence_splits(data).train, tmp_path / "train-part.conll")
    assert told(lossnet("evaluate", tmp_path / "model", tmp_path / "train-part.conll")) == THESE
    assert told(lossnet("evaluate", tmp_path / "model", data)) == ""


def test_images(lossnet: Run, segmenter: Path, pictures: Path, tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    copy = shutil.copytree(pictures / "train", tmp_path / "pictures")
    assert told(lossnet("evaluate", segmenter, copy)) == THESE
    assert told(lossnet("evaluate", segmenter, pictures, "--split", "train")) == THESE
    assert told(lossnet("evaluate", segmenter, pictures, "--split", "all")) == SOME
    assert told(lossnet("evaluate", segmenter, pictures)) == ""
