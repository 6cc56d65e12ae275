"""Label sets as coloured chips beside their images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike

from lossnet.drawing.page import (
    GREY,
    IMAGE,
    INK,
    MISSING_FILL,
    RED,
    RIGHT_FILL,
    WRONG_FILL,
    Page,
    image_stack,
)
from lossnet.errors import DataError

LabelSets = Sequence[Sequence[str]]

CELL = 2.5
CHIP = 0.2
GAP = 0.06

# Wrong labels are bold as well as red, for those who do not see red beside green.
CHIP_TEXT: dict[str, dict[str, Any]] = {
    "right": {"color": INK},
    "wrong": {"color": RED, "weight": "bold"},
    "missing": {"color": GREY},
    "remark": {"color": GREY, "style": "italic"},
}
CHIP_FILL = {"right": RIGHT_FILL, "wrong": WRONG_FILL, "missing": MISSING_FILL, "remark": "none"}


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
            raise DataError(f"{name} has {len(sets)} entries for {len(pixels)} images")
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
    """One predicted label set as chips, wrapped to the cell; returns where it ends."""
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
