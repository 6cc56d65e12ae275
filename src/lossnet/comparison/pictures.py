"""Pictures as numbers: where a template draws their lines, dots, ticks and texts.

The templates draw them as SVG with colours from the page's style sheet, so that they follow light
and dark. A series' ``style`` is a class there: ``c0`` to ``c7``, ``quiet``, ``guide``.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

#: Different colours of series.
COLOURS = 8
#: Size of a chart, and the margins of its panel: left, top, right, bottom.
WIDTH, HEIGHT = 340.0, 220.0
LEFT, TOP, RIGHT, BOTTOM = 46.0, 12.0, 12.0, 40.0
#: Most points of a line; longer ones are thinned out.
_MOST = 200


def colour(index: int) -> str:
    """The class of a series of that number: the colours in turn, then the same hollow."""
    turn, place = divmod(index, COLOURS)
    return f"c{place} hollow" if turn % 2 else f"c{place}"


@dataclass(frozen=True)
class Series:
    """Points to draw.

    Args:
        name: what it is; shown by a pointer and where the chart has a legend.
        points: ``(n, 2)``; points that are not finite are left out.
        style: its class.
        line: whether to connect the points.
        dots: whether to mark them.
    """

    name: str
    points: ArrayLike
    style: str = "c0"
    line: bool = True
    dots: bool = False


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Drawn:
    """A series in the coordinates of its chart: ``path`` of the line, and dots."""

    name: str
    style: str
    path: str
    dots: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Chart:
    """Lines and dots on two axes.

    Args:
        title: above the chart.
        words: what it shows, for who cannot see it.
        x_label, y_label: of the axes.
        x_ticks, y_ticks: positions are coordinates of the chart.
        series: what is drawn.
        legend: name and class of series to name below the chart.
    """

    title: str
    words: str
    x_label: str
    y_label: str
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    series: Sequence[Drawn]
    legend: Sequence[tuple[str, str]] = ()
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    top: float = TOP
    right: float = WIDTH - RIGHT
    bottom: float = HEIGHT - BOTTOM


@dataclass(frozen=True)
class Axis:
    """What an axis shows: its name, its ends (None: those of the points), and whether it is log."""

    label: str
    low: float | None = None
    high: float | None = None
    log: bool = False

    def fitted(self, values: np.ndarray) -> Axis:
        """The axis with its ends, in logarithms where it is log."""
        ends = [self.low, self.high]
        if self.log:
            values, ends = np.log10(values), [None if e is None else math.log10(e) for e in ends]
        low = float(values.min()) if ends[0] is None else ends[0]
        high = float(values.max()) if ends[1] is None else ends[1]
        room = 0.05 * (high - low) or 0.05 * abs(high) or 0.5
        low = low - room if ends[0] is None else low
        high = high + room if ends[1] is None else high
        return Axis(self.label, low, high, self.log)

    def place(self, values: np.ndarray, start: float, end: float) -> np.ndarray:
        """Coordinates of values, from ``start`` at the low end to ``end``."""
        assert self.low is not None
        assert self.high is not None
        values = np.log10(values) if self.log else values
        placed: np.ndarray = start + (values - self.low) / (self.high - self.low) * (end - start)
        return placed

    def ticks(self, start: float, end: float, count: int = 5) -> list[Tick]:
        """Round numbers along the axis."""
        assert self.low is not None
        assert self.high is not None
        values = (
            _round_powers(self.low, self.high)
            if self.log
            else round_numbers(self.low, self.high, count)
        )
        places = self.place(np.array(values, dtype=float), start, end)
        return [Tick(round(float(at), 1), _text(v)) for at, v in zip(places, values, strict=True)]


def chart(
    title: str, series: Sequence[Series], x: Axis, y: Axis, *, legend: bool = False
) -> Chart | None:
    """A chart of the series, or None where they have no finite point."""
    arrays = [_finite(one.points, x.log) for one in series]
    points = np.concatenate([array for array in arrays if len(array)] or [np.empty((0, 2))])
    if not len(points):
        return None
    across, up = x.fitted(points[:, 0]), y.fitted(points[:, 1])
    left, right, top, bottom = LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM
    drawn = []
    for one, array in zip(series, arrays, strict=True):
        if not len(array):
            continue
        xs, ys = across.place(array[:, 0], left, right), up.place(array[:, 1], bottom, top)
        places = [(round(float(a), 1), round(float(b), 1)) for a, b in zip(xs, ys, strict=True)]
        path = " ".join(f"{a:g},{b:g}" for a, b in places) if one.line else ""
        drawn.append(
            Drawn(one.name, one.style, path, places if one.dots or len(places) == 1 else [])
        )
    names = dict.fromkeys((one.name, one.style) for one in drawn) if legend else {}
    words = f"{title}: {y.label} against {x.label}"
    ticks = across.ticks(left, right), up.ticks(bottom, top)
    return Chart(title, words, x.label, y.label, *ticks, drawn, list(names))


def _finite(points: ArrayLike, log: bool) -> np.ndarray:
    array = np.asarray(points, dtype=float).reshape(-1, 2)
    array = array[np.isfinite(array).all(1)]
    if log:
        array = array[array[:, 0] > 0]
    if len(array) > _MOST:
        array = array[np.linspace(0, len(array) - 1, _MOST).round().astype(int)]
    return array


def round_numbers(low: float, high: float, count: int = 5) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten between two numbers, some ``count`` of them.

    >>> round_numbers(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    step = (high - low) / max(count, 1)
    if not step > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(step))
    step = next(k * power for k in (1, 2, 5, 10) if k * power >= step * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def _round_powers(low: float, high: float) -> list[float]:
    """Round numbers between two powers of ten: the more of each power, the fewer powers there are.

    >>> _round_powers(-0.7, 1.6)
    [0.3, 1.0, 3.0, 10.0, 30.0]
    """
    powers = range(math.floor(low), math.ceil(high) + 1)
    steps = (1, 2, 5) if high - low < 2 else (1, 3) if high - low < 4 else (1,)
    values = [float(f"{k}e{power}") for power in powers for k in steps]
    found = [value for value in values if low <= math.log10(value) <= high]
    return found if len(found) > 2 else round_numbers(10.0**low, 10.0**high)


def _text(value: float) -> str:
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:g}".replace("-", "−")


#: Width of a map's cells together, how many names can be read along it, and how long.
SIDE, NAMED, LONGEST = 250.0, 32, 16


@dataclass(frozen=True)
class HeatMap:
    """A square of cells, blue above 0 and orange below.

    Args:
        title: above the map.
        words: what it shows, for who cannot see it, and its scale.
        names: of rows and columns alike; where there are too many to be read, none.
        picture: its cells as a ``data:`` address, one pixel each.
        margin: room for the names.
    """

    title: str
    words: str
    names: Sequence[str]
    picture: str
    margin: float
    side: float = SIDE


def heat_map(title: str, values: ArrayLike, names: Sequence[str]) -> HeatMap:
    """A map of ``(L, L)`` numbers, NaN where there is none; the largest have the full colour."""
    array = np.array(values, dtype=float)
    known = np.abs(array[np.isfinite(array)])
    scale = float(np.quantile(known, 0.98)) if known.size else 0.0
    shown = np.clip(np.nan_to_num(array) / (scale or 1.0), -1, 1)
    pixels = np.zeros((*shown.shape, 4), dtype=np.uint8)
    pixels[shown > 0, :3] = (38, 110, 190)
    pixels[shown < 0, :3] = (214, 96, 40)
    pixels[..., 3] = np.round(255 * np.abs(shown))
    short = [shortened(name, LONGEST) for name in names] if len(names) <= NAMED else []
    margin = 6.0 + 5.4 * max(map(len, short), default=0)
    return HeatMap(title, f"full colour: ±{scale:.2g}", short, png(pixels), margin)


def shortened(text: str, longest: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def png(pixels: Any, *, tones: int | None = None) -> str:
    """Pixels ``(H, W)``, ``(H, W, 3)`` or ``(H, W, 4)`` of 0 to 255 as the address of a PNG.

    ``tones`` reduces colours to so many, for smaller files.
    """
    from PIL import Image

    file = io.BytesIO()
    picture = Image.fromarray(np.ascontiguousarray(pixels, dtype=np.uint8))
    if tones is not None:
        picture = picture.quantize(tones)
    picture.save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
