"""A small U-Net."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import convert_conv2d_weight_memory_format

from lossnet.errors import SettingError
from lossnet.nets.base import Headed
from lossnet.nets.convolution import PixelHead, pixels

#: Number of maps that are normalised together.
_GROUP = 8


class _Block(nn.Sequential):
    """Two 3 x 3 convolutions, each normalised in groups of maps and cut at zero."""

    def __init__(self, channels: int, width: int) -> None:
        layers: list[nn.Module] = []
        for inputs in (channels, width):
            # Groups, not batches: an example's output must not depend on the others.
            convolution = nn.Conv2d(inputs, width, 3, padding=1, bias=False)
            layers += [convolution, nn.GroupNorm(width // _GROUP, width), nn.ReLU()]
        super().__init__(*layers)


class UNetFeatures(nn.Module):
    """Down by 2 x 2 max-pooling, up again together with the maps of the same size.

    Args:
        channels: channels of an image ``(B, channels, H, W)``.
        widths: maps of each level, the finest first, multiples of 8.
        dropout: share of entries of the coarsest maps that are dropped.
    """

    def __init__(
        self, channels: int, widths: Sequence[int] = (32, 64, 128), *, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if not widths or any(width < _GROUP or width % _GROUP for width in widths):
            raise SettingError(f"widths must be multiples of {_GROUP}, got {tuple(widths)}")
        inputs = [channels, *widths[:-1]]
        self.down = nn.ModuleList(_Block(n, w) for n, w in zip(inputs, widths, strict=True))
        pairs = itertools.pairwise(widths)
        self.up = nn.ModuleList(_Block(coarse + fine, fine) for fine, coarse in pairs)
        self.dropout = nn.Dropout(dropout)
        self.out_features = widths[0]
        convert_conv2d_weight_memory_format(self, torch.channels_last)

    def forward(self, x: Tensor) -> Tensor:
        """Maps ``(B, widths[0], H, W)``."""
        levels = []
        for number, block in enumerate(self.down):
            if number:
                # Rounded up, so that a side of one pixel stays one.
                x = F.max_pool2d(x, 2, ceil_mode=True)
            x = block(x)
            levels.append(x)
        x = self.dropout(x)
        for fine, block in zip(reversed(levels[:-1]), reversed(list(self.up)), strict=True):
            large = F.interpolate(x, size=fine.shape[-2:], mode="nearest")
            x = block(torch.cat([large, fine], 1))
        return x


class UNet(Headed):
    """A small U-Net: images ``(B, channels, H, W)`` to pixel logits.

    Ronneberger, Fischer and Brox (2015), with few maps, group normalisation and padding, so that
    its output is as large as its input. Images may have any size.

    Args:
        channels: channels of an image.
        outputs: 1 for two classes, otherwise the classes; see :class:`~lossnet.nets.FCN`.
        widths: maps of each level, the finest first, multiples of 8.
        dropout: see :class:`UNetFeatures`.
    """

    def __init__(
        self,
        channels: int,
        outputs: int,
        *,
        widths: Sequence[int] = (32, 64, 128),
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.features = UNetFeatures(channels, widths, dropout=dropout)
        self.own_head = nn.Conv2d(widths[0], outputs, 1)

    def head(self, h: Tensor) -> Tensor:
        """Logits of maps ``(B, widths[0], H, W)``."""
        return pixels(self.own_head(h))

    def new_head(self) -> PixelHead:
        """A second head on the same maps."""
        return PixelHead(nn.Conv2d(self.own_head.in_channels, self.own_head.out_channels, 1))
