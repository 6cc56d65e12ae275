"""Smooth noise on images."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.context import Context
from lossnet.errors import SettingError


def image_noise(
    context: Context, logits: Tensor, k: int, radius: float, what: str, instead: str
) -> Tensor:
    """:func:`smooth_noise` for the logits of images; with shared noise, one image for all."""
    coupled = context.space.coupled
    if logits.dim() != 3 + coupled:
        raise SettingError(
            f"net {what} need logits of images, (B, H, W) or (B, H, W, C), got shape "
            f"{tuple(logits.shape)}; {instead}"
        )
    if context.batch.row_seed is not None:
        raise SettingError(f"smooth noise on images is drawn by batch; {instead}, or by batch")
    like = logits[:1] if context.shared_noise else logits
    return smooth_noise(like, k, radius, coupled, context.generator)


def smooth_noise(
    like: Tensor, k: int, radius: float, coupled: bool, generator: torch.Generator | None
) -> Tensor:
    """Gaussian noise ``(K, *like.shape)`` of variance 1, smoothed over rows and columns.

    The noise is drawn on a larger field and cut, so that it is the same at the edges; with
    ``coupled`` the last axis of ``like`` holds classes, each with noise of its own.
    """
    reach = math.ceil(3 * radius)
    shape = like.movedim(-1, 1).shape if coupled else like.shape
    height, width = shape[-2] + 2 * reach, shape[-1] + 2 * reach
    noise = like.new_empty((k, *shape[:-2], height, width)).normal_(generator=generator)
    if reach:
        places = torch.arange(-reach, reach + 1, dtype=like.dtype, device=like.device)
        bell = torch.exp(-0.5 * (places / radius).square())
        bell = bell / bell.norm()  # so that a sum of unit variances has unit variance
        flat = noise.reshape(-1, 1, height, width)
        flat = F.conv2d(F.conv2d(flat, bell.view(1, 1, -1, 1)), bell.view(1, 1, 1, -1))
        noise = flat.reshape(k, *shape)
    return noise.movedim(2, -1) if coupled else noise
