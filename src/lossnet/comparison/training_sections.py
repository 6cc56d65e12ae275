"""The sections of training: curves by epoch, and calibration of what came of it."""

from __future__ import annotations

import numpy as np

from lossnet.comparison.blocks import Block, Cell, Charts, Table
from lossnet.comparison.energy_figures import OWN
from lossnet.comparison.pictures import Axis, Chart, Series, chart
from lossnet.comparison.result import MeasuredRun
from lossnet.comparison.standing import Standing
from lossnet.drawing.lines import finite_points
from lossnet.reports.inference_training import PANELS, recorded, rows_of_interest
from lossnet.reports.tables import summarise


def curves(standing: Standing) -> list[Block]:
    """The validation metric by epoch, one chart for each method."""
    points = {
        name: [p for run in standing.comparison.of(name) if len(p := _curve(run))]
        for name in standing.names
    }
    known = [point for lines in points.values() for line in lines for point in line]
    if not known:
        return []
    values = np.array(known)
    low, high = np.quantile(values[:, 1], [0.02, 1.0])
    x = Axis("epoch", 0.0, float(values[:, 0].max()))
    room = 0.06 * (high - low) or 1.0
    metric = next(run.history_metric for run in standing.comparison.runs if len(_curve(run)))
    y = Axis(f"{metric}, %", float(low - room), float(high + room))
    charts = []
    for name, lines in points.items():
        if lines:
            quiet = [] if name == standing.reference else points.get(standing.reference, [])
            series = [_series(standing.reference, line, "quiet", y) for line in quiet]
            series += [_series(name, line, standing.style(name), y) for line in lines]
            charts.append(chart(name, series, x, y))
    grey = f"; in grey {standing.reference}" if len(charts) > 1 else ""
    caption = f"{metric} on validation data after each epoch, one line for each seed{grey}."
    return _charts(charts, caption)


def _curve(run: MeasuredRun) -> np.ndarray:
    """Epochs, counted through all phases, and the validation metric in percent."""
    points = finite_points(run.history, "metric")
    return np.array([(epoch, 100 * value) for epoch, value in points]).reshape(-1, 2)


def _series(name: str, line: np.ndarray, style: str, y: Axis) -> Series:
    """A line, cut off where it is below the chart."""
    assert y.low is not None
    shown = np.stack([line[:, 0], np.maximum(line[:, 1], y.low)], axis=1)
    return Series(name, shown, style, dots=len(line) < 4)


def inference_training(standing: Standing) -> list[Block]:
    """How energies and inference networks train against each other (paper 003, Figure 3)."""
    runs = [
        (name, rows)
        for name in standing.names
        for run in standing.comparison.of(name)
        if (rows := rows_of_interest(run.history))
    ]
    charts = []
    for title, key in PANELS.items():
        lines = [
            Series(name, finite_points(rows, found), standing.style(name), dots=len(rows) < 4)
            for name, rows in runs
            if (found := recorded(rows, key))
        ]
        charts.append(chart(title, lines, Axis("epoch"), Axis(title), legend=True))
    caption = (
        "Means over an epoch's batches, one line for each seed: Δ(F, y) - E(x, F) of the "
        "cost-augmented net, the hinge loss of the energy, and the norms of their gradients. "
        "Training is in balance where neither norm vanishes."
    )
    return _charts(charts, caption) if runs else []


def inference(standing: Standing) -> list[Block]:
    """How fast methods that predict by a descent predict and train (paper 004, Figures 3 and 4)."""
    runs = [
        (name, run)
        for name in standing.names
        for run in standing.comparison.of(name)
        if run.energy is not None and OWN in run.energy.descents
    ]
    if not runs:
        return []
    metric = f"{runs[0][1].history_metric}, %"
    steps, epochs = [], []
    for name, run in runs:
        assert run.energy is not None
        line = np.asarray(run.energy.descents[OWN], dtype=float) * [1, 100]
        steps.append(Series(name, line, standing.style(name)))
        epochs.append(
            Series(name, points := _curve(run), standing.style(name), dots=len(points) < 4)
        )
    charts = [
        chart("by step of the descent", steps, Axis("steps"), Axis(metric), legend=True),
        chart("by epoch of training", epochs, Axis("epoch"), Axis(metric), legend=True),
    ]
    caption = (
        "For methods that predict by a descent on the energy, one line for each seed: the metric "
        "on held-out data after each step of it, from where the method starts, and on validation "
        "data after each epoch. The sooner a line is flat, the faster it predicts or trains."
    )
    return _charts(charts, caption)


def calibration(standing: Standing) -> list[Block]:
    """How often what has probability p comes true, one chart for each method."""
    every = {n: [r.details.reliability for r in standing.comparison.of(n)] for n in standing.names}
    bins = {name: [r for r in found if r is not None] for name, found in every.items()}
    bins = {name: found for name, found in bins.items() if found}
    if not bins:
        return []
    x, y = Axis("probability", 0.0, 1.0), Axis("share that came true", 0.0, 1.0)
    guide = Series("calibrated", [[0, 0], [1, 1]], "guide")
    charts = []
    for name, found in bins.items():
        lines = [
            Series(name, one[one[:, 2] > 0, :2], standing.style(name), dots=True) for one in found
        ]
        charts.append(chart(name, [guide, *lines], x, y))
    caption = (
        "On the dashed line probabilities come true as often as they say; below it a model is too "
        "sure. One line for each seed."
    )
    return [*_charts(charts, caption), *_errors(standing)]


def _errors(standing: Standing) -> list[Block]:
    """The calibration error and the like of each method."""
    heads = {"ece": "calibration error", "log_loss": "log loss", "brier": "Brier score"}
    rows = []
    for name in standing.ranked:
        found = [run.details.calibration for run in standing.comparison.of(name)]
        values = {key: [one[key] for one in found if one.get(key) is not None] for key in heads}
        if any(values.values()):
            texts = {k: summarise(v, percent=False, digits=4) for k, v in values.items()}
            means = {k: float(np.mean(v)) if v else None for k, v in values.items()}
            cells = [Cell(texts[key], means[key]) for key in heads]
            rows.append([Cell(name, tags=standing.tags(name), style=standing.style(name)), *cells])
    caption = "Lower is better; log loss in nats for each decision."
    return [Table(["method", *heads.values()], rows, caption)] if rows else []


def _charts(charts: list[Chart | None], caption: str) -> list[Block]:
    found = [one for one in charts if one is not None]
    return [Charts(found, caption)] if found else []
