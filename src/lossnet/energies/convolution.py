"""Energies of images and their masks: one number of the whole, or the mean of a map."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils import convert_conv2d_weight_memory_format

from lossnet import sparse
from lossnet.energies.base import Energy
from lossnet.errors import DataError
from lossnet.nets.convolution import FCNFeatures, FCNHead, Maps, planes


class _ImageEnergy(Energy):
    """What both have in common: a first convolution in two parts, one of x and one of y.

    conv([x; y]) = conv_x(x) + conv_y(y), so that the image is convolved once a batch.
    """

    def __init__(self, channels: int, outputs: int, *, width: int) -> None:
        super().__init__()
        self.outputs = outputs
        self.features = FCNFeatures(channels, width)
        self.first_of_output = nn.Conv2d(outputs, width, 5, padding=2, bias=False)
        convert_conv2d_weight_memory_format(self.first_of_output, torch.channels_last)

    def encode(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The image's part of the first convolution, ``(B, width, H, W)``."""
        first: Tensor = self.features.first(x)
        return first

    def _maps(self, h: Tensor, y: Tensor, mask: Tensor | None) -> Maps:
        """The feature maps of all candidates, ``(K B, ...)`` each."""
        y = sparse.dense(y, h.dtype)
        if mask is not None:
            covered = ~mask if self.outputs == 1 else ~mask.unsqueeze(-1)
            y = y.masked_fill(covered, 0.0)
        of_output = self.first_of_output(planes(y, self.outputs))
        first = of_output.unflatten(0, y.shape[:2]) + h
        return self.features.after(first.flatten(0, 1))

    def output_like(self, h: Tensor) -> Tensor:
        shape = (h.shape[0], *h.shape[2:], *([] if self.outputs == 1 else [self.outputs]))
        return h.new_zeros(shape)


class ConvolutionalCritic(_ImageEnergy):
    """E(x, y), one number: three convolutions on [x; y], then fully connected layers.

    The value network of DVN (Gygli et al., 2017) and loss-net of paper 000, section 4.4. It takes
    images of one size.

    Args:
        channels: channels of an image ``(B, channels, H, W)``.
        outputs: 1 for two classes, y ``(K, B, H, W)``; otherwise the classes, y
            ``(K, B, H, W, C)``.
        size: height and width of an image.
        width: maps of the first layer.
        hidden: widths of the fully connected layers.
        dropout: dropout after the first of these.

    >>> energy = ConvolutionalCritic(3, 1, size=(8, 8), width=4, hidden=(6,))
    >>> energy(energy.encode(torch.zeros(2, 3, 8, 8)), torch.zeros(5, 2, 8, 8)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self,
        channels: int,
        outputs: int,
        *,
        size: tuple[int, int],
        width: int = 64,
        hidden: Sequence[int] = (384, 192),
        dropout: float = 0.25,
    ) -> None:
        super().__init__(channels, outputs, width=width)
        self.size = tuple(size)
        # Two strides of 2, each rounding up.
        quarters = [-(-side // 4) for side in size]
        widths = [2 * width * quarters[0] * quarters[1], *hidden]
        layers: list[nn.Module] = [nn.Flatten()]
        for number in range(len(hidden)):
            layers += [nn.Linear(widths[number], widths[number + 1]), nn.ReLU()]
            if number == 0:
                layers.append(nn.Dropout(dropout))
        self.readout = nn.Sequential(*layers, nn.Linear(widths[-1], 1))

    def encode(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if tuple(x.shape[2:]) != self.size:
            height, width = x.shape[2:]
            raise DataError(
                f"the images are {height} x {width} and this energy takes {self.size[0]} x "
                f"{self.size[1]}; cut them to that size, or take ScoreMap, which takes any"
            )
        return super().encode(x, mask)

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        energies: Tensor = self.readout(self._maps(h, y, mask)[-1])
        return energies.view(y.shape[:2])


class ScoreMap(_ImageEnergy):
    """E(x, y) = -mean over pixels of s(x, y), a map that a fully convolutional network gives.

    The energy network of paper 004 on images. Being a mean, the value -E has the scale of one
    score whatever the image's size, so that ALEN's target of 1 makes sense; images may have any
    size.

    Args:
        channels: channels of an image.
        outputs: see :class:`ConvolutionalCritic`.
        width: maps of the first layer.
        dropout: dropout of the coarser maps.

    >>> energy = ScoreMap(3, 1, width=4)
    >>> energy(energy.encode(torch.zeros(2, 3, 9, 7)), torch.zeros(5, 2, 9, 7)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self, channels: int, outputs: int, *, width: int = 64, dropout: float = 0.0
    ) -> None:
        super().__init__(channels, outputs, width=width)
        self.head = FCNHead(1, width, dropout=dropout)

    def scores(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """The map s(x, y), ``(K, B, H, W)``: what every pixel adds to the value."""
        scores: Tensor = self.head(self._maps(h, y, mask))[:, 0]
        return scores.unflatten(0, y.shape[:2])

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        scores = self.scores(h, y, mask)
        if mask is None:
            return -scores.mean((-2, -1))
        counted = mask.to(scores.dtype)
        return -(scores * counted).sum((-2, -1)) / counted.sum((-2, -1)).clamp_min(1.0)
