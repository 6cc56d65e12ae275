"""What the loss-nets know: energy against cost, descent on the energy, labels tied together."""

from __future__ import annotations

import math

import numpy as np

from lossnet.comparison.blocks import Block, Cell, Charts, HeatMaps, Table, Text
from lossnet.comparison.energy_figures import OWN
from lossnet.comparison.label_ties import kinship_auc
from lossnet.comparison.pictures import Axis, Chart, HeatMap, Series, chart, heat_map
from lossnet.comparison.result import EnergyFigures, MeasuredRun
from lossnet.comparison.standing import Standing
from lossnet.reports.tables import summarise

#: Styles of the lines of a descent by the beginning of their names.
LINES = {"task-net + GBI": "c0", "task-net": "guide", "random + GBI": "c1", OWN: "c2"}
#: The most points of a chart of energy against cost, and the most labels of a heat map.
POINTS, LABELS = 300, 30


def energies(standing: Standing) -> list[Block]:
    """All that is known of the loss-nets."""
    first = {
        name: run
        for name in standing.names
        if (run := next((r for r in standing.comparison.of(name) if r.energy), None))
    }
    if not first:
        return []
    return [*_by_cost(standing, first), *_descents(standing, first), *_ties(standing, first)]


def _by_cost(standing: Standing, first: dict[str, MeasuredRun]) -> list[Block]:
    """Does lower energy mean lower cost?"""
    charts = []
    rows = []
    for name, run in first.items():
        assert run.energy is not None
        charts.append(_scatter(name, run.energy, standing.style(name)))
        found = [r.energy.rank_correlation for r in standing.comparison.of(name) if r.energy]
        known = [value for value in found if math.isfinite(value)]
        mean = float(np.mean(known)) if known else None
        text = summarise(known, percent=False, digits=2)
        rows.append([Cell(name, style=standing.style(name)), Cell(text, mean)])
    caption = (
        "Energy minus the energy of the truth against the cost, of the truth with more and more "
        "entries replaced at random, first seed; the line is the mean. It rises where the loss-net "
        "is right."
    )
    drawn = [one for one in charts if one is not None]
    how = "Mean over examples of the rank correlation of energy and cost on held-out data; 1 where "
    table = Table(
        ["method", "rank correlation"], rows, f"{how}lower energy always means lower cost."
    )
    return [table, *([Charts(drawn, caption)] if drawn else [])]


def _scatter(name: str, figures: EnergyFigures, style: str) -> Chart | None:
    energy = np.asarray(figures.energy, dtype=float)
    above = energy - energy[:1]
    cost = np.asarray(figures.cost, dtype=float)
    pairs = np.stack([cost[1:].ravel(), above[1:].ravel()], axis=1)
    pairs = pairs[np.isfinite(pairs).all(1)]
    if not len(pairs):
        return None
    chosen = np.random.default_rng(0).permutation(len(pairs))[:POINTS]
    line = np.stack([np.nanmean(cost, axis=1), np.nanmean(above, axis=1)], axis=1)
    line = line[np.argsort(line[:, 0])]
    low, high = np.quantile(pairs[:, 1], [0.01, 0.99])
    shown = pairs[chosen]
    shown = shown[(shown[:, 1] >= low) & (shown[:, 1] <= high)]
    series = [
        Series("candidate", shown, "quiet", line=False, dots=True),
        Series("mean", line, style, dots=True),
    ]
    return chart(name, series, Axis("cost"), Axis("energy above the truth's"))


def _descents(standing: Standing, first: dict[str, MeasuredRun]) -> list[Block]:
    """The main metric by steps of a descent on the energy."""
    charts = []
    for name, run in first.items():
        assert run.energy is not None
        series = [
            Series(line, np.asarray(points, dtype=float) * [1, 100], LINES.get(line, "c3"))
            for line, points in run.energy.descents.items()
        ]
        x, y = Axis("steps"), Axis(f"{standing.comparison.main}, %")
        charts.append(chart(name, series, x, y, legend=True))
    drawn = [one for one in charts if one is not None]
    caption = (
        "The metric as outputs descend on the energy (GBI), from samples of the task-net and from "
        "random outputs, next to the task-net alone; where a method predicts by a descent, from "
        "where that starts. First seed."
    )
    return [Charts(drawn, caption)] if drawn else []


