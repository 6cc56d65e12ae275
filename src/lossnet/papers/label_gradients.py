"""SEAL's Figure 2: what one label does to the global energy's gradient for another.

See :mod:`lossnet.comparison.label_ties` for what is drawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from lossnet.comparison.label_ties import (
    association,
    changes,
    global_gradients,
    kinship,
    kinship_auc,
)
from lossnet.drawing.lines import line_style, save_lines, tidy
from lossnet.drawing.page import GREY, new_figure
from lossnet.papers.figures import Studio

METHODS = ("dvn", "seal-nce")
#: Pairs that are drawn, and points of their lines.
PAIRS, GRID = 4, 21


def draw(studio: Studio) -> list[Path]:
    """One picture for each data set and method."""
    found = []
    for data in studio.data:
        for method in METHODS:
            model = studio.fitted(data, studio.unfitted(data, method))
            path = studio.out / f"seal-figure2-{data}-{method}.png"
            train, title = studio.parts(data).train, f"{method} on {data}"
            found.append(draw_one(model, train, path, title))
            if areas := kinship_areas(model, train):
                studio.say(f"{title}: {areas}")
    return found


def kinship_areas(model: Any, train: Any) -> str | None:
    """How well the energy and co-occurrence tell parent and child from separate branches."""
    if train.parents is None:
        return None
    kin, (tied, known) = kinship(train.parents, train.n_labels), association(train.Y)
    strengths = -changes(model.nets_["energy"], train.n_labels), tied
    energy, together = (kinship_auc(strength, kin, known) for strength in strengths)
    if energy is None or together is None:
        return None
    counts = [f"{(known & (kin == sign)).sum():,}" for sign in (1, -1)]
    what = f"{counts[0]} pairs of parent and child against {counts[1]} without a common ancestor"
    return f"AUC {energy:.3f} by the energy, {together:.3f} by co-occurrence ({what})"


def draw_one(model: Any, train: Any, path: Path, title: str) -> Path:
    """Gradients of associated and of unrelated pairs, and of all pairs against co-occurrence."""
    from scipy.stats import spearmanr

    energy = model.nets_["energy"]
    change, (tied, known) = changes(energy, train.n_labels), association(train.Y)
    order = np.argwhere(known)[np.argsort(-tied[known], kind="stable")]
    middle = np.argsort(np.abs(tied[tuple(order.T)]), kind="stable")
    figure = new_figure(11, 4.2)
    panels = figure.subplots(1, 3)
    chosen = {"i goes with k": order[:PAIRS], "i says nothing about k": order[middle[:PAIRS]]}
    for axes, (what, pairs) in zip(panels, chosen.items(), strict=False):
        _lines(axes, energy, pairs, train.label_names)
        axes.set_title(what, fontsize=10)
    panels[1].sharey(panels[0])
    rank = spearmanr(tied[known], change[known]).statistic
    panels[2].scatter(tied[known], change[known], s=4, alpha=0.3, linewidths=0)
    panels[2].axhline(0, color=GREY, linewidth=0.7)
    panels[2].set_xlabel("p(k | i) - p(k), training rows", fontsize=9)
    panels[2].set_title(f"{known.sum():,} pairs, rank correlation {rank:.2f}", fontsize=10)
    tidy(panels[2], "change of the gradient, y_i from 0 to 1")
    return save_lines(figure, path, title)


def _lines(axes: Any, energy: Any, pairs: Any, names: list[str]) -> None:
    """The gradient for label k as label i goes from 0 to 1, less its value at 0."""
    steps = torch.linspace(0, 1, GRID)
    for number, (i, k) in enumerate(pairs):
        y = torch.zeros(GRID, len(names))
        y[:, i] = steps
        gradient = global_gradients(energy, y)[:, k]
        label = f"{_short(names[i])} → {_short(names[k])}"
        axes.plot(steps, gradient - gradient[0], label=label, **line_style(number))
    axes.axhline(0, color=GREY, linewidth=0.7)
    axes.set_xlabel("y_i", fontsize=9)
    axes.legend(fontsize=7, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    tidy(axes, "∂E/∂y_k less its value at y_i = 0")


def _short(name: str, most: int = 16) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"
