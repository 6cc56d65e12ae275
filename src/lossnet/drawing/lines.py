"""Lines against the epoch or the step, for pictures of training and inference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lossnet.drawing.page import save_figure
from lossnet.errors import DataError

COLORS = ("#1f5f99", "#b8651b", "#3d7d3d", "#7b4c94", "#5d5d5d")
DASHES = ("-", "--", ":")

#: One row per epoch, such as a fitted model's ``history_``.
History = Sequence[Mapping[str, Any]]
Points = list[tuple[int, float]]


def line_style(index: int) -> dict[str, Any]:
    """The style of the line of that number: the colours in turn, then dashed, then dotted."""
    turn, place = divmod(index, len(COLORS))
    return {"color": COLORS[place], "linestyle": DASHES[turn % len(DASHES)]}


def finite_points(history: History, name: str, *, first: int = 1) -> Points:
    """The epochs, counted from ``first`` through all rows, at which ``name`` is finite."""
    values = enumerate((row.get(name) for row in history), start=first)
    return [(epoch, float(v)) for epoch, v in values if v is not None and math.isfinite(v)]


def plot_history(
    axes: Any, history: History, name: str, *, along: int, first: int = 1, **style: Any
) -> Points:
    """A value against the epoch, one line per phase: across phases it may be another quantity.

    There are dots where the horizontal axis is short: ``along`` epochs or steps.
    """
    dot = "o" if along < 40 else None
    points = finite_points(history, name, first=first)
    for phase in dict.fromkeys(row.get("phase") for row in history):
        part = [(x, y) for x, y in points if history[x - first].get("phase") == phase]
        xs, ys = [x for x, _ in part], [y for _, y in part]
        axes.plot(xs, ys, linewidth=1.5, marker=dot, markersize=3, **style)
    return points


def best_of(points: Points) -> tuple[int, float]:
    """The point of the highest value, the first of equal ones."""
    return max(points, key=lambda point: point[1])


def ring(axes: Any, point: tuple[int, float], color: str) -> None:
    """A ring around a point."""
    axes.plot(*([value] for value in point), "o", ms=8, mfc="none", mec=color)


def tidy(axes: Any, label: str) -> None:
    """The look of every panel, and what it shows."""
    axes.set_ylabel(label, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
    axes.tick_params(labelsize=8)


def count_along(all_axes: Iterable[Any], label: str, first: int, last: int) -> None:
    """The horizontal axis, which counts from ``first`` to ``last``."""
    for axes in all_axes:
        axes.set_xlabel(label, fontsize=9)
        axes.set_xlim(first - 0.5, last + 0.5)
        axes.xaxis.get_major_locator().set_params(integer=True)


def save_lines(figure: Any, path: str | Path, title: str) -> Path:
    """Add the title and write the figure."""
    figure.align_ylabels()
    if title:
        figure.suptitle(title, fontsize=11, fontweight="bold", x=0.02, ha="left")
    figure.set_layout_engine("constrained")
    return save_figure(figure, path)


def given(runs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The runs to draw, or an error where there are none or they have no names."""
    if not isinstance(runs, Mapping) or not runs:
        got = f"{type(runs).__name__} of {len(runs)}"
        example = "pass for instance {'infnet': model.history_}"
        raise DataError(f"expected a mapping from names to runs, got {got}; {example}")
    return runs


def legend(figure: Any, names: Sequence[str], *, columns: int | None = None) -> None:
    """The lines' names, in their order, below the panels."""
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], linewidth=1.5, **line_style(index)) for index in range(len(names))]
    columns = columns or min(len(names), 4 if max(map(len, names)) < 24 else 2)
    figure.legend(lines, names, loc="outside lower left", ncols=columns, frameon=False, fontsize=9)
