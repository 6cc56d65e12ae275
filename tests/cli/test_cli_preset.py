"""--preset paper: train, compare, and what lossnet methods says of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import Result, one_line

from lossnet.reports import find

Run = Callable[..., Result]
QUICK = ["--set", "max_epochs=1", "method.rounds=1", "method.energy_steps=1", "--quiet"]


def test_train_stores_the_preset_and_what_it_filled_in(
    lossnet: Run, csv_file: Path, tmp_path: Path
) -> None:
    out, store = tmp_path / "a", tmp_path / "store"
    how = ["--method", "seal-nce", "--preset", "paper:genbase", "--results", store]
    assert lossnet("train", csv_file, "--out", out, *how, *QUICK).code == 0
    stored = json.loads((out / "config.json").read_text())["parameters"]
    assert (stored["preset"], stored["hidden"], stored["threshold"]) == (
        "paper:genbase",
        [400],
        0.5,
    )
    assert stored["method_params"]["entropy_weight"] == 0.0
    (run,) = find(store)
    assert (run.configuration["hidden"], run.configuration["preset"]) == ([400], "paper:genbase")
    finished = lossnet("train", csv_file, "--out", out, *how, *QUICK[:-1], "--resume")
    assert "nothing to resume" in finished.out
    other = [*how[:3], "paper:bibtex", *how[4:]]
    again = lossnet("train", csv_file, "--out", out, *other, *QUICK, "--resume")
    assert "preset" in one_line(again)
    auto = lossnet("evaluate", out, csv_file, "--decode", "auto", "--split", "all")
    assert auto.code == 0


def test_settings_files_know_the_preset(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text("method: cross-entropy\npreset: paper:genbase\nmax_epochs: 1\n")
    out = tmp_path / "a"
    assert lossnet("train", csv_file, "--out", out, "--config", config, "--quiet").code == 0
    stored = json.loads((out / "config.json").read_text())["parameters"]
    assert (stored["hidden"], stored["max_epochs"]) == ([400], 1)


def test_compare_by_the_preset(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    methods = ["--methods", "cross-entropy,seal-regression-s", "--seeds", "1", "--preset", "paper"]
    quick = ["--set", "max_epochs=1", "seal-regression-s.energy_steps=1", "--quiet"]
    methods += ["--baselines", "none"]
    out = tmp_path / "report"
    assert lossnet("compare", csv_file, *methods, *quick, "--out", out).code == 0
    report = (out / "report.md").read_text()
    assert "hidden=[200, 200]" in report
    assert "hidden=[400, 400]" in report
    (shared,) = [line for line in report.splitlines() if line.startswith("- all")]
    assert "preset=paper" in shared
    assert ", hidden=" not in shared


def test_results_of_marked_files_are_tagged(lossnet: Run, tmp_path: Path) -> None:
    classes = "@relation r\n@attribute x numeric\n@attribute class hierarchical a,a/b,c\n@data\n"
    rows = "".join(f"{k},{'a/b' if k % 2 else 'c'}\n" for k in range(8))
    for part in ("train.reconstructed", "valid", "test"):
        (tmp_path / "d").mkdir(exist_ok=True)
        (tmp_path / "d" / f"d.{part}.arff").write_text(classes + rows)
    how = ["--method", "cross-entropy", "--preset", "paper:expr_fun", "--set", "max_epochs=1"]
    out, store = ["--out", tmp_path / "a"], ["--results", tmp_path / "store"]
    assert "marked 'reconstructed'" in lossnet("train", tmp_path / "d", *how, *out, *store).out
    (run,) = find(tmp_path / "store")
    assert run.tags == ["reconstructed", "train"]
    methods = ["--methods", "cross-entropy", "--seeds", "1", "--set", "max_epochs=1", "--quiet"]
    lossnet("compare", tmp_path / "d", *methods, "--baselines", "none", "--out", tmp_path / "b")
    assert "A file is marked 'reconstructed'." in (tmp_path / "b" / "report.md").read_text()


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        (
            "Paper",
            "preset must be None, '0.1', 'paper' or 'paper:ROW' with a row of bibtex, bookmarks",
        ),
        ("paper:bibtx", "did you mean 'bibtex'?"),
    ],
)
def test_wrong_presets(
    lossnet: Run, csv_file: Path, tmp_path: Path, preset: str, message: str
) -> None:
    result = lossnet("train", csv_file, "--out", tmp_path / "a", "--preset", preset)
    assert message in one_line(result)


def test_a_method_without_a_preset(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    how = ["--method", "task-ranking", "--preset", "paper"]
    result = lossnet("train", csv_file, "--out", tmp_path / "a", *how)
    assert "the papers have no settings of 'task-ranking'" in one_line(result)


def test_methods_shows_where_preset_and_default_differ(lossnet: Run) -> None:
    text = lossnet("methods", "seal-nce").out
    assert "row bibtex; others: cal500" in text
    lines = [line.split(maxsplit=3) for line in text.splitlines()]
    why = "not in the paper; keeps probabilities useful"
    assert ["method.entropy_weight", "1.0", "0.0", why] in lines
    assert ["method.rounds", "1", "5"] in [line[:3] for line in lines]
    assert "--preset paper" not in lossnet("methods", "crf").out


def test_a_given_value_that_the_preset_would_replace(
    lossnet: Run, csv_file: Path, tmp_path: Path
) -> None:
    given = ["--preset", "paper:genbase", "--method", "cross-entropy", "--set", "max_epochs=100"]
    result = lossnet("train", csv_file, "--out", tmp_path / "a", *given)
    message = "max_epochs=100 is the default, which preset 'paper:genbase' replaces by 300"
    assert message in one_line(result)
