"""Energies of images and their masks: one number per image, or the mean of a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import convert_conv2d_weight_memory_format

from lossnet.energies.energy import Energy
from lossnet.errors import DataError
from lossnet.nets.base import SharedFeatures, WithFeatures
from lossnet.nets.convolution import FCNFeatures, planes
from lossnet.spaces import mean_positions, sparse


class ConvolutionalCritic(Energy):
    """E(x, y), one number: three convolutions on [x; y], then fully connected layers.

    The value network of DVN (Gygli et al., 2017) and loss-net of paper 000, section 4.4. It takes
    images of one size. The first convolution is in two parts, conv([x; y]) = conv_x(x) +
    conv_y(y), so that the image is convolved once per batch.

    Args:
        channels: channels of an image ``(B, channels, H, W)``.
        outputs: 1 for two classes, y ``(K, B, H, W)``; otherwise the classes, y
            ``(K, B, H, W, C)``.
        size: height and width of an image.
        width: maps of the first layer.
        hidden: widths of the fully connected layers.
        dropout: dropout after the first of these.
        features: read the maps of another net, :class:`~lossnet.nets.SharedFeatures`: a 1 x 1
            convolution of its full-resolution maps takes the place of conv_x(x).

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
        features: SharedFeatures | None = None,
    ) -> None:
        super().__init__()
        self.outputs = outputs
        self.size = tuple(size)
        self.features = FCNFeatures(channels, width)
        if features is not None:
            self.reads = features.reads
            self.features.first = nn.Conv2d(features.out_features, width, 1)
            convert_conv2d_weight_memory_format(self.features.first, torch.channels_last)
        self.first_of_output = nn.Conv2d(outputs, width, 5, padding=2, bias=False)
        convert_conv2d_weight_memory_format(self.first_of_output, torch.channels_last)
        # Two strides of 2, each rounding up.
        quarters = [-(-side // 4) for side in size]
        widths = [2 * width * quarters[0] * quarters[1], *hidden]
        layers: list[nn.Module] = [nn.Flatten()]
        for number in range(len(hidden)):
            layers += [nn.Linear(widths[number], widths[number + 1]), nn.ReLU()]
            if number == 0:
                layers.append(nn.Dropout(dropout))
        self.readout = nn.Sequential(*layers, nn.Linear(widths[-1], 1))

    def encode(self, x: Any, mask: Tensor | None = None) -> Tensor:
        """The image's part of the first convolution, ``(B, width, H, W)``."""
        if isinstance(x, WithFeatures):  # an FCN has coarser maps too
            x = x.features[0] if isinstance(x.features, tuple) else x.features
        if tuple(x.shape[2:]) != self.size:
            raise DataError(
                f"images must be {self.size}, got {(*x.shape[2:],)}; crop them, or take ScoreMap, "
                "which works on any size"
            )
        return self.features.first(x)

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        y = _uncovered(y, h.dtype, mask, self.outputs)
        of_output = self.first_of_output(planes(y, self.outputs))
        first = of_output.unflatten(0, y.shape[:2]) + h
        quarter = self.features.after(first.flatten(0, 1))[-1]
        energies: Tensor = self.readout(quarter)
        return energies.view(y.shape[:2])

    def output_like(self, h: Tensor) -> Tensor:
        return _zeros(h, self.outputs)


class ScoreMap(Energy):
    """E(x, y) = -mean_i s_i with s_i = Σ_c y_ic a_ic(x, y), a map of scores from a net.

    The energy network of paper 004 on images, which "maps (x, y) to score matrices": a net for
    images, here with the output as further channels, gives every pixel i a score of each class,
    and the output chooses among them. Being a mean, the value -E has the scale of one score
    whatever the image's size, so that ALEN's target of 1 makes sense. With two classes y_i stands
    for (1 - y_i, y_i).

    Args:
        build: builds the net, ``(channels, outputs) -> module``, such as
            :class:`~lossnet.nets.FCN`: images ``(B, channels, H, W)`` to ``(B, H, W, outputs)``.
        channels: channels of an image.
        outputs: see :class:`ConvolutionalCritic`.

    >>> from lossnet.nets import FCN
    >>> energy = ScoreMap(FCN, 3, 1)
    >>> energy(energy.encode(torch.zeros(2, 3, 9, 7)), torch.zeros(5, 2, 9, 7)).shape
    torch.Size([5, 2])
    """

    def __init__(self, build: Callable[[int, int], nn.Module], channels: int, outputs: int) -> None:
        super().__init__()
        self.outputs = outputs
        self.net = build(channels + outputs, max(2, outputs))

    def encode(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """The image itself."""
        return x

    def local(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """-s of every pixel, ``(K, B, H, W)``; the energy is their mean where the mask is true."""
        y = _uncovered(y, h.dtype, mask, self.outputs)
        images = h.expand(len(y), *h.shape).flatten(0, 1)
        scores: Tensor = self.net(torch.cat([images, planes(y, self.outputs)], 1))
        chosen = y if self.outputs > 1 else torch.stack([1.0 - y, y], -1)
        return -(scores.unflatten(0, y.shape[:2]) * chosen).sum(-1)

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        return mean_positions(self.local(h, y, mask), mask, lead=2)

    def output_like(self, h: Tensor) -> Tensor:
        return _zeros(h, self.outputs)


def _uncovered(y: Tensor, dtype: torch.dtype, mask: Tensor | None, outputs: int) -> Tensor:
    """Candidates as floats, 0 where the mask is false."""
    y = sparse.dense(y, dtype)
    if mask is None:
        return y
    return y.masked_fill(~mask if outputs == 1 else ~mask.unsqueeze(-1), 0.0)


def _zeros(h: Tensor, outputs: int) -> Tensor:
    """An output of zeros for maps ``(B, channels, H, W)``."""
    return h.new_zeros((h.shape[0], *h.shape[2:], *([] if outputs == 1 else [outputs])))
