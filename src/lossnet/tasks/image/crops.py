"""Images as a source of batches: random crops to learn from, fixed ones to predict on.

Images are ``(n, channels, H, W)``, targets ``(n, H, W)`` or ``(n, H, W, C)``. A crop is known by
one number, which holds its image, its place and whether it is mirrored: a batch is a list of
numbers, and all randomness is in the generator that draws them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.context import Batch
from lossnet.tasks.image.images import ImageData, Size
from lossnet.tasks.standardiser import Standardiser
from lossnet.training.source import random_order, row_slices


def tensors_of(
    data: ImageData, standardiser: Standardiser | None, classes: int, device: str
) -> tuple[Tensor, Tensor | None]:
    """Images, standardised, and where there are masks the targets."""
    values = data.floats()
    values = values if standardiser is None else standardiser(values)
    images = torch.as_tensor(np.ascontiguousarray(values.transpose(0, 3, 1, 2)), device=device)
    if data.masks is None:
        return images, None
    targets = torch.as_tensor(data.masks, device=device)
    targets = F.one_hot(targets, classes) if classes > 2 else targets
    return images, targets.to(images.dtype)


class RandomCrops:
    """Every image several times per epoch, in random crops, mirrored left to right at random.

    Args:
        images: the images.
        targets: their targets, or None.
        crop: height and width of a crop; the images' own to crop nothing.
        flip: mirror half of the crops.
        times: crops of each image per epoch; where images are few, an epoch of one crop each is
            too short to judge by.
    """

    def __init__(
        self,
        images: Tensor,
        targets: Tensor | None = None,
        *,
        crop: Size,
        flip: bool = True,
        times: int = 1,
    ) -> None:
        self._images, self._targets, self._crop = images, targets, crop
        self._times = times
        self._flips = 2 if flip else 1
        height, width = images.shape[-2:]
        self._places = (height - crop[0] + 1, width - crop[1] + 1)

    def __len__(self) -> int:
        return len(self._images) * self._times

    def batch(self, rows: Tensor | slice) -> Batch:
        numbers = self._unmoved(rows) if isinstance(rows, slice) else rows
        place, flip = numbers // self._flips, numbers % self._flips
        down, right = self._places
        row, place = place // (down * right), place % (down * right)
        views = zip(row.tolist(), (place // right).tolist(), (place % right).tolist(), strict=True)
        return _cut(self._images, self._targets, list(views), self._crop, flip.bool())

    def _unmoved(self, rows: slice) -> Tensor:
        """The crops of the upper left corner, not mirrored."""
        down, right = self._places
        images = torch.arange(len(self), device="cpu")[rows] % len(self._images)
        return images * (down * right * self._flips)

    def shuffled(self, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        order = random_order(len(self), generator) % len(self._images)
        views = self._places[0] * self._places[1] * self._flips
        drawn = torch.randint(views, (len(self),), generator=generator, device=order.device)
        return (order * views + drawn).split(size)

    def in_order(self, size: int) -> Sequence[slice]:
        return row_slices(len(self), size)


class FixedCrops:
    """The same crops of every image, one image after the other.

    :meth:`average` puts together again what was found on them.

    Args:
        images: the images.
        targets: their targets, or None.
        crop: height and width of a crop.
        side: crops per side, see :func:`corners`.
    """

    def __init__(
        self,
        images: Tensor,
        targets: Tensor | None = None,
        *,
        crop: Size,
        side: int = 1,
    ) -> None:
        self._images, self._targets, self._crop = images, targets, crop
        height, width = images.shape[-2:]
        self._corners = corners((height, width), crop, side)

    def __len__(self) -> int:
        return len(self._images) * len(self._corners)

    def batch(self, rows: Tensor | slice) -> Batch:
        numbers = range(len(self))[rows] if isinstance(rows, slice) else rows.tolist()
        count = len(self._corners)
        views = [(number // count, *self._corners[number % count]) for number in numbers]
        return _cut(self._images, self._targets, views, self._crop)

    def shuffled(self, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        return random_order(len(self), generator).split(size)

    def in_order(self, size: int) -> Sequence[slice]:
        return row_slices(len(self), size)

    def average(self, outputs: Tensor, axis: int = 0) -> Tensor:
        """Outputs of images ``(n, H, W, ...)`` from those of crops, the mean where they overlap.

        ``axis`` is the one that counts images: 1 where steps come first.
        """
        if axis:
            return torch.stack([self.average(step) for step in outputs])
        if len(self._corners) == 1:
            return outputs
        (height, width), (h, w) = self._images.shape[-2:], self._crop
        found = outputs.unflatten(0, (len(self._images), len(self._corners)))
        total = outputs.new_zeros((len(self._images), height, width, *outputs.shape[3:]))
        times = outputs.new_zeros((height, width, *[1] * (outputs.dim() - 3)))
        for number, (down, right) in enumerate(self._corners):
            total[:, down : down + h, right : right + w] += found[:, number]
            times[down : down + h, right : right + w] += 1
        return total / times


def corners(size: Size, crop: Size, count: int) -> list[Size]:
    """Upper left corners of ``count`` x ``count`` crops, evenly spread, that cover an image.

    Equal ones are given once; there are more than ``count`` per side where it takes more to
    leave no gap.

    >>> corners((32, 32), (24, 24), 2)
    [(0, 0), (0, 8), (8, 0), (8, 8)]
    """
    sides = []
    for whole, part in zip(size, crop, strict=True):
        most = whole - part
        steps = max(count - 1, -(-most // part))
        places = [round(most * step / steps) for step in range(steps + 1)] if steps else [0]
        sides.append(sorted(set(places)))
    return [(down, right) for down in sides[0] for right in sides[1]]


def _cut(
    images: Tensor,
    targets: Tensor | None,
    views: Sequence[tuple[int, int, int]],
    crop: Size,
    flip: Tensor | None = None,
) -> Batch:
    """The crops at (image, down, right); ``flip`` says which are mirrored."""
    h, w = crop
    x = torch.stack([images[i, :, a : a + h, b : b + w] for i, a, b in views])
    y = None
    if targets is not None:
        y = torch.stack([targets[i, a : a + h, b : b + w] for i, a, b in views])
    if flip is not None and flip.any():
        chosen = flip.to(x.device)
        x = torch.where(chosen.view(-1, 1, 1, 1), x.flip(3), x)
        if y is not None:
            y = torch.where(chosen.view(-1, *[1] * (y.dim() - 1)), y.flip(2), y)
    return Batch(x, y)
