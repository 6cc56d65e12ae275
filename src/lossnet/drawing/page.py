"""A page to draw on, measured in inches from its upper left corner; no global state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lossnet.errors import LossnetError
from lossnet.files import atomic_write

INK = "#222222"
GREY = "#9a9a9a"
RED = "#c62828"


class MissingMatplotlibError(LossnetError, ImportError):
    """A picture was asked for where matplotlib is not installed."""


def new_figure(width: float, height: float) -> Any:
    """A figure of ``width`` by ``height`` inches, drawn without a screen and without pyplot."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        remedy = "pictures need matplotlib, which is not installed: pip install 'lossnet[report]'"
        raise MissingMatplotlibError(remedy) from error
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | Path, *, dpi: int = 150) -> Path:
    """Write ``figure`` to ``path``, atomically; the suffix is the format, PNG without one."""
    kind = Path(path).suffix.lstrip(".").lower() or "png"
    return atomic_write(path, lambda file: figure.savefig(file, format=kind, dpi=dpi))


class Page:
    """A figure that grows to what is put on it.

    Positions and sizes are inches, y downwards; font sizes are points.
    """

    def __init__(self) -> None:
        self.figure = new_figure(1, 1)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.axis("off")
        self._renderer = self.figure.canvas.get_renderer()

    def text(
        self, x: float, y: float, words: str, *, size: float = 9, color: str = INK, **style: Any
    ) -> None:
        """Write ``words`` with the middle of their left edge at (x, y)."""
        style |= {"fontsize": size, "color": color, "va": "center_baseline"}
        self.axes.text(x, y, words, parse_math=False, **style)

    def width_of(self, words: str, *, size: float = 9, **style: Any) -> float:
        """The width of ``words`` in inches."""
        item = self.axes.text(0, 0, words, fontsize=size, parse_math=False, **style)
        width = float(item.get_window_extent(self._renderer).width) / self.figure.dpi
        item.remove()
        return width

    def line(self, xs: tuple[float, float], ys: tuple[float, float], **style: Any) -> None:
        """A straight line."""
        self.axes.plot(xs, ys, **style)

    def box(self, x: float, y: float, width: float, height: float, **style: Any) -> None:
        """A box with round corners, upper left corner at (x, y)."""
        from matplotlib.patches import FancyBboxPatch

        shape = "round,pad=0,rounding_size=0.05"
        self.axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=shape, **style))

    def image(
        self, x: float, y: float, size: float, pixels: ArrayLike, *, vmax: float = 1.0
    ) -> float:
        """A picture in a thin frame, upper left corner at (x, y); returns its height.

        Pixels (H, W) are grey, dark on white from 0 to ``vmax``; (H, W, 3) colours from 0 to 1.
        """
        array = np.asarray(pixels, dtype=float)
        height = float(size * array.shape[0] / array.shape[1])
        extent, grey = (x, x + size, y + height, y), {"cmap": "gray_r", "vmin": 0, "vmax": vmax}
        self.axes.imshow(array, extent=extent, **grey, aspect="auto", interpolation="nearest")
        across, down = (x, x + size), (y, y + height)
        edges = [(across, (end, end)) for end in down] + [((end, end), down) for end in across]
        for xs, ys in edges:
            self.line(xs, ys, color="#c8c8c8", linewidth=0.6)
        return height

    def save(self, path: str | Path, width: float, height: float) -> Path:
        """Cut the page to ``width`` by ``height`` and write it."""
        self.figure.set_size_inches(width, height)
        self.axes.set(xlim=(0, width), ylim=(height, 0))
        return save_figure(self.figure, path)
