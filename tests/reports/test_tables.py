"""Tables of runs: figures, layout, and refusing to mix configurations."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import pytest

from lossnet.errors import SettingError
from lossnet.reports import Run, find, record, summarise, table

F1 = {
    ("cross-entropy", "bibtex"): [0.455, 0.457],
    ("seal-nce", "bibtex"): [0.466, 0.470, 0.462],
    ("seal-nce", "yeast"): [0.673],
}


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    for (method, data), values in F1.items():
        for seed, value in enumerate(values):
            put(tmp_path, data, method, seed, {"example-f1": value, "subset-accuracy": 0.2})
    return find(tmp_path)


def put(
    folder: Path, data: str, method: str, seed: int, metrics: dict[str, float], **settings: Any
) -> None:
    record(
        folder,
        command="",
        data=data,
        data_checksum="1",
        method=method,
        seed=seed,
        configuration=settings,
        metrics=metrics,
        seconds=10 + seed,
    )


def test_summarise() -> None:
    values = [0.451, 0.463, 0.455]
    deviation = 100 * statistics.stdev(values)
    assert summarise(values) == f"{100 * sum(values) / 3:.1f} ± {deviation:.1f}"
    assert summarise([0.5]) == "50.0"
    assert summarise([2.0, 4.0], percent=False, digits=2) == "3.00 ± 1.41"
    assert summarise([None, math.nan, 0.25]) == "25.0"
    assert summarise([]) == "–"


def test_markdown(runs: list[Run]) -> None:
    assert table(runs, "example-f1").splitlines() == [
        "| method | bibtex | yeast |",
        "| --- | ---: | ---: |",
        "| cross-entropy | 45.6 ± 0.1 (n=2) | – |",
        "| seal-nce | 46.6 ± 0.4 (n=3) | 67.3 (n=1) |",
    ]


def test_text_is_aligned(runs: list[Run]) -> None:
    lines = table(runs, "example-f1", rows="data", columns="method", format="text").splitlines()
    assert lines[0].split() == ["data", "cross-entropy", "seal-nce"]
    assert lines[1].endswith("46.6 ± 0.4 (n=3)")
    assert len(lines[0]) == len(lines[1])


def test_several_metrics_and_seconds(runs: list[Run]) -> None:
    lines = table(runs, metrics=["subset-accuracy", "seconds"]).splitlines()
    assert lines[0].startswith("| method | bibtex subset-accuracy | bibtex seconds |")
    assert "20.0 ± 0.0 (n=3) | 11.0 ± 1.0 (n=3)" in lines[3]
    bibtex = [run for run in runs if run.data == "bibtex"]
    assert table(bibtex, columns=None, metrics=["seconds"]).startswith("| method | seconds |")
    named = table(runs, {"subset-accuracy": "exact", "seconds": "s"})
    assert named.startswith("| method | bibtex exact | bibtex s |")


def test_configurations_are_not_mixed(runs: list[Run], tmp_path: Path) -> None:
    put(tmp_path, "yeast", "seal-nce", 1, {"example-f1": 0.601}, hidden=7)
    mixed = find(tmp_path)
    with pytest.raises(SettingError, match="cell of seal-nce, yeast mixes"):
        table(mixed, "example-f1")
    assert "63.7 ± 5.1 (n=2)" in table(mixed, "example-f1", allow_mixed=True)
    yeast = find(tmp_path, data="yeast")
    assert "| 7 | 60.1 (n=1) |" in table(yeast, "example-f1", rows="configuration__hidden")


def test_unknown_names(runs: list[Run]) -> None:
    with pytest.raises(SettingError, match="did you mean 'example-f1'"):
        table(runs, metrics=["example-f2"])
    with pytest.raises(SettingError, match="unknown field of a run 'model'"):
        table(runs, "example-f1", rows="model")
    with pytest.raises(SettingError, match="unknown table format"):
        table(runs, "example-f1", format="html")  # type: ignore[arg-type]


def test_no_runs_give_an_empty_table() -> None:
    assert table([], "example-f1").startswith("| method |")
