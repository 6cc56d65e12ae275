"""The commands on semantic roles."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import Result, one_line, write_roles

from lossnet import SemanticRoleLabeler
from lossnet.cli import main
from lossnet.reports import find
from lossnet.tasks.roles import (
    load_role_splits,
    load_roles,
    role_scores,
)

Run = Callable[..., Result]
SMALL = ["--method", "cross-entropy", "--set", "max_epochs=2", "hidden=8", "--quiet"]


@pytest.fixture(scope="session")
def roles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("roles") / "small"
    folder.mkdir()
    for seed, name in enumerate(("train", "dev", "test")):
        write_roles(folder / f"{name}.gold_conll", seed=seed, count=30 if name == "train" else 10)
    return folder


@pytest.fixture(scope="session")
def role_model(roles: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("role_model") / "model"
    assert main(["train", str(roles), "--out", str(out), *SMALL]) == 0
    return out


def test_train_measures_and_stores(lossnet: Run, roles: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    result = lossnet("train", roles, "--out", out, *SMALL[:-1], "--results", tmp_path / "store")
    assert result.code == 0, result.err
    first = result.out.splitlines()[0]
    assert first.startswith(
        "small: 60 train, 20 validation, 20 test predicates, 50 sentences, 2 roles"
    )
    test = load_role_splits(roles).test
    assert test is not None
    scores = role_scores(test.tags or [], SemanticRoleLabeler.load(out).predict(test))
    metrics = json.loads((out / "metrics.json").read_text())["test"]
    assert metrics["all"]["role-f1"] == scores.f1
    assert metrics["all"]["violations"] == scores.violations
    assert metrics["type:ARG0"]["recall"] == scores.roles["ARG0"].recall
    (run,) = find(tmp_path / "store")
    assert run.metrics["role-f1:ARG1"] == scores.roles["ARG1"].f1


def test_describe(lossnet: Run, roles: Path) -> None:
    lines = lossnet("describe", roles).out.splitlines()
    cells = {line.split("  ")[0]: line.split()[-4:] for line in lines}
    assert cells["sentences"] == ["50", "30", "10", "10"]
    assert cells["predicates"] == ["100", "60", "20", "20"]
    assert "core role repeated" in cells
    assert any(line.split() == ["ARG0", "100", "60", "20", "20", "1.00"] for line in lines)


def test_evaluate_with_intervals_and_picture(
    lossnet: Run, roles: Path, role_model: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "roles.png"
    result = lossnet("evaluate", role_model, roles, "--bootstrap", "50", "--picture", picture)
    assert result.code == 0, result.err
    assert "the test part's 20 predicates" in result.out
    assert "role-f1-low" in result.out
    assert f"picture: {picture}" in result.out
    assert picture.stat().st_size > 5000
    again = lossnet("evaluate", role_model, roles, "--json", "--bootstrap", "50")
    measured = json.loads(again.out)["metrics"]["all"]
    assert measured["violations-low"] <= measured["violations"] <= measured["violations-high"]
    message = one_line(lossnet("evaluate", role_model, roles, "--bootstrap", "0"))
    assert "--bootstrap must be an integer of at least 1, got 0" in message
    assert (
        "does not end in .png" in lossnet("evaluate", role_model, roles, "--picture", "a.doc").err
    )


@pytest.mark.parametrize("kind", ["gold_conll", "txt", "jsonl"])
def test_predictions_are_written(
    lossnet: Run, roles: Path, role_model: Path, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / f"out.{kind}"
    result = lossnet("predict", role_model, roles / "test.gold_conll", "--out", out)
    assert result.code == 0, result.err
    assert "20 predictions" in result.out
    data = load_roles(roles / "test.gold_conll")
    expected = SemanticRoleLabeler.load(role_model).predict(data)
    if kind != "jsonl":
        again = load_roles(out)
        assert (again.tokens, again.predicates, again.tags) == (
            data.tokens,
            data.predicates,
            expected,
        )
        return
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [row["tags"] for row in rows] == expected
    assert [row["predicate"] for row in rows] == data.predicates
    assert [row["sentence"] for row in rows] == data.documents
    for row in rows:
        for role in row["roles"]:
            assert " ".join(row["tokens"][role["start"] : role["end"]]) == role["text"]


def test_lines_from_a_pipe(
    lossnet: Run, role_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = b"1 Ann wants to see Rome\n\n3 Ann wants to see Rome\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    result = lossnet("predict", role_model, "-", "--proba")
    first, blank, last = map(json.loads, result.out.splitlines())
    assert (first["row"], blank["row"], last["row"]) == (0, 1, 2)
    assert blank["tokens"] == []
    assert first["sentence"] == last["sentence"] == 0
    assert len(first["probabilities"]) == len(first["tags"]) == 5
    assert last["tags"][3] == "B-V"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert lossnet("predict", role_model, "-", "--out", tmp_path / "a.txt").code == 0
    lines = (tmp_path / "a.txt").read_text().splitlines()
    assert lines[1] == ""
    assert lines[2].startswith("3 Ann wants to see Rome ||| ")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"7 Ann sleeps\n")))
    message = one_line(lossnet("predict", role_model, "-"))
    assert "standard input, line 1: the predicate's position must be from 0 to 1, got 7" in message


def test_compare_and_a_single_file(lossnet: Run, roles: Path, tmp_path: Path) -> None:
    data = write_roles(tmp_path / "one.gold_conll", count=10)
    out = ["--out", tmp_path / "report", "--set", "max_epochs=1", "hidden=8", "--quiet"]
    methods = "cross-entropy,structured-tuning"
    result = lossnet("compare", data, "--methods", methods, "--seeds", "1", *out)
    assert result.code == 0, result.err
    assert "role-f1" in result.out
    assert "violations" in result.out


def test_errors_are_one_line(lossnet: Run, role_model: Path, roles: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.gold_conll"
    bad.write_text((roles / "dev.gold_conll").read_text()[:200])
    assert "bad.gold_conll, line" in one_line(lossnet("describe", bad))
    message = one_line(
        lossnet("predict", role_model, roles, "--proba", "--out", tmp_path / "a.gold_conll")
    )
    assert "--proba: .gold_conll holds no probabilities" in message
    assert "--strict" in one_line(lossnet("evaluate", role_model, roles, "--strict"))
