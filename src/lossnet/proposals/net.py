"""A net's output, and perturbations of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.parameters import AtLeast, Count, Weight
from lossnet.proposals.noise import image_noise
from lossnet.proposals.proposal import PATH, Candidates, FromNet


@dataclass(frozen=True)
class NetOutput(FromNet):
    """The net's own relaxed output, F(x): one candidate.

    Args:
        net: the net.
        member: of several nets that share a pass, with logits ``(B, M, *S)``, the one that is
            meant; None where the net is one.
    """

    net: str = "task"
    member: Annotated[int, AtLeast(0)] | None = None
    provides = PATH

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        logits = self.logits(context, keep_graph)
        logits = (logits if self.member is None else logits[:, self.member]).unsqueeze(0)
        return Candidates(context.space.relax(logits), logits=logits, nll=self._nll(context))

    def _nll(self, context: Context) -> Callable[[Tensor, Tensor | None], Tensor] | None:
        """The net's own likelihood of a target, if its positions depend on each other."""
        net = context.joint_net(self.net)
        if net is None:
            return None
        scores, mask = context.scores(self.net), context.batch.mask
        return lambda target, known: net.nll(scores, target, mask, known)


@dataclass(frozen=True)
class Perturbed(FromNet):
    """The net's output and ``k - 1`` copies with Gaussian noise on the logits (regression-s).

    Args:
        k: number of candidates, the clean output included.
        std: standard deviation of the noise.
        radius: on images, over how many pixels noise is smoothed (the standard deviation), so that
            outputs are wrong in patches; 0 is independent noise at every pixel.
        net: the net that is perturbed.
    """

    k: Count = 10
    std: Weight = 1.0
    radius: Weight = 0.0
    net: str = "task"
    provides = PATH

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        clean = self.logits(context, keep_graph)
        if self.radius:
            what = f"{self.net!r}: smooth perturbations", "take radius=0"
            noise = image_noise(context, clean, self.k, self.radius, *what)
        elif context.shared_noise or context.batch.row_seed is not None:
            noise = torch.special.ndtri(context.uniform(self.k, clean).clamp_min_(1e-9))
        else:
            noise = clean.new_empty((self.k, *clean.shape)).normal_(generator=context.generator)
        noise[0] = 0.0
        logits = clean + self.std * noise
        return Candidates(context.space.relax(logits), logits=logits)
