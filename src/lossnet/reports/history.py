"""The course of training as a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lossnet.errors import DataError
from lossnet.reports.page import GREY, INK, RED, new_figure, save_figure

COLORS = ("#1f5f99", "#b8651b", "#3d7d3d", "#7b4c94", "#5d5d5d")


def draw_history(
    history: Sequence[Mapping[str, Any]],
    path: str | Path,
    *,
    metric: str = "validation metric",
    title: str = "",
) -> Path:
    """Training losses and the validation metric against the epoch, one panel each.

    Args:
        history: one row an epoch, in order. Keys "loss/<update>" are training losses; "metric",
            or "metric/<name>", validation metrics; "phase" names the phase. A value that is
            absent, None or not finite is left out, so phases may have different losses.
            Epochs are counted through all phases, whatever the rows call them.
        path: the picture to write; its suffix is the format.
        metric: what to call the key "metric".
        title: above the picture.
    """
    names = list(dict.fromkeys(name for row in history for name in row))
    losses = [name for name in names if name.startswith("loss/")]
    metrics = [name for name in names if name == "metric" or name.startswith("metric/")]
    if not losses and not metrics:
        raise DataError(
            f"history of {len(history)} rows has nothing to draw: expected keys such as "
            f"'loss/task' or 'metric', found {names}"
        )
    panels = losses + metrics
    figure = new_figure(7, 0.7 + 1.5 * len(panels))
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for index, (axes, name) in enumerate(zip(all_axes, panels, strict=True)):
        points = _points(history, name)
        color = INK if name in metrics else COLORS[index % len(COLORS)]
        # A line a phase: across phases a loss may not be the same quantity.
        for phase in dict.fromkeys(row.get("phase") for row in history):
            part = [(x, y) for x, y in points if history[x - 1].get("phase") == phase]
            axes.plot(
                [x for x, _ in part],
                [y for _, y in part],
                color=color,
                linewidth=1.5,
                marker="o" if len(history) < 40 else None,
                markersize=3,
            )
        axes.set_ylabel(metric if name == "metric" else name.replace("loss/", "loss: "), fontsize=9)
        if name in metrics and points:
            _mark_best(axes, points)
        _mark_phases(axes, history, label=index == 0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#e6e6e6", linewidth=0.7)
        axes.tick_params(labelsize=8)
    all_axes[-1].set_xlabel("epoch", fontsize=9)
    all_axes[-1].set_xlim(0.5, len(history) + 0.5)
    all_axes[-1].xaxis.get_major_locator().set_params(integer=True)
    figure.align_ylabels()
    if title:
        figure.suptitle(title, fontsize=11, fontweight="bold", x=0.02, ha="left")
    figure.set_layout_engine("constrained")
    return save_figure(figure, path)


def _points(history: Sequence[Mapping[str, Any]], name: str) -> list[tuple[int, float]]:
    return [
        (epoch, float(row[name]))
        for epoch, row in enumerate(history, start=1)
        if row.get(name) is not None and math.isfinite(row[name])
    ]


def _mark_best(axes: Any, points: list[tuple[int, float]]) -> None:
    """A ring at the highest value, the first of equal ones, with its figure."""
    epoch, value = max(points, key=lambda point: point[1])
    axes.plot([epoch], [value], "o", markersize=8, markerfacecolor="none", markeredgecolor=RED)
    axes.margins(y=0.3)
    axes.annotate(
        f"{value:.4g} (epoch {epoch})",
        (epoch, value),
        textcoords="offset points",
        xytext=(0, 7),
        ha="right" if epoch > points[-1][0] / 2 else "left",
        fontsize=8,
        color=RED,
    )


def _mark_phases(axes: Any, history: Sequence[Mapping[str, Any]], *, label: bool) -> None:
    """A dashed line where a phase begins, with its name in the first panel."""
    before = None
    several = len({row.get("phase") for row in history}) > 1
    for epoch, row in enumerate(history, start=1):
        phase = row.get("phase")
        if several and phase != before:
            if epoch > 1:
                axes.axvline(epoch - 0.5, color=GREY, linewidth=0.9, linestyle="--")
            if label:
                axes.annotate(
                    str(phase),
                    (epoch - 0.5, 1),
                    xycoords=("data", "axes fraction"),
                    textcoords="offset points",
                    xytext=(4, 3),
                    fontsize=8,
                    color=GREY,
                )
        before = phase
