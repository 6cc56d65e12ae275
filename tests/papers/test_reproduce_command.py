"""lossnet reproduce: runs what the store lacks, keeps what is finished, and prints the table."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lossnet import MultiLabelClassifier
from lossnet.cli import main, reproduce
from lossnet.papers.stored import StoredRuns
from lossnet.papers.table import Benchmark
from lossnet.reports import find, record
from lossnet.training import Trainer

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Run ``lossnet reproduce`` on the tiny table; exit code, output, messages."""
    monkeypatch.setattr("sys.stdin", io.StringIO())

    def run(*arguments: object) -> tuple[int, str, str]:
        given = ["--data", str(tiny), "--results", str(tmp_path / "store"), *map(str, arguments)]
        code = main(["reproduce", *given])
        return code, *capsys.readouterr()

    return run


def test_runs_what_the_store_lacks(command: Command, tmp_path: Path) -> None:
    code, out, err = command("tiny-table1", "--seeds", "2")
    assert code == 0, err
    assert "[8/8] tiny, seal-nce, default, seed 1: example-f1@0.5" in err
    assert "left" in err
    assert "no data for absent: put absent.csv in" in err
    runs = find(tmp_path / "store", data="paper-tiny")
    assert len(runs) == 8
    for run in runs:
        assert {"example-f1", "example-f1@0.5", "validation example-f1", "epochs"} < {*run.metrics}
        assert run.configuration["hidden"] == [8]
    by = {run.configuration["max_epochs"] for run in runs}
    assert by == {2, MultiLabelClassifier().max_epochs}
    line = next(line for line in out.splitlines() if line.startswith("| CE"))
    assert "50 ± 1" in line
    assert line.count("(n=2)") == 2
    assert line.count("dev.") == 2
    assert "- `cross-entropy`: there is little to learn" in out
    assert "| theirs | 60 | – |" in out
    assert "cut at 0.5" in out
    code, again, err = command("tiny-table1", "--seeds", "2")
    assert (code, again) == (0, out)
    assert "[1/" not in err
    assert "set aside" not in err


def test_one_setting_changed(command: Command) -> None:
    given = ["tiny-table1", "--rows", "cross-entropy", "--schedule", "paper", "--which", "preset"]
    code, out, err = command(*given, "--changes", "--yes")
    assert code == 0, err
    assert "[2/2] tiny, cross-entropy, a wider net, preset, paper, seed 0" in err
    line = next(line for line in out.splitlines() if "a wider net" in line)
    assert line.startswith("| `cross-entropy` | a wider net |")
    assert "(n=1)" in line
    code, again, err = command(*given)
    assert (code, again) == (0, out)
    assert "set aside" not in err


def test_the_table_alone_needs_no_data(command: Command, tmp_path: Path) -> None:
    code, out, err = command("tiny-table1", "--table-only", "--columns", "absent")
    assert code == 0, err
    assert "| CE (`cross-entropy`) | 40 | – |" in out
    assert not (tmp_path / "store").exists()


def test_runs_of_other_settings_are_set_aside(command: Command, tmp_path: Path) -> None:
    options = ["--rows", "cross-entropy", "--which", "default", "--columns", "tiny"]
    assert command("tiny-table1", *options)[0] == 0
    (file,) = (tmp_path / "store").rglob("*.json")
    content = json.loads(file.read_text())
    content["configuration"]["dropout"] = 0.9
    file.with_name("0-other.json").write_text(json.dumps(content))
    _, out, err = command("tiny-table1", *options, "--table-only")
    assert "1 stored run set aside: of other settings or other data" in err
    assert "(n=1)" in out
    content["configuration"]["dropout"] = 0.5
    file.write_text(json.dumps(content | {"data_checksum": "another"}))
    _, _, err = command("tiny-table1", *options)
    assert "[1/1] tiny, cross-entropy, default, seed 0" in err


def test_runs_of_another_version_are_shown_and_named(command: Command, tmp_path: Path) -> None:
    options = ["--rows", "cross-entropy", "--which", "default", "--columns", "tiny"]
    assert command("tiny-table1", *options)[0] == 0
    (file,) = (tmp_path / "store").rglob("*.json")
    content = json.loads(file.read_text())
    content["versions"]["lossnet"] = "0.0.7"
    content["field of a later version"] = 1
    file.write_text(json.dumps(content))
    code, out, err = command("tiny-table1", *options)
    assert code == 0
    assert "(n=1)" in out
    assert "1 stored run recorded by lossnet 0.0.7; remove the files in" in err
    del content["metrics"]
    file.write_text(json.dumps(content))
    _, _, err = command("tiny-table1", *options)
    assert "it lacks metrics" in err
    assert "[1/1] tiny, cross-entropy, default, seed 0" in err


