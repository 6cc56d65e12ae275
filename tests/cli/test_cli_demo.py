"""lossnet demo: what it prints follows from what it measured."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Result, one_line

from lossnet.cli import demo
from lossnet.cli.demo import BASELINE, DEFAULT, STUDIES, Study, verdict
from lossnet.recipes import build
from lossnet.reports import Run, find
from lossnet.tasks.multilabel import MultiLabelClassifier, contradicts

Run_ = Callable[..., Result]


def runs(exact: Mapping[str, Sequence[float]], contradictions: float = 0.3) -> list[Run]:
    return [
        Run(
            data="d",
            data_checksum="",
            method=method,
            seed=seed,
            configuration={},
            metrics={
                "subset-accuracy": value,
                "contradictions": contradictions - (0.1 if method != BASELINE else 0.0),
            },
            seconds=1.0,
            command="",
            tags=[],
            versions={},
            platform="",
            threads=1,
            date="",
        )
        for method, values in exact.items()
        for seed, value in enumerate(values)
    ]


def test_a_loss_that_helped_is_said_to_help() -> None:
    text = verdict(runs({BASELINE: [0.5, 0.5], "a": [0.55, 0.6], "b": [0.75, 0.25]}))
    assert "1 of 2 learned losses beat cross-entropy on exact match in each of 2 seeds." in text
    assert "a helped: exact match 7.5 points above it" in text
    assert "contradict themselves 10.0 points fewer" in text
    assert "b made no clear difference: 0.0 points above it, better in 1 of 2 seeds" in text


def test_a_loss_that_did_not_help_is_said_not_to() -> None:
    text = verdict(runs({BASELINE: [0.5, 0.4], "a": [0.45, 0.3], "b": [0.5, 0.4]}))
    assert text.startswith("No learned loss beat cross-entropy")
    assert "a did harm: exact match 7.5 points below it" in text
    assert "b made no clear difference" in text
    assert "in this seed" in verdict(runs({BASELINE: [0.5], "a": [0.6]}))


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.data)
def test_the_plan_is_fair_and_valid(study: Study) -> None:
    assert next(iter(study.entries)) == BASELINE
    for name, (method, params) in study.entries.items():
        if name == DEFAULT:
            assert (method, params) == ("auto", {})
        else:
            build(method, params)
    assert set(study.parameters) <= set(MultiLabelClassifier().get_params(deep=False))
    assert study.parameters["metric"] == "subset-accuracy"


def test_demo(lossnet: Run_, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"max_epochs": 1, "hidden": (8,)}
    studies = [replace(study, parameters={**study.parameters, **small}) for study in STUDIES]
    monkeypatch.setattr(demo, "STUDIES", studies)
    out = tmp_path / "demo"
    result = lossnet("demo", "--out", out, "--seeds", "2", "--first-seed", "7")
    assert result.code == 0, result.err
    assert result.err.count("exact match") == 2 * sum(len(study.entries) for study in STUDIES)
    assert "mean ± deviation of 2 seeds" in result.out
    assert "contradictory" in result.out
    assert "on exact match in each of 2 seeds." in result.out
    assert result.out.endswith(f"predictions of seed 7: {out / 'predictions.npz'}\n")
    assert {run.seed for run in find(out / "results", tags="demo")} == {7, 8}
    with np.load(out / "predictions.npz") as arrays:
        predicted = arrays["digits-attributes/seal-nce, refined"]
        wanted = {"method": "seal-nce, refined", "data": "digits-attributes", "seed": 7}
        (run,) = find(out / "results", **wanted)
        assert run.metrics["contradictions"] == pytest.approx(contradicts(predicted).mean())
        exact = (predicted == arrays["digits-attributes/Y"]).all(1).mean()
        assert run.metrics["subset-accuracy"] == pytest.approx(exact)

    pytest.importorskip("matplotlib")
    script = Path(__file__).resolve().parents[2] / "examples" / "demo_picture.py"
    subprocess.run([sys.executable, script, out], check=True)
    assert (out / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_mistakes(lossnet: Run_, tmp_path: Path) -> None:
    assert "must be at least 1, got 0" in one_line(
        lossnet("demo", "--out", tmp_path / "a", "--seeds", "0")
    )
    (tmp_path / "file").write_text("")
    assert "is a file" in one_line(lossnet("demo", "--out", tmp_path / "file"))
    assert not (tmp_path / "a").exists()
