"""Samples of a net's output: independent ones, ones with a path to the net, correlated ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.noise import sample_by, sampling_noise
from lossnet.parameters import Count, Positive, Weight
from lossnet.proposals.noise import image_noise
from lossnet.proposals.proposal import LOG_Q, PATH, Candidates, FromNet
from lossnet.spaces import sparse


@dataclass(frozen=True)
class Samples(FromNet):
    """``k`` discrete samples of the net's output, with log q.

    Positions are independent, but for a space that rules out some outputs, such as
    :class:`~lossnet.spaces.Sequences`. Samples that equal the truth are kept. They carry no path
    to the net.

    Args:
        k: number of samples.
        net: the net that is sampled.
        temperature: divides the net's logits: above 1 the samples differ more from each
            other, which keeps them informative once the net has memorised its training rows.
            log q is that of the tempered distribution.
    """

    k: Count = 20
    net: str = "task"
    temperature: Positive = 1.0
    provides = LOG_Q

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        logits = context.logits(self.net).detach() / self.temperature
        y = _drawn(context, logits, self.k, shared=context.shared_noise)
        return _compared(context, logits, y)


@dataclass(frozen=True)
class RelaxedSamples(FromNet):
    """``k`` samples of the net's output through which gradients reach the net, with log q.

    y = relax((logits + noise) / temperature) with logistic noise on labels and Gumbel noise on
    classes: the concrete distribution, whose rounding is an exact sample of the net. With
    ``straight_through`` the rounded sample is the candidate and the relaxed one gives its
    gradient. log q is the net's log-probability of the candidate, positions independent; of a
    candidate that is not rounded it is the same expression, linear in y, and no density.

    An objective whose path leads through everything counts how log q changes with the net, which
    is part of NCE's gradient.

    Args:
        k: number of samples.
        temperature: of the relaxation: lower is closer to rounding, with steeper gradients.
        straight_through: whether candidates are rounded.
        path_through_log_q: whether gradients reach the net through log q as well, where the
            objective's path leads through everything.
        net: the net that is sampled.
    """

    k: Count = 20
    temperature: Positive = 0.5
    straight_through: bool = True
    path_through_log_q: bool = True
    net: str = "task"
    kind: ClassVar[str] = "relaxed"
    provides = LOG_Q | PATH

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        space = context.space
        logits = self.logits(context, keep_graph)
        noisy = logits + sampling_noise(context.uniform(self.k, logits), space.coupled)
        y = space.relax(noisy / self.temperature)
        if self.straight_through:
            rounded = space.decode(y).to(y.dtype)
            y = rounded + (y - y.detach()) if keep_graph else rounded
        if self.path_through_log_q:
            return _compared(context, logits, y)
        return _compared(context, logits.detach(), y)


@dataclass(frozen=True)
class CorrelatedSamples(FromNet):
    """``k`` discrete samples of the net's output in which neighbouring pixels are correlated.

    Smooth Gaussian noise z of variance 1 is turned into noise on the logits, u = Φ(z):
    y = 1 where logit + log u - log(1 - u) > 0, or with classes argmax_c logit_c - log(-log u_c).
    So the marginal of every pixel is exactly the net's probability, as in
    :class:`~lossnet.proposals.Samples`, and the samples differ from the net's output in patches,
    not in single pixels (the negative samples that paper 000, section 4.4, misses). log q of such
    a sample is not tractable.

    Args:
        k: number of samples.
        radius: standard deviation of the smoothing, in pixels; 0 leaves pixels independent.
        net: the net that is sampled; its output is ``(B, H, W)`` or ``(B, H, W, C)``.
    """

    k: Count = 20
    radius: Weight = 2.0
    net: str = "task"
    kind: ClassVar[str] = "correlated"

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        logits = context.logits(self.net).detach()
        what = f"{self.net!r}: correlated samples", "take Samples"
        z = image_noise(context, logits, self.k, self.radius, *what)
        # log Φ keeps its accuracy where Φ rounds to 0.
        below = torch.special.log_ndtr(z)
        truth = None if context.batch.known is None else drawn_target(context, logits)
        if context.space.coupled:
            return Candidates(context.space.decode(logits - torch.log(-below)), truth=truth)
        return Candidates(logits + below - torch.special.log_ndtr(-z) > 0, truth=truth)


def _compared(context: Context, logits: Tensor, y: Tensor) -> Candidates:
    """Candidates with log q ``(K, B)`` and, where there is a truth, that of the truth ``(B,)``."""
    space, mask = context.space, context.batch.mask
    log_q = space.log_prob(logits, y if logits.requires_grad else y.detach(), mask)
    if context.batch.target is None:
        return Candidates(y, log_q)
    truth = drawn_target(context, logits)
    log_q_target = space.log_prob(logits, truth.unsqueeze(0), mask)[0]
    drawn = None if context.batch.known is None else truth
    return Candidates(y, log_q, log_q_target, truth=drawn)


def drawn_target(context: Context, logits: Tensor) -> Tensor:
    """The batch's targets, entries that are not known a draw from these logits' q."""
    if context.batch.known is None:
        return context.target
    target = context.given_target
    drawn = _drawn(context, logits.detach(), 1)
    return context.known_or(target, sparse.dense(drawn, target.dtype)[0])


def _drawn(context: Context, logits: Tensor, k: int, *, shared: bool = False) -> Tensor:
    """``k`` discrete samples ``(K, B, *S)``, drawn for the batch, by shared noise or row by row."""
    if shared or context.batch.row_seed is not None:
        return sample_by(context.uniform(k, logits), logits, context.space)
    return context.space.sample(logits, k, context.generator, mask=context.batch.mask)
