"""lossnet compare: a table from a store that grows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import Result, one_line, write_ner_folder

from lossnet import MultiLabelClassifier
from lossnet.comparison import load_comparison
from lossnet.errors import DataError
from lossnet.reports import find

Run = Callable[..., Result]
SMALL = ["--set", "max_epochs=1", "hidden=[8]", "global_hidden=4", "--quiet"]


def test_trains_only_what_the_store_lacks(
    lossnet: Run, csv_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = []
    plain = MultiLabelClassifier.fit

    def count(self: MultiLabelClassifier, *args: object, **options: object) -> object:
        fitted.append((self.method, self.random_state))
        return plain(self, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(MultiLabelClassifier, "fit", count)
    out = tmp_path / "report"
    more = [*SMALL, "--set", "seal-nce.samples=5"]
    command = ["compare", csv_file, "--methods", "cross-entropy,seal-nce", "--out", out, *more]
    command += ["--baselines", "none"]
    result = lossnet(*command, "--seeds", "2")
    assert result.code == 0, result.err
    assert len(fitted) == 4
    assert "(n=2)" in result.out
    report = (out / "report.md").read_text()
    assert "| seal-nce |" in report
    assert "samples=5" in report
    # Whether structure pays, for the method whose loss-net gives probabilities.
    for text in (result.out, report):
        assert "nats a row" in text
        assert "seal-nce: Structure " in text or "seal-nce: Not clear: " in text
        assert "cross-entropy: " not in text.replace("- cross-entropy: ", "")
    recorded = find(out / "results", method="seal-nce")[0].metrics
    assert "nats a row, dependence" in recorded
    assert recorded["nats a row, low"] <= recorded["nats a row"] <= recorded["nats a row, high"]
    assert {run.seed for run in find(out / "results", method="seal-nce")} == {0, 1}

    again = lossnet(*command, "--seeds", "2")
    assert len(fitted) == 4
    assert again.out == result.out
    assert "(n=3)" in lossnet(*command, "--seeds", "0,1,7").out
    assert fitted[4:] == [("cross-entropy", 7), ("seal-nce", 7)]
    # Another setting is another run, and the table holds only the runs asked for.
    assert "(n=1)" in lossnet(*command, "--seeds", "1", "--set", "max_epochs=2").out
    assert len(fitted) == 8


def test_mistakes(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    out = ["--out", tmp_path / "report"]
    one = ["compare", csv_file, *out, "--methods"]
    assert "did you mean 'seal-nce'?" in one_line(lossnet(*one, "seal-nec"))
    assert "names no method" in one_line(lossnet(*one, ","))
    assert "--seeds x" in one_line(lossnet(*one, "dvn", "--seeds", "x"))
    assert "at least 1, got 0" in one_line(lossnet(*one, "dvn", "--seeds", "0"))
    message = one_line(lossnet(*one, "dvn", "--set", "seal-nce.samples=3"))
    assert "not among --methods" in message
    assert "unknown parameter of dvn" in one_line(lossnet(*one, "dvn", "--set", "dvn.samples=3"))
    assert "unknown baseline" in one_line(lossnet(*one, "dvn", "--baselines", "crf"))
    assert "budget '-3m'" in one_line(lossnet(*one, "dvn", "--budget=-3m"))
    assert "--jobs" in one_line(lossnet(*one, "dvn", "--jobs", "0"))
    assert "against 'spen'" in one_line(lossnet(*one, "dvn", "--against", "spen"))
    assert not (tmp_path / "report").exists()


def test_defaults(lossnet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_ner_folder(tmp_path / "ner")
    result = lossnet("compare", "ner", "--seeds", "1", "--set", "max_epochs=1", "hidden=4")
    assert result.code == 0, result.err
    found = load_comparison(tmp_path / "comparison-ner")
    assert (found.methods, found.baselines) == (
        ["cross-entropy", "seal-nce", "seal-margin"],
        ["crf"],
    )
    assert found.main == "span-f1"
    assert "[4/4] crf, seed 0: span-f1 " in result.err
    assert " left" in result.err
    for run in found.runs:
        right, predicted, true = run.details.scores["span-f1"].sum(0)
        assert run.metrics["span-f1"] == pytest.approx(2 * right / max(predicted + true, 1))
        assert run.details.predictions is not None
        assert found.examples is not None
        assert run.details.predictions.shape == found.examples.truth.shape
        assert set(run.details.groups) == {"PER", "LOC"}


def test_a_failed_run_is_exit_code_1(
    lossnet: Run, csv_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fit(self: MultiLabelClassifier, *args: object, **options: object) -> object:
        raise DataError("no luck")

    monkeypatch.setattr(MultiLabelClassifier, "fit", fit)
    options = ["--methods", "cross-entropy", "--baselines", "none", "--seeds", "1", *SMALL]
    result = lossnet("compare", csv_file, *options, "--out", tmp_path / "report")
    assert result.code == 1
    assert "No run was finished." in result.out
    assert "cross-entropy, seed 0 failed: no luck" in result.out


def test_the_default_beside_a_named_method(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    command = ["compare", csv_file, "--methods", "auto,cross-entropy", "--seeds", "1"]
    command += ["--baselines", "none"]
    result = lossnet(*command, "--out", out, *SMALL)
    assert result.code == 0, result.err
    report = (out / "report.md").read_text()
    assert "- auto: energy_weight=1.0" in report
    assert "members=4, trees=300" in report
    assert find(out / "results", method="auto")[0].configuration["method"] == "seal-nce"
    result = lossnet("train", csv_file, "--out", tmp_path / "model", *SMALL)
    assert result.code == 0, result.err
    assert MultiLabelClassifier.load(tmp_path / "model").members == 4


def test_settings_are_searched_first(lossnet: Run, csv_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "report"
    command = ["compare", csv_file, "--methods", "cross-entropy", "--seeds", "1", "--out", out]
    command += ["--baselines", "none", "--search", "2", *SMALL]
    result = lossnet(*command)
    assert result.code == 0, result.err
    trials = (out / "search" / "cross-entropy" / "trials.csv").read_text().splitlines()
    assert len(trials) == 3
    (run,) = load_comparison(out).runs
    (stored,) = find(out / "results")
    best = max(trials[1:], key=lambda line: float(line.split(",")[2]))
    assert str(stored.configuration["dropout"]) in best
    assert run.method == "cross-entropy"
    other = tmp_path / "other.csv"
    other.write_text(csv_file.read_text() + csv_file.read_text().splitlines()[-1] + "\n")
    wrong = lossnet("compare", other, *command[2:])
    assert wrong.code == 2
    assert "holds a comparison of" in one_line(wrong)
