"""Pictures of predictions: label sets beside their images, completed images beside the true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from lossnet.demo.completions import put_completions
from lossnet.demo.label_sets import LabelSets, put_label_sets
from lossnet.drawing.page import Page
from lossnet.reports.history import draw_history

__all__ = ["draw_completions", "draw_demo", "draw_history", "draw_label_sets"]

MARGIN = 0.25


def draw_label_sets(
    images: ArrayLike,
    truths: LabelSets,
    predictions: Mapping[str, LabelSets],
    contradictions: Mapping[str, Sequence[bool]],
    path: str | Path,
    *,
    title: str = "",
) -> Path:
    """Images, and beside each the label set each method predicts.

    A right label is green, a wrong one red and bold, a missing one grey and struck through; a
    set that contradicts itself has a red frame.

    Args:
        images: (n, H, W), 0 is white.
        truths: the gold label set of each image.
        predictions: method name to predicted label sets, one an image.
        contradictions: method name to one bool an image; a method left out has none.
        path: the picture to write; its suffix is the format.
        title: above the picture.
    """
    page = Page()
    top = _title(page, title)
    width, height = put_label_sets(page, MARGIN, top, images, truths, predictions, contradictions)
    return page.save(path, width + 2 * MARGIN, top + height + MARGIN)


def draw_completions(
    upper: ArrayLike,
    truth: ArrayLike,
    predictions: Mapping[str, ArrayLike],
    path: str | Path,
    *,
    title: str = "",
) -> Path:
    """The given upper part of each image, its completion by each method, and the true image.

    Args:
        upper: (n, h, W), what was given.
        truth: (n, H, W), the whole images.
        predictions: method name to (n, H, W), or (n, H - h, W) for only what was missing.
        path: the picture to write; its suffix is the format.
        title: above the picture.
    """
    page = Page()
    top = _title(page, title)
    width, height = put_completions(page, MARGIN, top, upper, truth, predictions)
    return page.save(path, width + 2 * MARGIN, top + height + MARGIN)


def draw_demo(
    path: str | Path,
    *,
    images: ArrayLike,
    truths: LabelSets,
    label_predictions: Mapping[str, LabelSets],
    contradictions: Mapping[str, Sequence[bool]],
    upper: ArrayLike,
    whole: ArrayLike,
    completions: Mapping[str, ArrayLike],
    titles: tuple[str, str] = ("Label sets of a digit", "The lower half of a digit"),
) -> Path:
    """:func:`draw_label_sets` and, to its right, :func:`draw_completions`, in one picture."""
    page = Page()
    top = _title(page, titles[0])
    width, height = put_label_sets(
        page, MARGIN, top, images, truths, label_predictions, contradictions
    )
    left = MARGIN + width + 0.6
    _title(page, titles[1], left)
    wide, high = put_completions(page, left, top, upper, whole, completions)
    return page.save(path, left + wide + MARGIN, top + max(height, high) + MARGIN)


def _title(page: Page, title: str, x: float = MARGIN) -> float:
    """Write the title; return where the picture below it starts."""
    if not title:
        return MARGIN
    page.text(x, MARGIN + 0.08, title, size=12, weight="bold")
    return MARGIN + 0.4
