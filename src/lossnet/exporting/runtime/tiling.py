"""Where crops of an image lie, and how much each of their pixels counts where they overlap.

Crops that are averaged lie evenly and count alike. An image that has outgrown them is predicted in
tiles: neighbours overlap by up to half, an outer margin counts nothing, since a net sees too little
around it, and between the margins one tile gives way to the next.

An uncropped image is one tile unless it is large, see :func:`tile_of`. The margin of a large tile
covers what the convolutions of the library's nets read around a pixel, and tiles lie on a grid that
their strides divide. So tiles of an FCN give what one pass over the image gives; a U-Net also
normalises its maps over the tile, as over a crop in training.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .base import Array

#: Height and width.
Size = tuple[int, int]
#: The longest side of a tile of a large image; the maps of its pixels take some 500 MB.
TILE = 640
#: What the places of such tiles are multiples of.
_GRID = 16
#: The widest overlap of neighbours; a quarter of an overlap on either side is margin.
_OVERLAP = 96


@dataclass(frozen=True)
class Side:
    """Crops along one side of an image.

    Args:
        places: where they begin.
        weights: how much each of their pixels counts, ``(len(places), length of a crop)``.
    """

    places: list[int]
    weights: Array


def tile_of(size: Size) -> Size:
    """Height and width of a tile: the image's own, unless one is longer than :data:`TILE`.

    >>> tile_of((400, 500)), tile_of((640, 2000))
    ((400, 500), (640, 576))
    """
    height, width = map(_tile_side, size)
    return height, width


def _tile_side(length: int) -> int:
    """The length of as few tiles as cover a side with their overlaps."""
    if length <= TILE:
        return length
    overlap = min(_OVERLAP, TILE // 2)
    count = -(-(length - overlap) // (TILE - overlap))
    least = -(-(length + (count - 1) * overlap) // count)
    # The rest is a multiple of the grid, so that the last tile is on it too.
    return least + (length - least) % _GRID


def outgrown(size: Size, crop: Size, count: int) -> bool:
    """Whether ``count`` crops side by side, or two, are too few to cover a side of an image."""
    return any(length > part * max(count, 2) for length, part in zip(size, crop, strict=True))


def evenly(length: int, part: int, count: int) -> Side:
    """``count`` crops, evenly spread, that count alike.

    Equal ones are given once; there are more than ``count`` where it takes more to leave no gap.

    >>> evenly(32, 24, 2).places, evenly(8, 8, 3).places
    ([0, 8], [0])
    """
    steps = max(count - 1, -(-(length - part) // part))
    places = sorted(
        {round((length - part) * k / steps) for k in range(steps + 1)} if steps else {0}
    )
    return Side(places, np.ones((len(places), part), dtype=np.float32))


def tiled(length: int, part: int, grid: int = 1) -> Side:
    """Overlapping tiles that give way to each other.

    >>> tiled(100, 40).places, tiled(40, 40).places
    ([0, 20, 40, 60], [0])
    >>> print(tiled(100, 40).weights[1, [0, 5, 10, 14, 20]])
    [0.   0.05 0.55 0.95 1.  ]
    """
    overlap = min(_OVERLAP, part // 2)
    margin = overlap // 4
    most = length - part
    steps = -(-most // (part - overlap))
    places = [round(most * k / steps / grid) * grid for k in range(steps + 1)] if steps else [0]
    inside = np.arange(part, dtype=np.float32) + np.float32(0.5)
    rising = ((inside - margin) / np.float32(max(1, overlap - 2 * margin))).clip(0.0, 1.0)
    weights = np.ones((len(places), part), dtype=np.float32)
    weights[1:] *= rising
    weights[:-1] *= rising[::-1]
    return Side(places, weights)


def sides_of(size: Size, crop: Size, count: int) -> tuple[Side, Side]:
    """Crops down and across an image: ``count`` each, or tiles where it has outgrown them."""
    grid = _GRID if crop == tile_of(size) else 1
    tiles = grid > 1 or outgrown(size, crop, count)
    pairs = zip(size, crop, strict=True)
    down, across = (tiled(n, m, grid) if tiles else evenly(n, m, count) for n, m in pairs)
    return down, across
