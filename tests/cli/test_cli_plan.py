"""``lossnet plan``: what train would do, and what it takes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import Result, one_line, small_task, write_csv

Run = Callable[..., Result]
KINDS = {"labels": "multilabel", "tags": "sequence", "roles": "roles", "texts": "text"}
KINDS |= {"images": "image"}


@pytest.mark.parametrize("kind", KINDS)
def test_every_task(lossnet: Run, tmp_path: Path, kind: str) -> None:
    source, settings = small_task(kind, tmp_path)
    result = lossnet("plan", source, "--set", *settings, "--json", "--method", "cross-entropy")
    assert result.code == 0, result.err
    plan = json.loads(result.out)
    assert plan["task"] == KINDS[kind]
    assert plan["method"] == "cross-entropy"
    assert plan["settings"]["max_epochs"] == plan["phases"][0]["epochs"] == 1
    assert plan["nets"]["task"] > 0
    assert 0 < plan["seconds"]["least"] <= plan["seconds"]["most"]


def test_it_plans_what_train_does(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    given = ["--method", "nce-energy", "--set", "max_epochs=3", "patience=1", "hidden=[8]"]
    plan = json.loads(lossnet("plan", csv_file, *given, "--json").out)
    assert lossnet("train", csv_file, *given, "--out", tmp_path / "model", "--quiet").code == 0
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    stored = config["parameters"]
    assert {k: v for k, v in plan["settings"].items() if k != "verbose"} == {
        k: v for k, v in stored.items() if k != "verbose"
    }
    assert plan["parts"] == {"train": 24, "validation": 8, "test": 8}
    names = [(phase["name"], phase["patience"]) for phase in plan["phases"]]
    assert names == [("pretrain task", 1), ("nce-energy", 1)]


def test_it_says_why(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    small = ["--set", "max_epochs=2", "hidden=[8]", "trees=5"]
    shown = lossnet("plan", csv_file, *small)
    assert shown.code == 0
    for text in (
        "divided 60/20/20",
        "auto, which is seal-nce here",
        "the default for multilabel data",
        "threshold, expected",
        "at most 2 epochs",
        "training ends 10 epochs after the best",
    ):
        assert text in shown.out
    other = write_csv(tmp_path / "other.csv", rows=10, seed=1)
    named = ["--method", "dvn", "--validation", other, "--decode", "threshold"]
    shown = lossnet("plan", csv_file, *named, "--set", "max_epochs=2", "hidden=[8]")
    for text in ("your choice", "all of DATA is for training; --validation given"):
        assert text in shown.out
    alone = ["--method", "dvn", "--test", other, "--set", "validation_fraction=0", "hidden=[8]"]
    assert "no validation data to end it early" in lossnet("plan", csv_file, *alone).out


def test_nothing_is_written(lossnet: Run, csv_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(csv_file.parent)
    before = sorted(csv_file.parent.iterdir())
    assert lossnet("plan", csv_file, "--method", "crf").code == 2
    assert lossnet("plan", csv_file, "--method", "cross-entropy").code == 0
    assert sorted(csv_file.parent.iterdir()) == before


def test_bad_input(lossnet: Run, csv_file: Path) -> None:
    assert "did you mean 'seal-nce'" in one_line(lossnet("plan", csv_file, "--method", "seal-nec"))
    assert "does not exist" in one_line(lossnet("plan", "nowhere.csv"))
