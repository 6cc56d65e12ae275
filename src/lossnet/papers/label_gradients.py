"""SEAL's Figure 2: what one label does to the global energy's gradient for another.

∂E_global/∂y_k at y = t e_i, as t goes from 0 to 1 with all other labels at 0 (paper 000, section 5,
leaves open where they are). Below its value at t = 0, label i draws label k along; cross-entropy's
gradient for k does not depend on i.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.drawing.lines import line_style, save_lines, tidy
from lossnet.drawing.page import GREY, new_figure
from lossnet.papers.figures import Studio

METHODS = ("dvn", "seal-nce")
#: Rows that a label, or a pair that goes together, must have at least; pairs that are drawn.
FEWEST, PAIRS = 10, 4
GRID = 21


def global_gradients(energy: Any, y: Tensor) -> Tensor:
    """∂E_global/∂y at outputs ``(n, L)``: the energy of inputs that say nothing."""
    y = y.detach().requires_grad_(True)
    (found,) = torch.autograd.grad(energy(torch.zeros_like(y), y.unsqueeze(0)).sum(), y)
    return found.detach()


def changes(energy: Any, labels: int) -> np.ndarray:
    """How the gradient for label k changes as label i goes from 0 to 1: row i, column k."""
    at = global_gradients(energy, torch.cat([torch.zeros(1, labels), torch.eye(labels)]))
    return np.asarray((at[1:] - at[:1]).numpy())


def association(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """p(k on | i on) - p(k on) by training rows, row i, column k; and which pairs are frequent."""
    Y = np.asarray(Y, dtype=np.float64)
    both, count = Y.T @ Y, Y.sum(0)
    given = both / np.maximum(count, 1.0)[:, None]
    frequent = (count >= FEWEST)[:, None] & (count >= FEWEST)[None, :]
    # A label that is nearly always on has nothing to learn from others.
    known = frequent & ~np.eye(len(count), dtype=bool) & (count <= 0.9 * len(Y))[None, :]
    return given - count / len(Y), known


def draw(studio: Studio) -> list[Path]:
    """One picture for each data set and method."""
    found = []
    for data in studio.data:
        for method in METHODS:
            model = studio.fitted(data, studio.unfitted(data, method))
            path = studio.out / f"seal-figure2-{data}-{method}.png"
            found.append(draw_one(model, studio.parts(data).train, path, f"{method} on {data}"))
    return found


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