def _ties(standing: Standing, first: dict[str, MeasuredRun]) -> list[Block]:
    """Which labels the loss-net ties together, next to which occur together."""
    known = {n: e for n, run in first.items() if (e := run.energy) and e.ties is not None}
    examples = standing.comparison.examples
    if not known or examples is None:
        return []
    one = next(iter(known.values()))
    assert one.cooccurrence is not None
    shown = strongest(one.cooccurrence)
    names = [examples.names[k] for k in shown]
    maps = [_map("occur together", one.cooccurrence, shown, names)]
    agreement = []
    for name, figures in known.items():
        assert figures.ties is not None
        maps.append(_map(f"tied by {name}", -figures.ties, shown, names))
        if (value := _agreement(figures)) is not None:
            agreement.append(f"{name} {value:.2f}")
    caption = (
        "Row i, column k. First map: how much more often label k is on where i is. Other maps: how "
        "much the loss-net's gradient favours k as i goes from 0 to 1 (first seed). Blue is "
        "together, orange apart."
    )
    if len(shown) < len(examples.names):
        caption += f" The {len(shown)} labels that depend on others most, of {len(examples.names)}."
    words = f"Rank correlation of the two over pairs of labels: {', '.join(agreement)}."
    rest = [Text(words)] if agreement else []
    return [HeatMaps(maps, caption), *rest, *_kinship(known)]


def _kinship(known: dict[str, EnergyFigures]) -> list[Block]:
    """How well ties tell parent and child in a hierarchy from labels of separate branches."""
    one = next(iter(known.values()))
    if one.kinship is None:
        return []
    strengths = {"occur together": one.cooccurrence}
    strengths |= {
        name: -figures.ties for name, figures in known.items() if figures.ties is not None
    }
    rows = []
    for name, strength in strengths.items():
        assert strength is not None
        assert one.frequent is not None
        value = kinship_auc(strength, one.kinship, one.frequent)
        if value is None:
            return []
        rows.append([Cell(name), Cell(f"{value:.2f}", value)])
    how = (
        "How well the strength of a tie tells parent and child in the labels' hierarchy from pairs "
        "without a common ancestor; 1 where every parent and child are tied more strongly, 0.5 by "
        "chance. First seed; pairs of labels that are frequent enough."
    )
    return [Table(["tied by", "area under the curve"], rows, how)]


def _map(title: str, values: np.ndarray, shown: np.ndarray, names: list[str]) -> HeatMap:
    array = np.array(values, dtype=float)[np.ix_(shown, shown)]
    np.fill_diagonal(array, np.nan)
    return heat_map(title, array, names)


def strongest(cooccurrence: np.ndarray) -> np.ndarray:
    """The labels that depend on others most, in their order."""
    array = np.nan_to_num(np.array(cooccurrence, dtype=float))
    np.fill_diagonal(array, 0.0)
    strength = np.abs(array).max(axis=1) + np.abs(array).max(axis=0)
    return np.sort(np.argsort(-strength, kind="stable")[:LABELS])


def _agreement(figures: EnergyFigures) -> float | None:
    """Spearman's correlation of ties and co-occurrence over pairs that are frequent enough."""
    from scipy.stats import spearmanr

    assert figures.ties is not None
    assert figures.cooccurrence is not None
    pairs = ~np.eye(len(figures.ties), dtype=bool)
    if figures.frequent is not None:
        pairs &= np.asarray(figures.frequent, dtype=bool)
    one, other = -np.asarray(figures.ties)[pairs], np.asarray(figures.cooccurrence)[pairs]
    known = np.isfinite(one) & np.isfinite(other)
    if known.sum() < 3 or one[known].std() == 0 or other[known].std() == 0:
        return None
    return float(spearmanr(one[known], other[known])[0])
