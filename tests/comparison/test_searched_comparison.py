"""Settings that are searched before methods are compared."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from comparison_helpers import SMALL, rows

import lossnet
from lossnet import MultiLabelClassifier
from lossnet.errors import SettingError
from lossnet.reports import find


def compare(out: Path, methods: dict[str, Any], trials: int) -> None:
    lossnet.compare(*rows(), methods=methods, seeds=1, baselines="none", out=out, search=trials)


def test_settings_are_searched_with_the_same_trials(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fits: list[str] = []
    usual = MultiLabelClassifier.fit

    def fit(self: Any, *args: Any, **options: Any) -> Any:
        fits.append(self.method)
        return usual(self, *args, **options)

    monkeypatch.setattr(MultiLabelClassifier, "fit", fit)
    fixed = {"a": MultiLabelClassifier("cross-entropy", **{**SMALL, "dropout": 0.2})}
    compare(tmp_path, fixed, 2)
    assert len(fits) == 3
    with (tmp_path / "search" / "a" / "trials.csv").open() as file:
        trials = list(csv.DictReader(file))
    assert len(trials) == 2
    assert "dropout" not in trials[0]  # what was given is not searched
    best = max(trials, key=lambda row: float(row["value"]))
    (stored,) = find(tmp_path / "results")
    found = stored.configuration["method_params"]["task_optimiser"]["lr"]
    assert float(best["method.task_optimiser.lr"]) == pytest.approx(found)
    compare(tmp_path, fixed, 2)
    assert len(fits) == 3
    with pytest.raises(SettingError, match="search must be an integer of at least 1"):
        compare(tmp_path, fixed, 0)
