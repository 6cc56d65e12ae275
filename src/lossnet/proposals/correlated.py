"""Samples of images whose pixels are not independent."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.proposals.base import Candidates


@dataclass(frozen=True)
class CorrelatedSamples:
    """``k`` discrete samples of the net's output in which neighbouring pixels go together.

    Smooth Gaussian noise z of variance 1 is turned into noise on the logits, u = Φ(z):
    y = 1 where logit + log u - log(1 - u) > 0, or with classes argmax_c logit_c - log(-log u_c).
    So every pixel by itself has exactly the net's probability, as in
    :class:`~lossnet.proposals.Samples`, and the samples differ from the net's output in patches,
    not in single pixels (the negative samples that paper 000, section 4.4, misses). log q of such
    a sample is not tractable.

    Args:
        k: number of samples.
        radius: standard deviation of the smoothing, in pixels; 0 leaves pixels independent.
        net: the net that is sampled; its output is ``(B, H, W)`` or ``(B, H, W, C)``.
    """

    k: int = 20
    radius: float = 2.0
    net: str = "task"
    provides: frozenset[str] = frozenset()
    needs_target = False

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingError(f"the number of samples is {self.k}; give 1 or more")
        if not self.radius >= 0:
            raise SettingError(f"radius is {self.radius}; give a number of pixels, 0 or more")

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.net})

    def __call__(self, context: Context, *, keep_path: bool = False) -> Candidates:
        logits, coupled = context.logits(self.net).detach(), context.space.coupled
        if logits.dim() != 3 + coupled:
            raise SettingError(
                f"the net {self.net!r} gives logits of shape {tuple(logits.shape)}, which have no "
                "rows and columns of pixels; correlated samples are for images: take Samples"
            )
        z = smooth_noise(logits, self.k, self.radius, coupled, context.generator)
        # log Φ keeps its accuracy where Φ rounds to 0.
        below = torch.special.log_ndtr(z)
        if coupled:
            return Candidates(context.space.decode(logits - torch.log(-below)))
        return Candidates(logits + below - torch.special.log_ndtr(-z) > 0)


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
    noise = torch.randn(
        (k, *shape[:-2], height, width), generator=generator, dtype=like.dtype, device=like.device
    )
    if reach:
        places = torch.arange(-reach, reach + 1, dtype=like.dtype, device=like.device)
        bell = torch.exp(-0.5 * (places / radius).square())
        bell = bell / bell.norm()  # so that a sum of unit variances has unit variance
        flat = noise.reshape(-1, 1, height, width)
        flat = F.conv2d(F.conv2d(flat, bell.view(1, 1, -1, 1)), bell.view(1, 1, 1, -1))
        noise = flat.reshape(k, *shape)
    return noise.movedim(2, -1) if coupled else noise
