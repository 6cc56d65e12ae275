"""Images with a part given, completed by several methods, beside the true ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from lossnet.drawing.page import IMAGE, RED, Page, image_stack
from lossnet.errors import DataError


def put_completions(
    page: Page,
    left: float,
    top: float,
    upper: ArrayLike,
    truth: ArrayLike,
    predictions: Mapping[str, ArrayLike],
) -> tuple[float, float]:
    """Put one column a method on the page; return their width and height."""
    given, whole = image_stack(upper, "upper"), image_stack(truth, "truth")
    n, height, width = whole.shape
    if given.shape[0] != n or given.shape[2] != width or given.shape[1] >= height:
        raise DataError(
            f"upper has shape {given.shape}: expected ({n}, fewer than {height}, {width})"
        )
    blank = np.zeros((n, height - given.shape[1], width))
    columns = {"given": np.concatenate([given, blank], axis=1)}
    for name, values in predictions.items():
        array = image_stack(values, name)
        if array.shape == blank.shape:
            array = np.concatenate([given, array], axis=1)
        if array.shape != whole.shape:
            raise DataError(f"{name} has shape {array.shape}: expected {whole.shape}")
        columns[name] = array
    columns["true"] = whole

    vmax = float(whole.max()) or 1.0
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
