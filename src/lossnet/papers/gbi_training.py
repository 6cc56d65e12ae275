"""SEAL's Figures 3 to 5 (paper 001): the task-net and descents on its loss-net, by training steps.

After every few epochs, F1 on validation rows of the task-net, of descents on the loss-net from
samples of the task-net's output and from random points, and of the energy network that is trained
by itself with the same loss.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from lossnet.comparison.energy_figures import STARTS
from lossnet.drawing.lines import legend, line_style, save_lines, tidy
from lossnet.drawing.page import new_figure
from lossnet.files import read_json, write_text
from lossnet.papers.figures import Studio
from lossnet.proposals import NetOutput
from lossnet.tasks.method_checks import refinement

#: Number of the figure, the method and its energy network alone.
FIGURES = {
    3: ("seal-regression", "dvn"),
    4: ("seal-nce", "nce-energy"),
    5: ("seal-margin", "spen"),
}
#: Epochs between two measurements of the descents.
EVERY = 2

#: Names of the lines, each with the training steps and F1.
Curves = dict[str, list[tuple[float, float]]]


def watched(model: Any, parts: Any) -> Curves:
    """Fit a model; F1 on validation rows of its task-net and of descents, by training steps."""
    found: Curves = {"task-net": [], **{name: [] for name in STARTS}}
    batches = math.ceil(len(parts.train) / int(model.batch_size))
    usual = model._validated

    def validated(data: Any, source: Any, by: Any) -> float:
        score = float(usual(data, source, by))
        epoch = len(found["task-net"])
        found["task-net"].append(((epoch + 1) * batches, score))
        if epoch % EVERY == 0:
            for name, start in STARTS.items():
                descent = refinement(start, model.method_, model.nets_) or NetOutput()
                outputs = model._outputs(descent, data, source=source)
                found[name].append(((epoch + 1) * batches, model._measure(data, outputs)))
        return score

    model._validated = validated
    model.fit(parts.train, validation_data=parts.validation)
    return found


def alone(model: Any, parts: Any) -> list[tuple[float, float]]:
    """F1 on validation rows of an energy network by itself, by training steps.

    One that stops by its own loss has the F1 of its best weights throughout.
    """
    batches = math.ceil(len(parts.train) / int(model.batch_size))
    last = model.history_[-1]["phase"]
    rows = [row for row in model.history_ if row["phase"] == last]
    if not any("metric" in row for row in rows):
        outputs = model.predict_proba(parts.validation)
        rows = [{"metric": model._measure(parts.validation, outputs)}] * len(rows)
    return [((n + 1) * batches, row["metric"]) for n, row in enumerate(rows)]


def curves(studio: Studio, data: str, method: str, energy: str) -> Curves:
    """The lines of one panel, from the folder where they are there."""
    model, parts = studio.unfitted(data, method), studio.parts(data)
    file = studio.out / "curves" / f"{studio.key(data, model)}.json"
    if file.exists():
        stored: Curves = read_json(file)
        return stored
    studio.say(f"fitting {method} on {data}, and its descents")
    found = watched(model, parts)
    found[energy] = alone(studio.fitted(data, studio.unfitted(data, energy)), parts)
    write_text(file, json.dumps(found))
    return found


def draw(studio: Studio) -> list[Path]:
    """One picture for each loss, one panel for each data set."""
    found = []
    for number, (method, energy) in FIGURES.items():
        panels = {data: curves(studio, data, method, energy) for data in studio.data}
        path = studio.out / f"seal-iclr-figure{number}.png"
        found.append(draw_panels(panels, path, f"{method}, and {energy} alone"))
    return found


def draw_panels(panels: dict[str, Curves], path: Path, title: str) -> Path:
    """F1 against training steps, one panel for each data set."""
    columns = min(3, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(max(6.0, 3.7 * columns), 3.0 * rows + 0.5)
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, (data, lines) in zip(grid, panels.items(), strict=False):
        for index, points in enumerate(lines.values()):
            axes.plot(*zip(*points, strict=True), linewidth=1.5, **line_style(index))
        axes.set_title(data, fontsize=10)
        axes.set_xlabel("batches", fontsize=9)
        tidy(axes, "validation F1")
    for axes in grid[len(panels) :]:
        axes.axis("off")
    legend(figure, list(next(iter(panels.values()))))
    return save_lines(figure, path, title)