def test_columns_of_a_benchmark_show_its_last_settings(tmp_path: Path) -> None:
    given = {"data": "cora", "method": "crf", "data_checksum": "", "command": "", "seconds": 1}
    for seed, width in ((0, 1), (1, 1), (0, 2)):
        metrics = {"accuracy": seed / 10}
        configuration = {"labelled": 5, "width": width}
        record(tmp_path, seed=seed, configuration=configuration, metrics=metrics, **given)
        time.sleep(1.0)  # dates are in seconds
    record(tmp_path, seed=0, configuration={"labelled": 9}, metrics={}, **given)
    runs = StoredRuns(tmp_path).of_benchmark(Benchmark("a.py", "cora", {"labelled": 5}), "crf")
    assert [run.configuration["width"] for run in runs] == [2]
    assert StoredRuns(tmp_path).of_benchmark(Benchmark("a.py", "cora"), "dvn") == []


def test_a_run_that_fails_does_not_end_the_others(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = MultiLabelClassifier.fit

    def fit(self: MultiLabelClassifier, *args: Any, **options: Any) -> Any:
        if self.method == "cross-entropy":
            raise RuntimeError("no luck")
        return plain(self, *args, **options)

    monkeypatch.setattr(MultiLabelClassifier, "fit", fit)
    code, out, err = command("tiny-table1", "--which", "default")
    assert code == 1
    assert "[1/2] tiny, cross-entropy, default, seed 0: failed: no luck" in err
    assert "failed: tiny, cross-entropy, default, seed 0: RuntimeError: no luck" in err
    assert out.count("(n=1)") == 1


def test_interrupting_keeps_what_is_finished(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain, count = MultiLabelClassifier.fit, []

    def fit(self: MultiLabelClassifier, *args: Any, **options: Any) -> Any:
        count.append(1)
        if len(count) == 2:
            raise KeyboardInterrupt
        return plain(self, *args, **options)

    monkeypatch.setattr(MultiLabelClassifier, "fit", fit)
    code, _, err = command("tiny-table1", "--which", "default")
    assert code == 130
    assert "interrupted: 1 of 2 runs are in" in err
    assert len(find(tmp_path / "store")) == 1


def test_a_run_that_was_killed_continues_with_its_next_epoch(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = ("tiny-table1", "--which", "preset", "--rows", "seal-nce")
    plain, done = Trainer._epoch, []

    def epoch(self: Trainer) -> None:
        if len(done) == 1:
            done.append(-1)
            raise KeyboardInterrupt
        plain(self)
        done.append(self.epoch)

    monkeypatch.setattr(Trainer, "_epoch", epoch)
    assert command(*given)[0] == 130
    assert len(list((tmp_path / "store").rglob("*.safetensors"))) == 1
    code, _, err = command(*given)
    assert code == 0, err
    (run,) = find(tmp_path / "store")
    epochs = int(run.metrics["epochs"] or 0)
    assert done == [1, -1, *range(2, epochs + 1)]
    assert not list((tmp_path / "store").rglob("*.safetensors"))
    (tmp_path / "store").rename(tmp_path / "other")
    command(*given)
    (undisturbed,) = find(tmp_path / "store")
    assert undisturbed.metrics == run.metrics


def test_a_long_schedule_needs_a_yes(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduce, "LONG", 0.0)
    options = ["tiny-table1", "--schedule", "paper", "--rows", "cross-entropy", "--which", "preset"]
    code, _, err = command(*options)
    assert code == 2
    *told, error = err.strip().splitlines()
    assert any(line.startswith("tiny, cross-entropy: up to ") for line in told)
    assert "an estimate" in told[-1]
    assert "1 run would take up to" in error
    assert "add --yes to go on" in error


@pytest.mark.parametrize(
    ("options", "texts"),
    [
        (["seal-tabel1"], ["unknown table or figure", "did you mean 'seal-table1'?"]),
        (["tiny-table1", "--rows", "seal-nec"], ["unknown row of tiny-table1", "'seal-nce'"]),
        (["tiny-table1", "--columns", "tinny"], ["unknown column of tiny-table1", "'tiny'"]),
        (["tiny-table1", "--columns", "absent"], ["tiny-table1 needs data", "absent.csv in"]),
        (["tiny-table1", "--rows", "theirs"], ["lossnet runs none of these rows and columns"]),
        (["seal-figure2", "--rows", "dvn"], ["--rows is for tables, and seal-figure2 is a figure"]),
        (["seal-figure2", "--schedule", "paper"], ["may take hours", "add --yes"]),
        (["tiny-table1", "--seeds", "0"], ["--seeds must be at least 1, got 0"]),
        (["tiny-table1", "--data", "/nowhere"], ["the data folder /nowhere does not exist"]),
    ],
)
def test_bad_input_is_one_line(command: Command, options: list[str], texts: list[str]) -> None:
    code, out, err = command(*options)
    assert code == 2
    assert not out
    for text in texts:
        assert text in err.splitlines()[-1]


def test_a_store_that_cannot_be_written(command: Command, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    code, _, err = command("tiny-table1", "--which", "default")
    assert code == 2
    assert "store is a file; expected a folder" in err


def test_the_list_names_the_data(command: Command) -> None:
    code, out, _ = command()
    assert code == 0
    assert (
        "tiny-table1: F1 on next to nothing (paper 9, Table 1)\n  data: tiny, absent (missing)"
        in out
    )
    assert "absent is missing: put absent.csv in" in out
