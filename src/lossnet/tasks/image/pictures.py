"""Pictures of segmented images: methods side by side, and a refinement step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnet.drawing.page import GREY, Page
from lossnet.errors import DataError, SettingError, unknown
from lossnet.tasks.image.disk_pictures import in_memory
from lossnet.tasks.image.images import ImageData, known_pixels
from lossnet.tasks.image.metrics import class_names, image_ious
from lossnet.tasks.image.picture_files import palette

CELL = 0.9
"""Width of an image."""
GAP = 0.08
MARGIN = 0.25
CAPTION = 0.2
"""Height of the line below an image."""
SWATCH = 0.12
"""Side of a colour in the legend."""
#: The colour of pixels whose class is not known, from 0 to 1.
_UNKNOWN_GREY = 0.5


def draw_segmentation(
    images: ArrayLike,
    truths: ArrayLike,
    predictions: Mapping[str, ArrayLike],
    path: str | Path,
    *,
    classes: int = 2,
    names: Sequence[str] | None = None,
    by: str | None = None,
    worst: int = 3,
    best: int = 3,
    title: str = "",
) -> Path:
    """A grid: the image, its truth and each method's mask, with their IoU.

    Args:
        images: (n, H, W) or (n, H, W, 3), uint8 or from 0 to 1.
        truths: masks (n, H, W).
        predictions: method name to masks (n, H, W), in the order of the columns.
        path: the picture to write; its suffix is the format.
        classes: how many classes there are.
        names: their names, for the legend; their numbers where None.
        by: the method whose worst and best images are shown; the last where None.
        worst: how many of the images of lowest IoU, the lowest first.
        best: how many of the images of highest IoU, the highest last.
        title: above the picture.
    """
    names = class_names(names, classes)
    data, true = _checked(images, truths)
    if not isinstance(predictions, Mapping) or not predictions:
        got = "none" if isinstance(predictions, Mapping) else f"a {type(predictions).__name__}"
        raise DataError(f"predictions must be masks by name, {{'model': masks}}, got {got}")
    by = list(predictions)[-1] if by is None else by
    if by not in predictions:
        raise unknown("method", by, predictions)
    ious = {name: image_ious(true, masks, classes) for name, masks in predictions.items()}
    shown = worst_and_best(ious[by], worst=worst, best=best)
    truth = ("truth", _coloured(true, classes), None)
    columns: list[tuple[str, Any, Any]] = [("image", _pictures(data), None), truth]
    for name, masks in predictions.items():
        columns.append((name, _coloured(masks, classes), ious[name]))
    drawn = [np.asarray(masks)[shown] for masks in (true, *predictions.values())]
    return _grid(columns, shown, path, title, _legend(drawn, names))


def worst_and_best(values: ArrayLike, *, worst: int = 3, best: int = 3) -> list[int]:
    """The places of the lowest values, the lowest first, and of the highest, the highest last."""
    if min(worst, best) < 0 or worst + best < 1:
        rule = "worst and best must be at least 0, and one of them more"
        raise SettingError(f"{rule}, got {worst} and {best}")
    order: list[int] = np.argsort(values, kind="stable").tolist()
    return order if worst + best >= len(order) else order[:worst] + order[len(order) - best :]


def draw_refinement_frames(
    images: ArrayLike,
    truths: ArrayLike,
    frames: ArrayLike,
    path: str | Path,
    *,
    steps: Sequence[int] | None = None,
    classes: int = 2,
    names: Sequence[str] | None = None,
    title: str = "",
) -> Path:
    """A refinement from start to end: the image, its output after some steps, its truth.

    Args:
        images: (n, H, W) or (n, H, W, 3); every one is a row, so pass a few.
        truths: masks (n, H, W).
        frames: what :meth:`ImageSegmenter.refinement_path` gives, (steps + 1, n, H, W) or with
            more than two classes (steps + 1, n, H, W, C).
        path: the picture to write; its suffix is the format.
        steps: after how many steps; eight from the first to the last where None.
        classes: how many classes there are.
        names: their names, for the legend; their numbers where None.
        title: above the picture.
    """
    names = class_names(names, classes)
    data, true = _checked(images, truths)
    values = np.asarray(frames)
    expected = (len(data), *data.size) + (() if classes == 2 else (classes,))
    if values.shape[1:] != expected or not len(values):
        shape = f"(steps + 1, {', '.join(map(str, expected))}), since classes={classes}"
        remedy = "pass what refinement_path gives for these images, and the model's classes="
        raise DataError(f"frames have shape {values.shape}; expected {shape}: {remedy}")
    last = len(values) - 1
    if steps is None:
        steps = sorted({round(last * k / 7) for k in range(8)})
    if wrong := [step for step in steps if not 0 <= step <= last]:
        raise SettingError(f"steps must be from 0 to {last}, the last frame, got {wrong[0]}")
    columns: list[tuple[str, Any, Any]] = [("image", _pictures(data), None)]
    drawn = [true]
    for step in steps:
        masks = values[step] >= 0.5 if classes == 2 else values[step].argmax(-1)
        drawn.append(masks)
        ious = image_ious(true, masks, classes)
        columns.append((f"step {step}", _blended(values[step], classes), ious))
    columns.append(("truth", _coloured(true, classes), None))
    return _grid(columns, range(len(data)), path, title, _legend(drawn, names))


def _checked(images: ArrayLike, truths: ArrayLike) -> tuple[ImageData, np.ndarray]:
    """The images, and their masks as numbers of classes."""
    data = ImageData(in_memory(images), in_memory(truths))
    if data.masks is None:
        raise DataError("truths must be the true masks (n, H, W), got None")
    return data, data.masks


def _legend(masks: Sequence[np.ndarray], names: Sequence[str]) -> list[tuple[str, np.ndarray]]:
    """Name and colour of each class in the drawn masks."""
    numbers = sorted({int(number) for mask in masks for number in np.unique(mask)})
    classes = [number for number in numbers if number < len(names)]
    unknown = [("not known", np.full(3, _UNKNOWN_GREY))] if classes != numbers else []
    return [(names[number], _palette(len(names))[number]) for number in classes] + unknown


def _grid(
    columns: Sequence[tuple[str, Any, Any]],
    rows: Sequence[int],
    path: str | Path,
    title: str,
    legend: Sequence[tuple[str, np.ndarray]],
) -> Path:
    """Columns of pictures (name, (n, H, W, 3), IoU or None) in these rows, and a legend below."""
    page = Page()
    top = MARGIN
    if title:
        page.text(MARGIN, top + 0.08, title, size=12, weight="bold")
        top += 0.4
    for number, (name, _, _) in enumerate(columns):
        # A long name is written smaller, so that it ends before the next one.
        size = 8 * min(1.0, CELL / page.width_of(name, size=8))
        page.text(MARGIN + number * (CELL + GAP), top, name, size=size)
    y = top + 0.15
    for row in rows:
        height = 0.0
        for number, (_, pictures, ious) in enumerate(columns):
            x = MARGIN + number * (CELL + GAP)
            height = page.image(x, y, CELL, pictures[row])
            if ious is not None:
                page.text(x, y + height + 0.09, f"IoU {100 * ious[row]:.0f}", size=7, color=GREY)
        y += height + CAPTION
    width = 2 * MARGIN + len(columns) * (CELL + GAP) - GAP
    y = _draw_legend(page, legend, y + GAP, width - MARGIN)
    return page.save(path, width, y + MARGIN / 2)


def _draw_legend(
    page: Page, legend: Sequence[tuple[str, np.ndarray]], y: float, end: float
) -> float:
    """Colours with their names, in as many lines as they take; the y below them."""
    x = MARGIN
    for name, colour in legend:
        width = SWATCH + GAP / 2 + page.width_of(name, size=7)
        if x > MARGIN and x + width > end:
            x, y = MARGIN, y + CAPTION
        page.image(x, y, SWATCH, colour.reshape(1, 1, 3))
        page.text(x + SWATCH + GAP / 2, y + SWATCH / 2, name, size=7)
        x += width + 2 * GAP
    return y + CAPTION


def _pictures(data: ImageData) -> np.ndarray:
    """The images as colours from 0 to 1, whatever range they had."""
    values = data.floats().astype(float)
    if values.shape[-1] not in (1, 3):
        values = values.mean(-1, keepdims=True)
    low, high = values.min(), values.max()
    if low < 0 or high > 1:
        values = (values - low) / max(high - low, 1e-12)
    return np.broadcast_to(values, (*values.shape[:3], 3))


def _coloured(masks: ArrayLike, classes: int) -> np.ndarray:
    """Masks (n, H, W) in the colours of their classes."""
    numbers = np.asarray(masks).astype(int)
    if (known := known_pixels(numbers, classes)) is None:
        return _palette(classes)[numbers]
    coloured = _palette(classes)[np.where(known, numbers, 0)]
    return np.where(known[..., None], coloured, _UNKNOWN_GREY)


def _blended(proba: np.ndarray, classes: int) -> np.ndarray:
    """Probabilities as mixtures of the classes' colours."""
    if classes == 2:
        proba = np.stack([1.0 - proba, proba], -1)
    return np.clip(proba @ _palette(classes), 0.0, 1.0)


def _palette(classes: int) -> np.ndarray:
    return palette()[np.arange(classes) % len(palette())] / 255.0
