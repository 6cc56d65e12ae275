"""Draw the predictions of `lossnet demo`: label sets and completed digits of the first seed.

    lossnet demo --out demo
    python examples/demo_picture.py demo      # writes demo/demo.png

Label sets: the first test digits where cross-entropy or the refined learned loss predicts a
contradictory set, and what the default predicts there. Lower halves: the first digits where the two
differ.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnet.drawing.page import GREY, INK, RED, Page

SHOWN = ("cross-entropy", "seal-nce, refined")
DEFAULT = "default"
MARGIN = 0.25
IMAGE = 0.62
RIGHT_FILL, WRONG_FILL, MISSING_FILL = "#e3efe3", "#fbe3e3", "#f2f2f2"

LabelSets = Sequence[Sequence[str]]

CELL = 2.5
CHIP = 0.2
GAP = 0.06

# Wrong labels are bold as well as red, for readers who cannot tell red from green.
CHIP_TEXT: dict[str, dict[str, Any]] = {
    "right": {"color": INK},
    "wrong": {"color": RED, "weight": "bold"},
    "missing": {"color": GREY},
    "remark": {"color": GREY, "style": "italic"},
}
CHIP_FILL = {"right": RIGHT_FILL, "wrong": WRONG_FILL, "missing": MISSING_FILL, "remark": "none"}


def draw(folder: Path) -> Path:
    """Draw the predictions in a folder that ``lossnet demo`` wrote."""
    with np.load(folder / "predictions.npz") as stored:
        arrays = dict(stored)
    names = arrays["digits-attributes/labels"]
    truths = arrays["digits-attributes/Y"].astype(bool)
    shown = [*SHOWN, DEFAULT]
    sets = {name: arrays[f"digits-attributes/{name}"].astype(bool) for name in shown}
    marked = {name: contradictory(values, truths) for name, values in sets.items()}
    rows = first(np.any(list(marked.values()), axis=0), 6)
    halves = {name: arrays[f"digits-completion/{name}"] for name in SHOWN}
    below = first((halves[SHOWN[0]] != halves[SHOWN[1]]).any(axis=1), 8)
    upper = arrays["digits-completion/X"][below].reshape(-1, 4, 8)
    lower = arrays["digits-completion/Y"][below].reshape(-1, 4, 8)
    return draw_demo(
        folder / "demo.png",
        images=np.clip(arrays["digits-attributes/X"][rows], 0, 1).reshape(-1, 8, 8),
        truths=[list(names[row]) for row in truths[rows]],
        label_predictions={n: [list(names[row]) for row in Y[rows]] for n, Y in sets.items()},
        contradictions={name: flags[rows].tolist() for name, flags in marked.items()},
        upper=upper,
        truth=np.concatenate([upper, lower], axis=1),
        completions={name: Y[below].reshape(-1, 4, 8) for name, Y in halves.items()},
    )


def contradictory(predicted: np.ndarray, truths: np.ndarray) -> np.ndarray:
    """Which predicted label sets equal no true one."""
    known = {row.tobytes() for row in truths}
    return np.array([row.tobytes() not in known for row in predicted])


def first(wanted: np.ndarray, most: int) -> np.ndarray:
    """The first rows where ``wanted`` holds; if it never does, the first rows."""
    rows = np.flatnonzero(wanted)[:most]
    return rows if len(rows) else np.arange(min(most, len(wanted)))


def draw_demo(
    path: str | Path,
    *,
    images: ArrayLike,
    truths: LabelSets,
    label_predictions: Mapping[str, LabelSets],
    contradictions: Mapping[str, Sequence[bool]],
    upper: ArrayLike,
    truth: ArrayLike,
    completions: Mapping[str, ArrayLike],
) -> Path:
    """Draw images with each method's label sets and, to their right, completed images.

    Correct labels are green, wrong ones red and bold, missing ones grey and struck through; a set
    that contradicts itself has a red frame.

    Args:
        path: the picture to write; its suffix determines the format.
        images: (n, H, W), 0 is white.
        truths: the true label set of each image.
        label_predictions: predicted label sets by method, one per image.
        contradictions: one bool per image by method; absent methods have no contradictions.
        upper: (n, h, W), the given upper parts.
        truth: (n, H, W), the complete images.
        completions: by method (n, H, W), or (n, H - h, W) for only the missing parts.
    """
    page = Page()
    top = MARGIN + 0.4
    left = MARGIN
    title(page, left, "Label sets: the first test digits with a contradiction")
    width, height = put_label_sets(
        page, left, top, images, truths, label_predictions, contradictions
    )
    left += width + 0.6
    title(page, left, "Lower halves: the first that differ")
    wide, high = put_completions(page, left, top, upper, truth, completions)
    return page.save(path, left + wide + MARGIN, top + max(height, high) + MARGIN)


def title(page: Page, x: float, words: str) -> None:
    page.text(x, MARGIN + 0.08, words, size=12, weight="bold")


def image_stack(values: ArrayLike, name: str) -> np.ndarray:
    """``values`` as an array of images (n, H, W)."""
    array = np.asarray(values, dtype=float)
    if array.ndim != 3 or 0 in array.shape:
        raise ValueError(f"{name} has shape {array.shape}: expected (images, height, width)")
    return array


def put_label_sets(
    page: Page,
    left: float,
    top: float,
    images: ArrayLike,
    truths: LabelSets,
    predictions: Mapping[str, LabelSets],
    contradictions: Mapping[str, Sequence[bool]],
) -> tuple[float, float]:
    """Put the rows of images and label sets on the page; return their width and height."""
    pixels = image_stack(images, "images")
    for name, sets in (("truths", truths), *predictions.items(), *contradictions.items()):
        if len(sets) != len(pixels):
            raise ValueError(f"{name} has {len(sets)} entries for {len(pixels)} images")
    first = left + IMAGE + 0.25
    starts = {name: first + k * (CELL + 0.2) for k, name in enumerate(predictions)}
    for name, x in starts.items():
        page.text(x + 0.08, top + 0.1, name, size=10, weight="bold")
    y = top + 0.32
    for i, picture in enumerate(pixels):
        bottoms = [y + IMAGE]
        for name, x in starts.items():
            wrong_together = name in contradictions and bool(contradictions[name][i])
            bottoms.append(
                _cell(page, x, y, list(truths[i]), list(predictions[name][i]), wrong_together)
            )
        page.image(left, y, IMAGE, picture, vmax=float(pixels.max()) or 1.0)
        y = max(bottoms) + 0.14
    width = first - left + len(starts) * (CELL + 0.2) - 0.2
    _legend(page, left, y + 0.12)
    return width, y + 0.24 - top


def _cell(
    page: Page, x: float, y: float, truth: list[str], predicted: list[str], framed: bool
) -> float:
    """Draw one predicted label set as chips, wrapped to the cell; return where it ends."""
    chips = [(name, "right" if name in truth else "wrong") for name in predicted]
    chips += [(name, "missing") for name in truth if name not in predicted]
    if not predicted:
        chips.insert(0, ("nothing predicted", "remark"))
    at, line = 0.08, 0
    places = []
    for name, kind in chips:
        width = _chip_width(page, name, kind)
        if at + width > CELL - 0.08 and at > 0.08:
            at, line = 0.08, line + 1
        places.append((at, line, width, name, kind))
        at += width + GAP
    tall = (line + 1) * (CHIP + GAP) - GAP
    height = max(tall + 0.16, IMAGE)
    first = y + (height - tall) / 2
    for at, line, width, name, kind in places:
        _chip(page, x + at, first + line * (CHIP + GAP), width, name, kind)
    if framed:
        page.box(x, y, CELL, height, facecolor="none", edgecolor=RED, linewidth=1.8)
    return y + height


def _chip_width(page: Page, name: str, kind: str) -> float:
    return page.width_of(name, **CHIP_TEXT[kind]) + 0.14


def _chip(page: Page, x: float, y: float, width: float, name: str, kind: str) -> None:
    page.box(x, y, width, CHIP, facecolor=CHIP_FILL[kind], edgecolor="none")
    page.text(x + 0.07, y + CHIP / 2, name, **CHIP_TEXT[kind])
    if kind == "missing":
        page.line((x + 0.05, x + width - 0.05), (y + CHIP / 2,) * 2, color=GREY, linewidth=0.9)


def _legend(page: Page, x: float, y: float) -> None:
    for kind in ("right", "wrong", "missing"):
        width = _chip_width(page, kind, kind)
        _chip(page, x, y - CHIP / 2, width, kind, kind)
        x += width + 0.1
    width = page.width_of("contradicts itself") + 0.14
    style = {"facecolor": "none", "edgecolor": RED, "linewidth": 1.5}
    page.box(x, y - CHIP / 2, width, CHIP, **style)
    page.text(x + 0.07, y, "contradicts itself")


def put_completions(
    page: Page,
    left: float,
    top: float,
    upper: ArrayLike,
    truth: ArrayLike,
    predictions: Mapping[str, ArrayLike],
) -> tuple[float, float]:
    """Put one column per method on the page; return their width and height."""
    given, true = image_stack(upper, "upper"), image_stack(truth, "truth")
    n, height, width = true.shape
    if given.shape[0] != n or given.shape[2] != width or given.shape[1] >= height:
        raise ValueError(
            f"upper has shape {given.shape}: expected ({n}, fewer than {height}, {width})"
        )
    blank = np.zeros((n, height - given.shape[1], width))
    columns = {"given": np.concatenate([given, blank], axis=1)}
    for name, values in predictions.items():
        array = image_stack(values, name)
        if array.shape == blank.shape:
            array = np.concatenate([given, array], axis=1)
        if array.shape != true.shape:
            raise ValueError(f"{name} has shape {array.shape}: expected {true.shape}")
        columns[name] = array
    columns["true"] = true

    vmax = float(true.max()) or 1.0
    tall = IMAGE * height / width
    x = left
    for name, arrays in columns.items():
        page.text(x, top + 0.1, name, size=10, weight="bold")
        y = top + 0.32
        for picture in arrays:
            page.image(x, y, IMAGE, picture, vmax=vmax)
            cut = y + tall * given.shape[1] / height
            page.line((x, x + IMAGE), (cut, cut), color=RED, linewidth=1, linestyle=":")
            y += tall + 0.14
        x += max(IMAGE, page.width_of(name, size=10, weight="bold")) + 0.22
    return x - 0.22 - left, y - top


if __name__ == "__main__":
    print(draw(Path(sys.argv[1] if len(sys.argv) > 1 else "demo")))
