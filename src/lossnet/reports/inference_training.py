"""How an energy and its inference networks train against each other."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lossnet.drawing import lines
from lossnet.drawing.lines import History
from lossnet.drawing.page import GREY, new_figure
from lossnet.errors import DataError

NORM = "gradient norm/"
#: The panels of :func:`draw_inference_training`: what each is called, and its key in a history.
PANELS = {
    "cost-augmented loss": "cost-augmented loss",
    "hinge loss": "hinge loss",
    "gradient norm: energy": f"{NORM}energy",
    "gradient norm: nets": NORM,
}


def draw_inference_training(
    histories: Mapping[str, History], path: str | Path, *, title: str = ""
) -> Path:
    """How energy and inference networks train against each other (paper 003, Figure 3).

    Four panels against the epoch, one line per run: the cost-augmented loss Δ(F, y*) - E(x, F), the
    hinge loss, and the norms of the gradients of the energy and of the nets. All are means over an
    epoch's batches, taken as each update meets them; the paper measures both losses after the
    nets' steps, and in its last panel the energy's part alone.

    Args:
        histories: name of a run to its ``history_``, of ``infnet`` or ``infnet-plus``; drawn are
            the rows of the first phase that recorded any of these. With ``loss="perceptron"``
            only the norms are recorded.
        path: the picture to write; its suffix is the format.
        title: above the picture.
    """
    runs = {name: _rows_or_error(name, rows) for name, rows in lines.given(histories).items()}
    along = max(map(len, runs.values()))
    figure = new_figure(8.4, 5.6)
    panels = figure.subplots(2, 2).flatten()
    for axes, (label, key) in zip(panels, PANELS.items(), strict=True):
        for index, rows in enumerate(runs.values()):
            name = recorded(rows, key) or key
            lines.plot_history(axes, rows, name, along=along, **lines.line_style(index))
        lines.tidy(axes, label)
        if not any(recorded(rows, key) for rows in runs.values()):
            axes.text(0.5, 0.5, "not recorded", color=GREY, ha="center", transform=axes.transAxes)
            axes.set_yticks([])
    lines.count_along(panels, "epoch", 1, along)
    lines.legend(figure, list(runs))
    return lines.save_lines(figure, path, title)


def recorded(rows: History, key: str) -> str | None:
    """The key of a panel as the rows have it; the nets' gradient norm is known by its prefix."""
    names = dict.fromkeys(name for row in rows for name in row)
    if key != NORM:
        return key if key in names else None
    return next((n for n in names if n.startswith(NORM) and n != f"{NORM}energy"), None)


def rows_of_interest(history: History) -> History:
    """The rows of the first phase that holds anything to draw; none of other methods' histories."""
    for phase in dict.fromkeys(row.get("phase") for row in history):
        rows = [row for row in history if row.get("phase") == phase]
        if any(recorded(rows, key) for key in PANELS.values()):
            return rows
    return []


def _rows_or_error(name: str, history: History) -> History:
    if rows := rows_of_interest(history):
        return rows
    why = f"the history of {name!r} holds neither losses nor gradient norms of inference networks"
    raise DataError(f"{why} (such as 'cost-augmented loss'); infnet and infnet-plus record them")
