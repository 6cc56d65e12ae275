"""A search as a picture: what each trial reached, and which parameters mattered."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path
from typing import Any

from lossnet.drawing import lines
from lossnet.drawing.page import GREY, INK, RED, new_figure
from lossnet.errors import DataError
from lossnet.searching.results import SearchResult, TrialRow


def draw_search(result: SearchResult, path: str | Path, *, title: str = "") -> Path:
    """The trials and the best so far, and below them the parameters' importances if known.

    Args:
        result: what :func:`lossnet.search` returned.
        path: the picture to write; its suffix is the format.
        title: above the picture.
    """
    complete = [row for row in result.trials if row.state == "complete"]
    if not complete:
        raise DataError("the search has no complete trial to draw; run more trials")
    shares = sorted(result.importances.items(), key=lambda item: item[1])
    figure = new_figure(7, 3.2 + (0.5 + 0.24 * len(shares) if shares else 0))
    panels = 2 if shares else 1
    ratios = {"height_ratios": [2.8, 0.5 + 0.24 * len(shares)]} if shares else {}
    axes = figure.subplots(panels, 1, squeeze=False, gridspec_kw=ratios)[:, 0]
    _draw_trials(axes[0], result, complete)
    if shares:
        _draw_importances(axes[1], shares)
    return lines.save_lines(figure, path, title.replace("$", r"\$"))  # a name is no formula


def _draw_trials(axes: Any, result: SearchResult, complete: list[TrialRow]) -> None:
    def points(rows: list[TrialRow]) -> tuple[list[int], list[float]]:
        known = [(row.number, 100 * row.value) for row in rows if row.value is not None]
        return [x for x, _ in known], [y for _, y in known]

    xs, ys = points(complete)
    last = max(row.number for row in result.trials)
    pruned = points([row for row in result.trials if row.state == "pruned"])
    axes.plot(*pruned, "x", color=GREY, ms=5, label="pruned, its best")
    axes.plot(xs, ys, "o", color=lines.COLORS[0], ms=4, label="complete")
    best = [*accumulate(ys, max)]
    axes.step([*xs, last], [*best, best[-1]], where="post", color=INK, lw=1.3, label="best so far")
    if (start := result.start) is not None and start.value is not None:
        label = "before the search"
        axes.axhline(100 * start.value, color=GREY, lw=0.9, ls="--", label=label)
    if result.best is not None and result.best.value is not None:
        lines.ring(axes, (result.best.number, 100 * result.best.value), RED)
    lines.tidy(axes, f"validation {result.metric}")
    lines.count_along([axes], "trial", 0, last)
    place = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
    axes.legend(**place, ncols=4, fontsize=8, frameon=False, columnspacing=1, handletextpad=0.4)


def _draw_importances(axes: Any, shares: list[tuple[str, float]]) -> None:
    values = [100 * share for _, share in shares]
    axes.barh(range(len(shares)), values, color="#a9c6e2", height=0.8)
    for place, (name, _) in enumerate(shares):
        style = {"textcoords": "offset points", "xytext": (4, 0), "va": "center", "color": INK}
        axes.annotate(name, (0, place), fontsize=8, **style)
    lines.tidy(axes, "")
    axes.grid(axis="y", visible=False)
    axes.set_yticks([])
    axes.set_xlabel("importance, % of what the metric differs by (fANOVA)", fontsize=9)
