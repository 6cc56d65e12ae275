"""The fully convolutional network of the papers on images."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import convert_conv2d_weight_memory_format

from lossnet.nets.base import Headed

Maps = tuple[Tensor, Tensor, Tensor]


def pixels(maps: Tensor) -> Tensor:
    """Maps ``(B, c, H, W)`` as logits: ``(B, H, W)`` of one map, ``(B, H, W, C)`` of several."""
    return maps[:, 0] if maps.shape[1] == 1 else maps.permute(0, 2, 3, 1)


def planes(y: Tensor, outputs: int) -> Tensor:
    """Candidates ``(K, B, H, W)`` or ``(K, B, H, W, C)`` as maps ``(K B, outputs, H, W)``."""
    flat = y.flatten(0, 1)
    return flat.unsqueeze(1) if outputs == 1 else flat.permute(0, 3, 1, 2)


class FCNFeatures(nn.Module):
    """Three 5 x 5 convolutions, the second and the third with stride 2, a ReLU after each.

    Args:
        channels: channels of an image ``(B, channels, H, W)``.
        width: maps of the first layer; the others have twice as many.
    """

    def __init__(self, channels: int, width: int = 64) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, width, 5, padding=2)
        self.second = nn.Conv2d(width, 2 * width, 5, stride=2, padding=2)
        self.third = nn.Conv2d(2 * width, 2 * width, 5, stride=2, padding=2)
        self.out_features = width  # of the maps at full resolution
        # A forward pass takes half the time so, and all of it follows the weights' layout.
        convert_conv2d_weight_memory_format(self, torch.channels_last)

    def forward(self, x: Tensor) -> Maps:
        """Maps at the full, half and quarter resolution."""
        return self.after(self.first(x))

    def after(self, first: Tensor) -> Maps:
        """The maps, from what the first convolution gave: a loss-net adds the output's part."""
        full = F.relu(first)
        half = F.relu(self.second(full))
        return full, half, F.relu(self.third(half))


class FCNHead(nn.Module):
    """Logits of three maps: each scored by a 1 x 1 convolution, the coarser ones enlarged.

    s_4 = score(quarter); s_2 = up(s_4) + score(half); s_1 = up(s_2) + score(full), ``up`` being
    a 4 x 4 transposed convolution of stride 2 without bias, bilinear interpolation at first.

    Args:
        outputs: number of maps it returns.
        width: of the features.
        dropout: share of entries of the coarser maps that are dropped.
    """

    def __init__(self, outputs: int, width: int = 64, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.scores = nn.ModuleList(nn.Conv2d(n * width, outputs, 1) for n in (1, 2, 2))
        self.ups = nn.ModuleList(_enlarger(outputs) for _ in range(2))
        self.dropout = nn.Dropout(dropout)

    def forward(self, maps: Maps) -> Tensor:
        """Maps ``(B, outputs, H, W)``."""
        full, half, quarter = maps
        coarse = self.scores[2](self.dropout(quarter))
        middle = self.scores[1](self.dropout(half))
        middle = middle + _enlarged(self.ups[0](coarse), middle)
        fine: Tensor = self.scores[0](full)
        return fine + _enlarged(self.ups[1](middle), fine)


def _enlarger(maps: int) -> nn.ConvTranspose2d:
    """Doubles the size, initially by bilinear interpolation of each map."""
    up = nn.ConvTranspose2d(maps, maps, 4, stride=2, padding=1, bias=False)
    tent = torch.tensor([0.25, 0.75, 0.75, 0.25])
    with torch.no_grad():
        up.weight.copy_(torch.eye(maps).view(maps, maps, 1, 1) * torch.outer(tent, tent))
    return up


def _enlarged(large: Tensor, like: Tensor) -> Tensor:
    """``large`` cut to the size of ``like``: sides that are odd were rounded up on the way."""
    return large[..., : like.shape[-2], : like.shape[-1]]


class FCN(Headed):
    """The papers' fully convolutional network: images ``(B, channels, H, W)`` to pixel logits.

    Paper 000, section 4.4, and paper 004: three 5 x 5 convolutions and two transposed ones, with
    skips. Images may have any size.

    Args:
        channels: channels of an image.
        outputs: 1 for two classes, logits ``(B, H, W)``; otherwise the classes, logits
            ``(B, H, W, C)``.
        width: maps of the first layer.
        dropout: see :class:`FCNHead`.
    """

    def __init__(
        self, channels: int, outputs: int, *, width: int = 64, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.features = FCNFeatures(channels, width)
        self.own_head = FCNHead(outputs, width, dropout=dropout)
        self._settings = (outputs, width, dropout)

    def head(self, h: Maps) -> Tensor:
        """Logits of the three maps."""
        return pixels(self.own_head(h))

    def new_head(self) -> PixelHead:
        """A second head on the same maps."""
        outputs, width, dropout = self._settings
        return PixelHead(FCNHead(outputs, width, dropout=dropout))


class PixelHead(nn.Module):
    """Pixel logits from a head that returns maps."""

    def __init__(self, maps: nn.Module) -> None:
        super().__init__()
        self.maps = maps

    def forward(self, h: object) -> Tensor:
        """Logits ``(B, H, W)`` or ``(B, H, W, C)``."""
        return pixels(self.maps(h))
