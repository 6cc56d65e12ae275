"""The task of docs/extending.md, as a package that is installed next to lossnet.

Nothing of lossnet knows of it: its entry point is all there is.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lossnet.cli import main
from lossnet.errors import DataError
from lossnet.testing import check_estimator_contract

METHODS = ["cross-entropy", "seal-nce", "seal-margin", "dvn", "infnet-plus"]


@pytest.fixture
def predictor(packages: Path) -> Any:
    return importlib.import_module("lossnet_ratings.estimator").RatingPredictor


def ratings(rows: int = 240) -> tuple[np.ndarray, np.ndarray]:
    """Features, and answers to three questions that follow one mood."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 4))
    mood = X @ [1.0, 0.5, 0.0, 0.0] + rng.normal(scale=0.3, size=rows)
    answers = [np.clip(np.round(3 + mood + shift), 1, 5) for shift in (-0.5, 0.0, 0.5)]
    return X, np.stack(answers, 1)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of ratings in the current folder."""
    monkeypatch.chdir(tmp_path)
    rows = [
        [*(f"{x:.3f}" for x in X), *(f"{a:g}" for a in y)]
        for X, y in zip(*ratings(60), strict=True)
    ]
    head = ["a", "b", "c", "d", "q:food", "q:service", "q:value"]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(",".join(row) for row in [head, *rows]) + "\n")
    return path


@pytest.mark.parametrize("method", METHODS)
def test_it_learns_saves_and_loads(predictor: Any, method: str, tmp_path: Path) -> None:
    X, answers = ratings()
    model = predictor(method, max_epochs=12, random_state=0)
    model.fit(X[:160], answers[:160], validation_data=(X[160:200], answers[160:200]))
    usual = (answers[200:] == np.median(answers[:160], 0)).mean()
    assert model.score(X[200:], answers[200:]) > usual
    again = predictor.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_energy_learns_what_goes_together(predictor: Any) -> None:
    X, answers = ratings()
    model = predictor("seal-nce", max_epochs=40, patience=40, random_state=0).fit(X, answers)
    batch = model._source(model._data(X, answers)).batch(slice(0, len(X)))

    def energies(*outputs: torch.Tensor) -> torch.Tensor:
        energy = model.nets_["energy"]
        return energy(energy.encode(batch.x), torch.stack(outputs).flatten(2))

    truth = batch.target.unflatten(1, (3, 4))
    gaps = truth.flip(2)  # 1 1 0 0 as 0 0 1 1
    e_truth, e_gaps = energies(truth, gaps)
    assert (e_gaps > e_truth)[(gaps != truth).flatten(1).any(1)].float().mean() > 0.95

    def both(first: float, second: float) -> torch.Tensor:
        """The truth with "at least 3" set in the first and in the second question."""
        changed = truth.clone()
        changed[:, 0, 1], changed[:, 1, 1] = first, second
        return changed

    alike_1, alike_0, apart_1, apart_0 = energies(both(1, 1), both(0, 0), both(1, 0), both(0, 1))
    assert (alike_1 + alike_0 - apart_1 - apart_0).mean() < -0.1


@pytest.mark.parametrize("method", ["seal-nce", "dvn"])
def test_contract(predictor: Any, method: str) -> None:
    X, answers = ratings(40)
    check_estimator_contract(predictor(method, max_epochs=2, random_state=0), X, answers)


def test_refinement_comes_with_the_template(predictor: Any) -> None:
    X, answers = ratings(40)
    model = predictor("seal-nce", max_epochs=2, refine="net", random_state=0).fit(X, answers)
    assert model.refinement_path(X, steps=3).shape == (4, 40, 12)
    assert 0 <= model.tune_refinement(X, answers, most=3).refine_steps_ <= 3


def test_features_that_need_no_standardising(predictor: Any, tmp_path: Path) -> None:
    X = np.zeros((20, 2))
    model = predictor("cross-entropy", max_epochs=1, random_state=0).fit(X, ratings(20)[1])
    again = predictor.load(model.save(tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_bad_answers_and_columns(predictor: Any) -> None:
    X, answers = ratings(20)
    with pytest.raises(DataError, match="from 1 to 5"):
        predictor().fit(X, answers + 1)
    model = predictor("cross-entropy", max_epochs=1).fit(X, answers)
    with pytest.raises(DataError, match="has 2 features; expected 4"):
        model.predict(X[:, :2])


def test_commands(packages: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--set", "max_epochs=2"]
    assert main(["train", "ratings.csv", "--task", "ratings", "--out", "m", *few]) == 0
    assert "36 train, 12 validation, 12 test rows" in capsys.readouterr().out
    assert main(["describe", "ratings.csv"]) == 0
    assert "rows      60\nfeatures  4" in capsys.readouterr().out
    assert main(["evaluate", "m", "ratings.csv", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["split"] == "test"
    assert set(report["metrics"]["all"]) == {"exact", "exact-rows", "mean-absolute-error"}
    assert main(["predict", "m", "ratings.csv", "--out", "p.jsonl"]) == 0
    lines = Path("p.jsonl").read_text().splitlines()
    assert len(lines) == 60
    assert set(json.loads(lines[0])["answers"]) == {"food", "service", "value"}
    compare = ["compare", "ratings.csv", "--methods", "cross-entropy,dvn", "--seeds", "1"]
    assert main([*compare, "--out", "c", *few]) == 0
    assert "exact-rows" in Path("c/report.md").read_text()


def test_predict_without_answers_in_any_order(
    packages: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "ratings.csv", "--out", "m", "--quiet", "--set", "max_epochs=1"]) == 0
    table.with_name("new.csv").write_text("d,c,b,a\n4,3,2,1\n")
    table.with_name("same.csv").write_text("a,b,c,d\n1,2,3,4\n")
    assert main(["predict", "m", "new.csv"]) == main(["predict", "m", "same.csv"]) == 0
    one, other = capsys.readouterr().out.splitlines()[-2:]
    assert one == other
    assert main(["evaluate", "m", "new.csv"]) == 2
    assert "new.csv has no column 'q:food'" in capsys.readouterr().err


def test_another_process_finds_it_by_its_entry_point(packages: Path, table: Path) -> None:
    path = os.pathsep.join([str(packages), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "lossnet", *arguments]
        environment = {**os.environ, "PYTHONPATH": path}
        done = subprocess.run(
            command, cwd=table.parent, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "ratings data:" in run("train", "--help")
    assert "the model is in m" in run(
        "train", "ratings.csv", "--task", "ratings", "--out", "m", "--set", "max_epochs=1"
    )


def forgetful_pack(pack: Any) -> Any:
    """Store a standardiser that does nothing."""

    def packed(model: Any) -> Any:
        tensors, facts = pack(model)
        return {key: 0 * value + 1 for key, value in tensors.items()}, facts

    return packed


def careless_learn(learn: Any) -> Any:
    """Change a parameter in ``fit``."""

    def learned(model: Any, *args: Any) -> None:
        learn(model, *args)
        model.verbose = True

    return learned


@pytest.mark.parametrize(
    ("name", "broken", "message"),
    [("_pack", forgetful_pack, "after save and load"), ("_learn", careless_learn, "parameters")],
)
def test_the_contract_finds_what_is_broken(
    predictor: Any, monkeypatch: pytest.MonkeyPatch, name: str, broken: Any, message: str
) -> None:
    monkeypatch.setattr(predictor, name, broken(getattr(predictor, name)))
    with pytest.raises(AssertionError, match=message):
        check_estimator_contract(predictor(max_epochs=1, random_state=0), *ratings(40))
