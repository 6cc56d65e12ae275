"""Images as a source of batches: random crops to learn from, fixed ones to predict on.

Images are ``(n, channels, H, W)``, targets ``(n, H, W)`` or ``(n, H, W, C)``. A crop is known by
one number, which holds its image, its place and whether it is mirrored: a batch is a list of
numbers, and all randomness is in the generator that draws them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.batch import Batch
from lossnet.exporting.runtime.tiling import sides_of
from lossnet.tasks.image.disk_pictures import DiskPictures
from lossnet.tasks.image.images import ImageData, Size, known_pixels
from lossnet.tasks.standardiser import Standardiser
from lossnet.training.source import random_order, row_slices


class DiskTensors:
    """Tensors of pictures on disk, each made when it is asked for.

    Args:
        data: the pictures.
        make: gives tensors ``(n, ...)`` of some of them.
    """

    def __init__(self, data: ImageData, make: Callable[[ImageData], Tensor]) -> None:
        self._data, self._make = data, make
        self.shape = (len(data), *make(data.subset([0])).shape[1:])

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, number: int) -> Tensor:
        return self._make(self._data.subset([number]))[0]


def pixels_of(
    data: ImageData, *, standardiser: Standardiser | None, classes: int, device: str
) -> tuple[Any, Any, Any]:
    """Images, standardised; where there are masks the targets; and which pixels are known.

    The last two may be None. Those of pictures on disk are :class:`DiskTensors`.
    """
    images = partial(image_tensor, standardiser=standardiser, device=device)
    targets = partial(target_tensor, classes=classes, device=device)
    known = partial(known_tensor, classes=classes, device=device)
    makes = [images, targets if data.labelled else None, known if data.n_unknown(classes) else None]
    on_disk = isinstance(data.images, DiskPictures)
    made: list[Any] = [
        None if make is None else DiskTensors(data, make) if on_disk else make(data)
        for make in makes
    ]
    return made[0], made[1], made[2]


def image_tensor(data: ImageData, standardiser: Standardiser | None, device: str) -> Tensor:
    """Images, standardised, ``(n, channels, H, W)``."""
    values = data.floats()
    values = values if standardiser is None else standardiser(values)
    return torch.as_tensor(np.ascontiguousarray(values.transpose(0, 3, 1, 2)), device=device)


def target_tensor(data: ImageData, classes: int, device: str) -> Tensor:
    """Targets of images with masks."""
    masks = np.asarray(data.masks)
    known = known_pixels(masks, classes)
    masks = masks if known is None else np.where(known, masks, 0)
    targets = torch.as_tensor(masks, device=device)
    targets = F.one_hot(targets, classes) if classes > 2 else targets
    return targets.to(torch.float32)


def known_tensor(data: ImageData, classes: int, device: str) -> Tensor:
    """Which pixels' classes are known, ``(n, H, W)``."""
    masks = np.asarray(data.masks)
    known = known_pixels(masks, classes)
    return torch.as_tensor(np.ones(masks.shape, bool) if known is None else known, device=device)


