"""Several methods in one picture: how fast they train, and what refinement does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lossnet.drawing.lines import (
    History,
    Points,
    best_of,
    count_along,
    finite_points,
    given,
    legend,
    line_style,
    plot_phases,
    plot_points,
    ring,
    save_lines,
    tidy,
)
from lossnet.drawing.page import new_figure
from lossnet.errors import DataError


def draw_training_speed(
    histories: Mapping[str, History],
    path: str | Path,
    *,
    metric: str = "validation metric",
    title: str = "",
) -> Path:
    """The validation metric against the epoch, a line a method (paper 004, Figure 4).

    Args:
        histories: name of a method to its ``history_``; epochs are counted through all phases.
            The paper evaluates on test rows, a history holds the metric of validation rows.
        path: the picture to write; its suffix is the format.
        metric: what to call it.
        title: above the picture.
    """
    runs = {name: finite_points(rows, "metric") for name, rows in given(histories).items()}
    if missing := [name for name, points in runs.items() if not points]:
        raise DataError(
            f"the history of {missing[0]!r} holds no validation metric (key 'metric'); fit with "
            "validation_data, or a validation_fraction above 0"
        )
    along = max(map(len, histories.values()))
    figure = new_figure(7, 4)
    axes = figure.subplots()
    for index, (name, points) in enumerate(runs.items()):
        plot_phases(axes, histories[name], points, along=along, **line_style(index))
    tidy(axes, metric)
    count_along([axes], "epoch", 1, along)
    _mark_bests(figure, axes, runs, "epoch")
    return save_lines(figure, path, title)


def draw_refinement(
    curves: Mapping[str, Sequence[float]],
    path: str | Path,
    *,
    metric: str = "F1",
    title: str = "",
) -> Path:
    """A metric after 0, 1, ... refinement steps, a line a method (paper 004, Figure 3).

    Args:
        curves: name of a method to its values, from :func:`refinement_curve` for instance; they
            may differ in length. The best step of each has a ring.
        path: the picture to write; its suffix is the format.
        metric: what the values are.
        title: above the picture.
    """
    runs: dict[str, Points] = {}
    for name, values in given(curves).items():
        rows = [{"value": value} for value in values]
        runs[name] = [(step - 1, value) for step, value in finite_points(rows, "value")]
        if not runs[name]:
            raise DataError(f"the curve of {name!r} holds no finite number; give a value a step")
    along = max(map(len, curves.values()))
    figure = new_figure(7, 4)
    axes = figure.subplots()
    for index, points in enumerate(runs.values()):
        plot_points(axes, points, along=along, **line_style(index))
    tidy(axes, metric)
    count_along([axes], "refinement step", 0, along - 1)
    _mark_bests(figure, axes, runs, "step")
    return save_lines(figure, path, title)


def _mark_bests(figure: Any, axes: Any, runs: Mapping[str, Points], counted: str) -> None:
    """A ring at the highest value of each line, and a legend that tells where it is."""
    words = []
    for index, (name, points) in enumerate(runs.items()):
        at, value = best_of(points)
        ring(axes, (at, value), line_style(index)["color"])
        words.append(f"{name}: best {value:.4g} at {counted} {at}")
    legend(figure, words)
