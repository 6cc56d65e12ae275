"""A search in this process: what it finds, prunes, keeps and survives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lossnet
from lossnet import MultiLabelClassifier
from lossnet.errors import DataError, SettingError, TrainingError
from lossnet.ranges import Choice, Range
from lossnet.searching import SearchResult, TrialRow
from lossnet.searching.pictures import draw_search
from lossnet.searching.search import Search

LR = "method.task_optimiser.lr"
#: Learning rates, of which some learn nothing.
RATES = {LR: Choice(1e-8, 1e-7, 1e-2, 3e-2)}


def rows(count: int = 80, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, 6))
    return X, (X[:, :3] + 0.3 * rng.normal(size=(count, 3)) > 0).astype(int)


def small(**given: Any) -> MultiLabelClassifier:
    own = {"hidden": (8,), "dropout": 0.0, "batch_size": 16, "max_epochs": 6, "random_state": 0}
    own |= {"decode": "threshold"}
    return MultiLabelClassifier("cross-entropy", **own | given)


def plain(result: SearchResult) -> list[Any]:
    return [(row.number, row.state, row.value, row.values, row.epochs) for row in result.trials]


@pytest.fixture(scope="module")
def found() -> SearchResult:
    model = small(method_params={"task_optimiser": {"lr": 1e-2}})
    return lossnet.search(model, *rows(), trials=14, space=RATES)


def test_it_finds_the_rate_that_learns(found) -> None:
    assert found.best is not None
    assert found.best.values[LR] >= 1e-2
    assert found.model.get_params()["method__task_optimiser__lr"] == found.best.values[LR]
    assert [row.number for row in found.trials] == list(range(14))
    assert found.importances[LR] > 0.5
    assert str(found.best.values[LR]) in found.table()


def test_hopeless_trials_are_pruned(found) -> None:
    pruned = [row for row in found.trials if row.state == "pruned"]
    assert pruned
    assert all(row.epochs < 6 for row in pruned)
    assert any(row.values[LR] < 1e-2 for row in pruned)


def test_the_first_trial_has_the_settings_before() -> None:
    model, validation = small(), rows(30, seed=1)
    result = lossnet.search(model, *rows(), validation_data=validation, trials=1)
    model.fit(*rows(), validation_data=validation)
    assert result.start is not None
    assert result.start.value == pytest.approx(model._decided_score(model._scored(validation)))
    for name, net in model.nets_.items():
        for key, weight in net.state_dict().items():
            assert (result.model.nets_[name].state_dict()[key] == weight).all()


def test_it_continues_where_it_was(tmp_path: Path) -> None:
    model, whole = small(max_epochs=2), lossnet.search(small(max_epochs=2), *rows(), trials=10)
    lossnet.search(model, *rows(), trials=4, out=tmp_path)
    again = lossnet.search(model, *rows(), trials=10, out=tmp_path)
    assert plain(again) == plain(whole)
    assert (tmp_path / "trials.csv").read_text().count("\n") == 11
    assert not list(tmp_path.glob(".worker*"))


def test_one_study_in_a_database_for_several_folders(tmp_path: Path) -> None:
    shared = {"storage": f"sqlite:///{tmp_path / 'shared.db'}", "name": "weather"}
    lossnet.search(small(), *rows(), trials=2, out=tmp_path / "a", **shared)
    result = lossnet.search(small(), *rows(), trials=3, out=tmp_path / "b", **shared)
    assert len(result.trials) == 3
    with pytest.raises(SettingError, match=r"weather holds a search .*max_epochs"):
        lossnet.search(small(max_epochs=2), *rows(), trials=3, out=tmp_path / "c", **shared)


def test_a_failure_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = Search.fitted

    def sometimes(self: Any, values: Any, *callbacks: Any) -> Any:
        if values["dropout"] > 0.4:
            raise TrainingError("the loss is nan")
        return fitted(self, values, *callbacks)

    monkeypatch.setattr(Search, "fitted", sometimes)
    space = {"dropout": Range(0.0, 0.8)}
    result = lossnet.search(small(max_epochs=1), *rows(), trials=6, space=space)
    failed = [row for row in result.trials if row.state == "failed"]
    assert {row.error for row in failed} == {"TrainingError: the loss is nan"}
    assert 1 <= len(failed) < 6
    with pytest.raises(TrainingError, match="no trial is complete; the last one failed"):
        lossnet.search(small(dropout=0.5), *rows(), trials=2, space={"dropout": Range(0.5, 0.8)})


def test_a_trial_that_others_took_for_lost_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import optuna

    fitted, count = Search.fitted, [0]

    def asleep(self: Any, values: Any, *callbacks: Any) -> Any:
        count[0] += 1
        if count[0] == 2:
            storage = f"sqlite:///{tmp_path / 'study.db'}"
            study = optuna.load_study(study_name="search", storage=storage)
            study.tell(study.trials[-1].number, state=optuna.trial.TrialState.FAIL)
        return fitted(self, values, *callbacks)

    monkeypatch.setattr(Search, "fitted", asleep)
    found = lossnet.search(small(max_epochs=1), *rows(), trials=3, out=tmp_path)
    assert [(row.number, row.state) for row in found.trials] == [(k, "complete") for k in range(3)]
    assert count[0] == 5  # three trials, the second twice, and the best


def test_data_that_cannot_be_used_ends_it_at_once() -> None:
    X, Y = rows()
    with pytest.raises(SettingError, match="unknown label in class_weight"):
        lossnet.search(small(class_weight={"a": 2.0}), X, Y, trials=3)
    with pytest.raises(DataError, match="leaves none to validate on"):
        lossnet.search(small(validation_fraction=0.0), X, Y, trials=3)


def test_a_budget_ends_it() -> None:
    result = lossnet.search(small(), *rows(), trials=10_000, budget=0.5)
    assert 1 <= len(result.trials) < 10_000
    with pytest.raises(TrainingError, match="raise the budget"):
        lossnet.search(small(), *rows(), trials=3, budget=1e-6)


def test_arguments_are_checked() -> None:
    for given, match in [
        ({"trials": 0}, "trials must be an integer of at least 1, got 0"),
        ({"budget": -1}, "budget must be a number of seconds above 0"),
        ({"space": {"hiden": Range(1, 2)}}, "did you mean 'hidden'"),
    ]:
        with pytest.raises(SettingError, match=match):
            lossnet.search(small(), *rows(), **given)
    with pytest.raises(SettingError, match="random_state must be an integer"):
        lossnet.search(small(random_state=None), *rows())


def test_the_picture(found, tmp_path: Path) -> None:
    assert "example-f1" in draw_search(found, tmp_path / "a.svg", title="a$b").read_text()
    lone = SearchResult("f1", found.space, [TrialRow(0, "complete", 0.5, {})])
    assert draw_search(lone, tmp_path / "b.png").stat().st_size > 5_000
    with pytest.raises(DataError, match="no complete trial"):
        draw_search(SearchResult("f1", {}, []), tmp_path / "c.png")
    assert not (tmp_path / "c.png").exists()
