"""lossnet demo: what it prints follows from what it measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cli_helpers import Result, one_line

from lossnet import demo
from lossnet.demo import ATTRIBUTES, BASELINE, COMPLETION, verdict
from lossnet.recipes import build
from lossnet.reports import Run, find
from lossnet.tasks.multilabel import MultiLabelClassifier

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
    assert "One of 2 learned losses beat cross-entropy on exact match in each of 2 seeds." in text
    assert "a helped: exact match 7.5 points above it" in text
    assert "contradict themselves 10.0 points fewer" in text
    assert "b made no clear difference: 0.0 points above it, better in 1 of 2 seeds" in text


def test_a_loss_that_did_not_help_is_said_not_to() -> None:
    text = verdict(runs({BASELINE: [0.5, 0.4], "a": [0.45, 0.3], "b": [0.5, 0.4]}))
    assert text.startswith("No learned loss beat cross-entropy")
    assert "a did harm: exact match 7.5 points below it" in text
    assert "b made no clear difference" in text
    assert "in this seed" in verdict(runs({BASELINE: [0.5], "a": [0.6]}))


@pytest.mark.parametrize("task", [ATTRIBUTES, COMPLETION], ids=lambda task: task.name)
def test_the_plan_is_fair_and_valid(task: demo.Task) -> None:
    assert next(iter(task.entries)) == BASELINE
    for entry in task.entries.values():
        build(entry.method, entry.params)
    assert set(task.estimator) <= set(MultiLabelClassifier().get_params(deep=False))
    assert task.estimator["metric"] == "subset-accuracy"


def test_demo(lossnet: Run_, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ATTRIBUTES", "COMPLETION"):
        task = getattr(demo, name)
        small = {**task.estimator, "max_epochs": 1, "hidden": (8,)}
        monkeypatch.setattr(demo, name, replace(task, estimator=small))
    out = tmp_path / "demo"
    result = lossnet("demo", "--out", out, "--seeds", "2", "--first-seed", "7")
    assert result.code == 0, result.err
    assert result.err.count("exact match") == 2 * (
        len(ATTRIBUTES.entries) + len(COMPLETION.entries)
    )
    assert "mean ± deviation of 2 seeds" in result.out
    assert "contradictory %" in result.out
    assert "on exact match in each of 2 seeds." in result.out
    assert result.out.endswith(f"picture: {out / 'demo.png'}\n")
    assert (out / "demo.png").read_bytes().startswith(b"\x89PNG")
    assert {run.seed for run in find(out / "results", tags="demo")} == {7, 8}


def test_demo_mistakes(lossnet: Run_, tmp_path: Path) -> None:
    assert "give 1 or more" in one_line(lossnet("demo", "--out", tmp_path / "a", "--seeds", "0"))
    (tmp_path / "file").write_text("")
    assert "is a file" in one_line(lossnet("demo", "--out", tmp_path / "file"))
    assert not (tmp_path / "a").exists()
