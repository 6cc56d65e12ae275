"""The course of training as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from lossnet.drawing import lines
from lossnet.drawing.page import GREY, INK, RED, new_figure
from lossnet.errors import DataError


def draw_history(
    history: Sequence[Mapping[str, Any]],
    path: str | Path,
    *,
    metric: str = "validation metric",
    title: str = "",
) -> Path:
    """Training losses and the validation metric against the epoch, one panel each.

    Args:
        history: one row per epoch, in order. Keys "loss/<update>" are training losses; "metric",
            or "metric/<name>", validation metrics; "phase" names the phase. A value that is
            absent, None or not finite is skipped, so phases may have different losses.
            Epochs are counted through all phases, whatever the rows call them.
        path: the picture to write; its suffix is the format.
        metric: what to call the key "metric".
        title: above the picture.
    """
    names = list(dict.fromkeys(name for row in history for name in row))
    losses = [name for name in names if name.startswith("loss/")]
    metrics = [name for name in names if name == "metric" or name.startswith("metric/")]
    if not losses and not metrics:
        expected = f"expected keys such as 'loss/task' or 'metric', found {names}"
        raise DataError(f"history of {len(history)} rows has nothing to draw: {expected}")
    panels = losses + metrics
    figure = new_figure(7, 0.7 + 1.5 * len(panels))
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for index, (axes, name) in enumerate(zip(all_axes, panels, strict=True)):
        color = INK if name in metrics else lines.COLORS[index % len(lines.COLORS)]
        points = lines.plot_history(axes, history, name, along=len(history), color=color)
        lines.tidy(axes, metric if name == "metric" else name.replace("loss/", "loss: "))
        if name in metrics and points:
            _mark_best(axes, points)
        _mark_phases(axes, history, label=index == 0)
    lines.count_along(all_axes[-1:], "epoch", 1, len(history))
    return lines.save_lines(figure, path, title)


def _write(
    axes: Any, words: str, at: tuple[float, float], offset: tuple[int, int], **style: Any
) -> None:
    """Small words, some points away from a place."""
    axes.annotate(words, at, textcoords="offset points", xytext=offset, fontsize=8, **style)


def _mark_best(axes: Any, points: lines.Points) -> None:
    """A ring at the highest value, the first of equal ones, with its value."""
    epoch, value = lines.best_of(points)
    lines.ring(axes, (epoch, value), RED)
    axes.margins(y=0.3)
    side = "right" if epoch > points[-1][0] / 2 else "left"
    _write(axes, f"{value:.4g} (epoch {epoch})", (epoch, value), (0, 7), ha=side, color=RED)


def _mark_phases(axes: Any, history: Sequence[Mapping[str, Any]], *, label: bool) -> None:
    """A dashed line where a phase begins, with its name in the first panel."""
    phases = [row.get("phase") for row in history]
    for epoch, (before, phase) in enumerate(pairwise([None, *phases])):
        if phase == before or len(set(phases)) < 2:
            continue
        if epoch:
            axes.axvline(epoch + 0.5, color=GREY, linewidth=0.9, linestyle="--")
        if label:
            place = {"xycoords": ("data", "axes fraction"), "color": GREY}
            _write(axes, str(phase), (epoch + 0.5, 1), (4, 3), **place)
