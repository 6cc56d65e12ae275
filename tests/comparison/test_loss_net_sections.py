"""The page's sections of loss-nets: ties in a hierarchy, energies against inference networks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from small_comparisons import of_labels

from lossnet.comparison import Comparison
from lossnet.comparison.blocks import Block, Charts, Table
from lossnet.comparison.label_ties import kinship, kinship_auc
from lossnet.comparison.page import comparison_page


def blocks(comparison: Comparison, key: str) -> list[Block]:
    return next((s.blocks for s in comparison_page(comparison).sections if s.key == key), [])


def test_ties_of_a_hierarchy_have_an_area_next_to_co_occurrence() -> None:
    plain = of_labels(seeds=1)
    titles = [t.columns[0] for t in blocks(plain, "energies") if isinstance(t, Table)]
    assert "tied by" not in titles
    kin = kinship({1: [0], 3: [2]}, 12)
    energies = [run.energy and replace(run.energy, kinship=kin) for run in plain.runs]
    runs = [replace(run, energy=e) for run, e in zip(plain.runs, energies, strict=True)]
    found = blocks(replace(plain, runs=runs), "energies")
    table = next(t for t in found if isinstance(t, Table) and t.columns[0] == "tied by")
    one = next(e for e in energies if e)
    assert one.cooccurrence is not None
    expected = kinship_auc(one.cooccurrence, kin, np.asarray(one.frequent))
    assert table.rows[0][0].text == "occur together"
    assert table.rows[0][1].value == pytest.approx(expected)
    assert len(table.rows) == 1 + sum(e is not None for e in energies)


def test_energies_against_inference_networks_by_epoch() -> None:
    plain = of_labels(seeds=2)
    assert not blocks(plain, "balance")
    own = [
        {"phase": "pretraining", "epoch": 1, "loss/task": 0.4},
        {"phase": "nets", "epoch": 1, "hinge loss": 0.9, "gradient norm/energy": 0.5},
        {"phase": "nets", "epoch": 2, "hinge loss": 0.7, "gradient norm/energy": float("nan")},
    ]
    method = plain.methods[-1]
    runs = [replace(r, history=own) if r.method == method else r for r in plain.runs]
    (charts,) = blocks(replace(plain, runs=runs), "balance")
    assert isinstance(charts, Charts)
    drawn = {chart.title: chart for chart in charts.charts}
    assert list(drawn) == ["hinge loss", "gradient norm: energy"]  # nothing of what is not recorded
    lines = [chart.series for chart in drawn.values()]
    assert [len(one) for one in lines] == [2, 2]  # a line for each seed
    assert [len(one[0].dots) for one in lines] == [2, 1]  # the last norm is not finite
    assert {line.name for one in lines for line in one} == {method}


def test_methods_that_predict_by_a_descent_are_drawn_by_step_and_by_epoch() -> None:
    plain = of_labels(seeds=2)
    assert not blocks(plain, "inference")
    line = np.array([[0, 0.5], [1, 0.7], [2, 0.72]])
    runs = []
    for run in plain.runs:
        if run.energy is not None:
            own = {**run.energy.descents, "as it predicts": line}
            run = replace(run, energy=replace(run.energy, descents=own))
        runs.append(run)
    (charts,) = blocks(replace(plain, runs=runs), "inference")
    assert isinstance(charts, Charts)
    steps, epochs = charts.charts
    assert (steps.x_label, epochs.x_label) == ("steps", "epoch")
    names = [run.method for run in runs if run.energy is not None]
    for drawn in (steps, epochs):
        assert sorted(one.name for one in drawn.series) == sorted(names)  # a line for each seed
        assert [name for name, _ in drawn.legend] == list(dict.fromkeys(names))
