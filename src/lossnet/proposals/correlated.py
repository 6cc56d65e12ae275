"""Samples of images whose pixels are not independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.needs import NOTHING
from lossnet.proposals.noise import check_planes, smooth_noise
from lossnet.proposals.proposal import Candidates


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
    kind: ClassVar[str] = "correlated"
    provides = NOTHING
    needs = NOTHING

    def __post_init__(self) -> None:
        if self.k < 1:
            raise SettingError(f"k must be at least 1, got {self.k}")
        if not self.radius >= 0:
            raise SettingError(f"radius must be at least 0 pixels, got {self.radius}")

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.net})

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        logits, coupled = context.logits(self.net).detach(), context.space.coupled
        check_planes(logits, coupled, self.net, "correlated samples", "take Samples")
        like = logits[:1] if context.shared_noise else logits
        z = smooth_noise(like, self.k, self.radius, coupled, context.generator)
        # log Φ keeps its accuracy where Φ rounds to 0.
        below = torch.special.log_ndtr(z)
        if coupled:
            return Candidates(context.space.decode(logits - torch.log(-below)))
        return Candidates(logits + below - torch.special.log_ndtr(-z) > 0)