@dataclass(eq=False)
class Crops:
    """Crops of images, a batch of which is known by their numbers.

    Args:
        images: the images, tensors or :class:`DiskTensors`.
        targets: their targets, likewise, or None.
        crop: height and width of a crop; the images' own to crop nothing.
        times: crops of each image.
        known: which pixels of the targets are known, ``(n, H, W)``; None: all.
    """

    images: Any
    targets: Any = None
    _: KW_ONLY
    crop: Size
    times: int = 1
    known: Any = None

    def __len__(self) -> int:
        return len(self.images) * self.times

    def shuffled(self, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        return random_order(len(self), generator).split(size)

    def in_order(self, size: int) -> Sequence[slice]:
        return row_slices(len(self), size)

    def _cut(self, views: Sequence[tuple[int, int, int]]) -> Batch:
        """The crops at (image, down, right)."""
        h, w = self.crop
        inputs: list[Tensor] = []
        truth: list[list[Tensor]] = []
        both = [] if self.targets is None else [self.targets, self.known]
        for i, a, b in views:
            inputs.append(self.images[i][:, a : a + h, b : b + w])
            truth.append([one[i][a : a + h, b : b + w] for one in both if one is not None])
        x = torch.stack(inputs)
        if self.targets is None:
            return Batch(x)
        target, *known = map(torch.stack, zip(*truth, strict=True))
        return Batch(x, target, known=known[0] if known else None)


@dataclass(eq=False)
class RandomCrops(Crops):
    """Every image ``times`` times per epoch, in random crops, mirrored at random with ``flip``.

    Where images are few, an epoch of one crop each is too short to judge by; where they are many,
    an epoch of ``most`` crops is a random part of them.
    """

    flip: bool = True
    most: int | None = None

    def __post_init__(self) -> None:
        self._flips = 2 if self.flip else 1
        self._down, self._right = (
            side - part + 1 for side, part in zip(self.images.shape[-2:], self.crop, strict=True)
        )
        self._views: int = self._down * self._right * self._flips

    def __len__(self) -> int:
        every = super().__len__()
        return every if self.most is None else min(every, self.most)

    def batch(self, rows: Tensor | slice) -> Batch:
        if isinstance(rows, slice):  # crops of the upper left corner, not mirrored
            rows = self.examples(rows) * self._views
        place, flip = rows // self._flips, (rows % self._flips).bool()
        place, right = place // self._right, place % self._right
        row, down = place // self._down, place % self._down
        batch = self._cut(list(zip(row.tolist(), down.tolist(), right.tolist(), strict=True)))
        if not flip.any():
            return batch
        flip = flip.to(batch.x.device)

        def mirrored(one: Tensor | None, axis: int = 2) -> Tensor | None:
            if one is None:
                return None
            return torch.where(flip.view(-1, *[1] * (one.dim() - 1)), one.flip(axis), one)

        return Batch(mirrored(batch.x, 3), mirrored(batch.target), known=mirrored(batch.known))

    def examples(self, rows: Tensor | slice) -> Tensor:
        """The numbers of the images that rows are crops of."""
        if isinstance(rows, slice):
            return torch.arange(len(self), device="cpu")[rows] % len(self.images)
        return rows // self._views

    def shuffled(self, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        order = random_order(super().__len__(), generator)[: len(self)] % len(self.images)
        drawn = torch.randint(self._views, (len(self),), generator=generator, device=order.device)
        return (order * self._views + drawn).split(size)


@dataclass(eq=False)
class FixedCrops(Crops):
    """The same crops of every image, one image after the other, ``side`` x ``side`` or more.

    Where they lie is up to :mod:`~lossnet.exporting.runtime.tiling`; :meth:`average` puts together
    again what was found on them.
    """

    side: InitVar[int] = 1

    def __post_init__(self, side: int) -> None:
        height, width = self.images.shape[-2:]
        self._down, self._across = sides_of((height, width), self.crop, side)
        self._corners = [(a, b) for a in self._down.places for b in self._across.places]
        self.times = len(self._corners)

    def batch(self, rows: Tensor | slice) -> Batch:
        numbers = range(len(self))[rows] if isinstance(rows, slice) else rows.tolist()
        return self._cut([(k // self.times, *self._corners[k % self.times]) for k in numbers])

    def average(self, outputs: Tensor, axis: int = 0) -> Tensor:
        """Outputs of images ``(n, H, W, ...)`` from those of crops, a mean where they overlap.

        ``axis`` is the one that counts images: 1 where steps come first.
        """
        if axis:
            return torch.stack([self.average(step) for step in outputs])
        if self.times == 1:
            return outputs
        (height, width), (h, w) = self.images.shape[-2:], self.crop
        found = outputs.unflatten(0, (len(self.images), self.times))
        total = outputs.new_zeros((len(self.images), height, width, *outputs.shape[3:]))
        weight = outputs.new_zeros((height, width, *[1] * (outputs.dim() - 3)))
        every = itertools.product(self._down.weights, self._across.weights)
        for number, ((down, right), sides) in enumerate(zip(self._corners, every, strict=True)):
            own = weight.new_tensor(np.outer(*sides)).view(h, w, *weight.shape[2:])
            total[:, down : down + h, right : right + w] += own * found[:, number]
            weight[down : down + h, right : right + w] += own
        return total / weight
