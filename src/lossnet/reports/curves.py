"""Several methods in one picture: how fast they train, and what refinement does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lossnet.drawing import lines
from lossnet.drawing.lines import History, line_style
from lossnet.drawing.page import new_figure
from lossnet.errors import DataError


def draw_training_speed(
    histories: Mapping[str, History],
    path: str | Path,
    *,
    metric: str = "validation metric",
    title: str = "",
) -> Path:
    """The validation metric against the epoch, one line per method (paper 004, Figure 4).

    Args:
        histories: name of a method to its ``history_``; epochs are counted through all phases.
            The paper evaluates on test rows, a history holds the metric of validation rows.
        path: the picture to write; its suffix is the format.
        metric: what to call it.
        title: above the picture.
    """
    figure, empty = _drawn(lines.given(histories), "metric", metric, "epoch", first=1)
    if empty:
        why = f"the history of {empty[0]!r} holds no validation metric (key 'metric')"
        raise DataError(f"{why}; fit with validation_data, or a validation_fraction above 0")
    return lines.save_lines(figure, path, title)


def draw_refinement(
    curves: Mapping[str, Sequence[float]], path: str | Path, *, metric: str = "F1", title: str = ""
) -> Path:
    """A metric after 0, 1, ... refinement steps, one line per method (paper 004, Figure 3).

    Args:
        curves: name of a method to its values, one per step; they may differ in length. The best
            step of each has a ring.
        path: the picture to write; its suffix is the format.
        metric: what the values are.
        title: above the picture.
    """
    rows = {name: [{"value": v} for v in values] for name, values in lines.given(curves).items()}
    figure, empty = _drawn(rows, "value", metric, "step", first=0)
    if empty:
        raise DataError(f"the curve of {empty[0]!r} has no finite number; pass one value per step")
    return lines.save_lines(figure, path, title)


def _drawn(
    histories: Mapping[str, History], key: str, metric: str, counted: str, *, first: int
) -> tuple[Any, list[str]]:
    """A figure of ``key`` in every history, and the names of those without any value.

    There is a ring at the highest value of each line, and the legend says where it is.
    """
    along = max(map(len, histories.values()))
    figure = new_figure(7, 4)
    axes = figure.subplots()
    runs = {
        name: lines.plot_history(axes, history, key, along=along, first=first, **line_style(index))
        for index, (name, history) in enumerate(histories.items())
    }
    words = []
    for index, (name, points) in enumerate(runs.items()):
        if points:
            at, value = lines.best_of(points)
            lines.ring(axes, (at, value), line_style(index)["color"])
            words.append(f"{name}: best {value:.4g} at {counted} {at}")
    lines.tidy(axes, metric)
    label = "refinement step" if counted == "step" else counted
    lines.count_along([axes], label, first, along - 1 + first)
    if words:
        lines.legend(figure, words)
    return figure, [name for name, points in runs.items() if not points]
