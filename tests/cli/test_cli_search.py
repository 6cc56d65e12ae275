"""``lossnet search``: folders, bad input, killed workers and workers that share a study."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import KILLED, PROGRAM, Result, one_line, small_task, write_csv

Run = Callable[..., Result]

SETTINGS = ["--method", "cross-entropy", "--set", "max_epochs=4", "decode=threshold", "--quiet"]


def arguments(data: Path, out: Path, trials: int) -> list[str]:
    return ["search", str(data), "--out", str(out), "--trials", str(trials), *SETTINGS]


def worker(given: list[str], kill_after_batches: int = 0) -> subprocess.Popen[str]:
    own = {"OMP_NUM_THREADS": "1", "KILL_AFTER_BATCHES": str(kill_after_batches)}
    command = [sys.executable, "-c", KILLED + PROGRAM, *given]
    return subprocess.Popen(command, env={**os.environ, **own}, stderr=subprocess.PIPE, text=True)


def trials_of(folder: Path) -> list[dict[str, Any]]:
    with (folder / "trials.csv").open() as file:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]


def weights(folder: Path) -> bytes:
    (path,) = (folder / "model").glob("weights*.safetensors")
    return path.read_bytes()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty rows: 24 to train on, one batch."""
    return write_csv(tmp_path_factory.mktemp("search") / "weather.csv")


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a search of ten trials."""
    from lossnet.cli import main

    out = tmp_path_factory.mktemp("undisturbed") / "out"
    assert main(arguments(data, out, 10)) == 0
    return out


def test_the_folder(lossnet: Run, data: Path, undisturbed: Path, tmp_path: Path) -> None:
    names = {path.name for path in undisturbed.iterdir()}
    expected = {"best.yaml", "model", "search.json", "search.svg", "study.db", "trials.csv"}
    assert names == expected
    summary = json.loads((undisturbed / "search.json").read_text())
    assert summary["best"]["value"] >= summary["start"]["value"]
    assert sum(summary["trials"].values()) == len(trials_of(undisturbed)) == 10
    assert lossnet("evaluate", undisturbed / "model", data).code == 0
    assert lossnet("predict", undisturbed / "model", data, "--split", "test").code == 0
    # Its settings train the same model again.
    config = ["--config", undisturbed / "best.yaml", "--quiet"]
    assert lossnet("train", data, "--out", tmp_path / "model", *config).code == 0
    (path,) = (tmp_path / "model").glob("weights*.safetensors")
    assert path.read_bytes() == weights(undisturbed)


def test_killed_and_restarted_it_ends_the_same(
    lossnet: Run, data: Path, undisturbed: Path, tmp_path: Path
) -> None:
    given = arguments(data, tmp_path / "out", 10)
    killed = worker(given, kill_after_batches=18)
    assert killed.wait() == -signal.SIGKILL
    assert 1 <= len(trials_of(tmp_path / "out")) < 10
    assert list((tmp_path / "out").glob(".worker*"))
    assert lossnet(*given).code == 0
    assert trials_of(tmp_path / "out") == trials_of(undisturbed)
    assert weights(tmp_path / "out") == weights(undisturbed)
    assert not list((tmp_path / "out").glob(".worker*"))


def test_a_trial_that_ends_its_process_each_time_is_given_up(
    lossnet: Run, data: Path, tmp_path: Path
) -> None:
    given = [*arguments(data, tmp_path / "out", 3), "--retries", "1"]
    for _ in range(2):
        assert worker(given, kill_after_batches=1).wait() == -signal.SIGKILL
    result = lossnet(*(text for text in given if text != "--quiet"))
    assert result.code == 0
    why = "its process ended 2 times; it may run out of memory"
    assert f"trial 0 is given up: {why}" in result.out
    rows = trials_of(tmp_path / "out")
    assert [row["state"] for row in rows] == ["failed", "complete", "complete"]
    assert rows[0]["error"] == why
    assert rows[0]["dropout"] == "0.5"


def test_two_workers_lose_no_trial(lossnet: Run, data: Path, tmp_path: Path) -> None:
    """One of them is killed: what it had finished stays, and the other runs what it was at."""
    given, out = arguments(data, tmp_path / "out", 16), tmp_path / "out"
    other = worker(given, kill_after_batches=30)
    while not (out / "trials.csv").exists() or len(trials_of(out)) < 3:
        assert other.poll() is None
        time.sleep(0.01)
    before = [row for row in trials_of(out) if row["state"] == "complete"]
    assert lossnet(*given).code == 0
    assert other.wait() == -signal.SIGKILL
    rows = trials_of(out)
    assert [row["trial"] for row in rows] == [str(number) for number in range(16)]
    assert {row["state"] for row in rows} <= {"complete", "pruned"}
    assert all(row in rows for row in before)
    best = max(float(row["value"]) for row in rows if row["state"] == "complete")
    assert json.loads((out / "search.json").read_text())["best"]["value"] == best


def test_it_says_what_it_does(lossnet: Run, data: Path, tmp_path: Path) -> None:
    given = [text for text in arguments(data, tmp_path / "out", 2) if text != "--quiet"]
    result = lossnet(*given, "--space", "dropout=0.1..0.3", "batch_size=[4,8]")
    assert "[2/2] example-f1" in result.out
    assert "0.1..0.3" in result.out
    assert "[4, 8]" in result.out
    again = lossnet(*given, "--space", "dropout=0.1..0.3", "batch_size=[4,8]")
    assert "[2/2]" not in again.out  # nothing is left to do
    assert "the model is in" in again.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "seal-nec"], "did you mean 'seal-nce'"),
        (["--trials", "0"], "--trials must be at least 1, got 0"),
        (["--space", "dropuot=0..1"], "did you mean 'dropout'"),
        (["--space", "dropout=nan..1"], "expected NAME=LOW..HIGH"),
        (["--space", "dropout=0.5..0.1"], "must go from low to high"),
        (["--space", "dropout=0..1:log"], "log scale must be above 0"),
        (["--space", "dropout=0.3"], "--set dropout=0.3 fixes a value"),
        (["--space", "dropout=0..7"], "dropout must be a number from 0 to below 1"),
        (["--budget", "soon"], "not a time such as 90s, 30m or 1h30m"),
        (["--name", "x"], "--name is the study's name in a --storage"),
        (["--storage", "nonsense"], "expected a database URL"),
        (["--storage", "postgresql://me:secret@host/db"], "postgresql://me@host/db"),
    ],
)
def test_bad_input(lossnet: Run, data: Path, tmp_path: Path, options: Any, message: str) -> None:
    result = lossnet(*arguments(data, tmp_path / "out", 2), *options)
    assert message in one_line(result)
    assert "secret" not in result.err
    assert not (tmp_path / "out").exists()


def test_another_search_in_the_folder(lossnet: Run, data: Path, undisturbed: Path) -> None:
    given = arguments(data, undisturbed, 10)
    before = (undisturbed / "trials.csv").read_text()
    other = write_csv(data.parent / "other.csv", seed=1)
    for options, what in [
        ([*given, "--method", "seal-nce"], "of another method, cross-entropy"),
        ([*given, "--seed", "1"], "with another seed, 0"),
        ([*given, "--set", "patience=3"], "other settings (different: patience)"),
        ([*given, "--space", "dropout=0..0.1"], "another space (different: dropout)"),
        ([given[0], str(other), *given[2:]], "on other data"),
        ([*given[:3], str(undisturbed / "model"), *given[4:]], "holds a model"),
    ]:
        assert what in one_line(lossnet(*options))
    assert (undisturbed / "trials.csv").read_text() == before


@pytest.mark.parametrize("kept", [0.5, 0.0])
def test_a_truncated_study(lossnet: Run, data: Path, tmp_path: Path, kept: float) -> None:
    given = arguments(data, tmp_path / "out", 1)
    assert lossnet(*given).code == 0
    file = tmp_path / "out" / "study.db"
    content = file.read_bytes()
    file.write_bytes(content[: int(kept * len(content))])
    message = one_line(lossnet(*given))
    assert str(file) in message
    assert "remove the folder and search again" in message


def test_an_interrupt_says_how_to_continue(
    lossnet: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lossnet.searching.search import Search

    tried, given = Search._tried, arguments(data, tmp_path / "out", 3)

    def second(self: Any, values: Any, callback: Any) -> float:
        if len(trials_of(tmp_path / "out")) == 2:
            raise KeyboardInterrupt
        return tried(self, values, callback)

    monkeypatch.setattr(Search, "_tried", second)
    result = lossnet(*given)
    assert result.code == 130
    assert "the same command continues" in result.err
    monkeypatch.setattr(Search, "_tried", tried)
    assert lossnet(*given).code == 0
    assert [row["state"] for row in trials_of(tmp_path / "out")] == ["complete"] * 3


def test_without_the_extra(
    lossnet: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    message = one_line(lossnet(*arguments(data, tmp_path / "out", 2)))
    assert "pip install 'lossnet[search]'" in message


def test_without_matplotlib(
    lossnet: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = lossnet(*arguments(data, tmp_path / "out", 1))
    assert result.code == 0
    assert "lossnet[report]" in result.err
    assert (tmp_path / "out" / "model" / "config.json").exists()


@pytest.mark.parametrize("kind", ["tags", "roles", "texts", "images"])
def test_every_task(lossnet: Run, tmp_path: Path, kind: str) -> None:
    source, settings = small_task(kind, tmp_path)
    out = tmp_path / "out"
    options = ["--method", "cross-entropy", "--set", *settings, "--quiet"]
    assert lossnet("search", source, "--out", out, "--trials", "2", *options).code == 0
    assert lossnet("evaluate", out / "model", source).code == 0
