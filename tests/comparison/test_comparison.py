"""lossnet.compare: what it measures, keeps and reuses, and what goes wrong."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from comparison_helpers import SMALL, assert_same, rows

import lossnet
from lossnet import MultiLabelClassifier
from lossnet.comparison import Comparison, load_comparison
from lossnet.errors import DataError, LossnetError, SettingError
from lossnet.reports import find

Compared = tuple[Comparison, Path]


def compare(out: Path, **options: Any) -> Comparison:
    given: dict[str, Any] = {"methods": ["cross-entropy"], "seeds": 1, "baselines": "none"}
    return lossnet.compare(*rows(), out=out, **{**given, "parameters": SMALL, **options})


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """The method and seed of every fit."""
    found: list[tuple[str, int]] = []
    usual = MultiLabelClassifier.fit

    def fit(self: Any, *args: Any, **options: Any) -> Any:
        found.append((self.method, self.random_state))
        return usual(self, *args, **options)

    monkeypatch.setattr(MultiLabelClassifier, "fit", fit)
    return found


def test_what_it_holds(compared: Compared) -> None:
    comparison, out = compared
    assert comparison.methods == ["cross-entropy", "seal-nce"]
    assert comparison.baselines == [
        "logistic-regression",
        "extra-trees",
        "classifier-chain",
        "ensemble",
    ]
    assert (comparison.reference, comparison.main) == ("cross-entropy", "example-f1")
    assert comparison.sizes == {"train": 36, "validation": 12, "test": 12}
    assert comparison.failures == comparison.left_out == []
    # Logistic regression has nothing random: one run for all seeds.
    assert len(comparison.runs) == 2 * 5 + 1
    assert [run.seed for run in comparison.of("logistic-regression")] == [0]
    for run in comparison.runs:
        assert run.outside == (run.method in comparison.baselines)
        for name, scores in run.details.scores.items():
            right, *others = scores.sum(0) if scores.ndim == 2 else (0, 0)
            value = scores.mean() if scores.ndim == 1 else 2 * right / sum(others)
            assert value == pytest.approx(run.metrics[name]), (run.method, name)
        assert run.metrics_at_half.keys() < run.metrics.keys()
        assert comparison.value(run, "example-f1@0.5") == run.metrics_at_half["example-f1"]
        assert run.details.predictions is not None
        assert run.details.reliability is not None
        assert run.details.reliability[:, 2].sum() == 12 * 3
        assert run.predictions_per_second > 0
        assert (run.energy is not None) == (run.method == "seal-nce")
    task, learned = comparison.of("cross-entropy")[0], comparison.of("seal-nce")[0]
    assert task.parameters == task.parameters_in_use == learned.parameters_in_use
    assert learned.parameters is not None
    assert learned.parameters > (task.parameters or 0)
    assert [row["epoch"] for row in learned.history] == [1, 2]
    assert learned.epochs == 2
    with (out / "results.csv").open() as file:
        table = list(csv.DictReader(file))
    assert len(table) == 11
    assert float(table[0]["example-f1"]) == comparison.runs[0].metrics["example-f1"]
    assert "lossnet.compare(" in (out / "report.md").read_text()
    assert all(run.configuration["chosen"]["nets"] >= 2 for run in comparison.of("ensemble"))
    assert "as many as could be trained" in (out / "report.html").read_text()


def test_it_can_be_read_without_fitting(compared: Compared, fits: list[Any]) -> None:
    comparison, out = compared
    again = load_comparison(out)
    assert_same(again, comparison)
    assert again.runs[0].seconds == comparison.runs[0].seconds
    assert (again.command, again.checksum) == (comparison.command, comparison.checksum)
    assert again.examples is not None
    assert comparison.examples is not None
    np.testing.assert_array_equal(again.examples.truth, comparison.examples.truth)
    assert again.examples.names == comparison.examples.names
    assert fits == []


def test_energies(compared: Compared) -> None:
    comparison, _ = compared
    energy = comparison.of("seal-nce")[0].energy
    assert energy is not None
    assert energy.energy.shape == energy.cost.shape == (17, 12)
    assert (energy.cost[0] == 0).all()
    assert energy.cost[-1].mean() > energy.cost[1].mean() >= 0
    assert -1 <= energy.rank_correlation <= 1
    assert sorted(energy.descents) == ["random + GBI", "task-net", "task-net + GBI"]
    assert energy.descents["random + GBI"].shape == (21, 2)
    assert energy.ties is not None
    assert energy.cooccurrence is not None
    assert energy.ties.shape == energy.cooccurrence.shape == (3, 3)
    assert np.isfinite(energy.ties).all()
    assert np.abs(energy.ties).max() > 0


def test_a_method_that_predicts_by_a_descent_has_its_own(tmp_path: Path) -> None:
    (run,) = compare(tmp_path, methods=["alen"]).runs
    assert run.energy is not None
    own = run.energy.descents["as it predicts"]
    assert own.shape == (21, 2)
    assert own[0, 1] == run.energy.descents["task-net"][0, 1]  # it starts from the net's output
    assert 'id="inference"' in (tmp_path / "report.html").read_text()


def test_finished_runs_are_reused(tmp_path: Path, fits: list[tuple[str, int]]) -> None:
    out = tmp_path / "out"
    one = compare(out)
    assert fits == [("cross-entropy", 0)]
    more = compare(out, methods=["cross-entropy", "seal-nce"], seeds=[0, 5])
    assert fits[1:] == [("seal-nce", 0), ("cross-entropy", 5), ("seal-nce", 5)]
    assert more.runs[0].seconds == one.runs[0].seconds
    compare(out, parameters={**SMALL, "hidden": (7,)})
    assert len(fits) == 5
    # A damaged file is done again, and so is all after a change of the code.
    (damaged,) = (out / "results" / "data" / "seal-nce").glob("5-*.npz")
    damaged.write_bytes(damaged.read_bytes()[:100])
    compare(out, methods=["cross-entropy", "seal-nce"], seeds=[0, 5])
    assert fits[5:] == [("seal-nce", 5)]


def test_other_code_is_another_run(
    tmp_path: Path, fits: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    compare(tmp_path)
    monkeypatch.setattr("lossnet.comparison.jobs.code_version", lambda estimator: "other")
    compare(tmp_path)
    assert len(fits) == 2


def test_jobs_change_nothing(compared: Compared, tmp_path: Path) -> None:
    alone, _ = compared
    found = compare(tmp_path, methods=alone.methods, jobs=2)
    assert found.failures == []
    own = [run for run in alone.runs if not run.outside and run.seed == 0]
    assert_same(found, replace(alone, runs=own))


def test_one_failure_ends_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = MultiLabelClassifier.fit

    def fit(self: Any, *args: Any, **options: Any) -> Any:
        if (self.method, self.random_state) == ("seal-nce", 0):
            raise ZeroDivisionError("no luck")
        return usual(self, *args, **options)

    monkeypatch.setattr(MultiLabelClassifier, "fit", fit)
    found = compare(tmp_path, methods=["seal-nce", "cross-entropy"], seeds=2)
    (failure,) = found.failures
    assert (failure.method, failure.seed) == ("seal-nce", 0)
    assert failure.why == "ZeroDivisionError: no luck"
    assert len(found.runs) == 3
    assert "seal-nce, seed 0 failed: ZeroDivisionError" in (tmp_path / "report.md").read_text()
    assert load_comparison(tmp_path).failures == found.failures
    monkeypatch.undo()
    assert compare(tmp_path, methods=["seal-nce", "cross-entropy"], seeds=2).failures == []


def test_budget(tmp_path: Path, fits: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    long = {**SMALL, "max_epochs": 100_000, "patience": 100_000}
    found = compare(tmp_path, parameters=long, seeds=2, budget="0.6s")
    assert all(run.cut and 1 <= (run.epochs or 0) < 100_000 for run in found.runs)
    assert len(found.runs) + len(found.left_out) == 2
    assert sum(run.seconds for run in found.runs) < 60
    # Runs that the budget ended serve the same budget only.
    count = len(fits)
    again = compare(tmp_path, parameters=long, seeds=1, budget=0.6)
    assert [run.metrics for run in again.runs] == [found.runs[0].metrics]
    assert len(fits) == count
    compare(tmp_path, parameters=long, seeds=1, budget="0.7s")
    assert len(fits) == count + 1
    # One that ends by itself serves any budget, and what does not fit is left out.
    short = compare(tmp_path, budget="60s")
    assert not short.runs[0].cut
    monkeypatch.setattr("lossnet.comparison.engine._Session._limit", lambda self, left: 0.0)
    none = compare(tmp_path, seeds=2)
    assert [run.seconds for run in none.runs] == [short.runs[0].seconds]
    assert [(one.seed, one.why) for one in none.left_out] == [(1, "the time budget was used up")]


def test_own_models_by_name(tmp_path: Path) -> None:
    wide = MultiLabelClassifier("cross-entropy", hidden=(16,), max_epochs=1)
    models = {"narrow": wide.__class__("cross-entropy", hidden=(4,), max_epochs=1), "wide": wide}
    found = compare(tmp_path, methods=models, parameters=None, against="wide")
    assert [run.method for run in found.runs] == ["narrow", "wide"]
    assert found.reference == "wide"
    assert not hasattr(wide, "nets_")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"methods": ["seal-nec"]}, "did you mean 'seal-nce'"),
        ({"methods": []}, "at least one method"),
        ({"methods": {"a": 3}}, r"methods\['a'\] must be a MultiLabelClassifier"),
        ({"seeds": []}, "at least one seed"),
        ({"seeds": 0}, "at least 1, got 0"),
        ({"seeds": [-1]}, "a seed must be an integer of at least 0"),
        ({"baselines": "forest"}, "unknown baseline"),
        ({"against": "dvn"}, "unknown method to compare against 'dvn'"),
        ({"budget": "soon"}, "budget 'soon'"),
        ({"budget": "nan"}, "budget 'nan'"),
        ({"budget": 0}, "above 0"),
        ({"jobs": 0}, "jobs must be an integer of at least 1"),
        ({"parameters": {"hiden": 3}}, "did you mean 'hidden'"),
        ({"task": "song"}, "unknown task 'song'"),
    ],
)
def test_mistakes(tmp_path: Path, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(LossnetError, match=expected):
        compare(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_bad_data(tmp_path: Path) -> None:
    X, Y = rows()
    X[3, 0] = np.inf
    with pytest.raises(ValueError, match="inf"):
        lossnet.compare(X, Y, out=tmp_path / "out")
    with pytest.raises(SettingError, match="cannot determine the task"):
        lossnet.compare(3, out=tmp_path / "out")
    with pytest.raises(DataError, match="leave out y"):
        lossnet.compare("digits-attributes", Y, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_folder_of_another_comparison(tmp_path: Path) -> None:
    compare(tmp_path)
    with pytest.raises(SettingError, match="its rows or parts were others; choose another folder"):
        lossnet.compare(*rows(50), out=tmp_path)
    with pytest.raises(SettingError, match=r"holds a comparison of data .*, not of ising"):
        lossnet.compare("ising", out=tmp_path)
    (tmp_path / "comparison.json").write_text("{")
    with pytest.raises(DataError, match=r"comparison.json is not valid JSON .* another folder"):
        compare(tmp_path)


def _half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _other_form(path: Path) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), "form": 99}))


@pytest.mark.parametrize(
    ("file", "damage", "expected"),
    [
        ("results.json", _half, "results.json is not valid JSON"),
        ("results.json", lambda path: path.write_text("[]"), "results.json is damaged"),
        ("results.json", _other_form, "another version"),
        ("results.json", Path.unlink, "holds no finished comparison"),
        ("examples.npz", _half, "examples.npz is damaged"),
        ("results/*/seal-nce/0-*.npz", _half, "npz is damaged"),
        ("results/*/seal-nce/0-*.npz", Path.unlink, "does not exist"),
    ],
)
def test_damaged_files(
    compared: Compared, tmp_path: Path, file: str, damage: Callable[[Path], Any], expected: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(compared[1], out)
    (path,) = out.glob(file)
    damage(path)
    with pytest.raises(DataError, match=f"{expected}.*run lossnet compare with this folder again"):
        load_comparison(out)


def test_store(compared: Compared) -> None:
    runs = find(compared[1] / "results", method="seal-nce")
    assert {run.seed for run in runs} == {0, 1}
    assert "nats a row, dependence" in runs[0].metrics
