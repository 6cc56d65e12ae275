"""Candidates that come from a task-net: its output, samples of it, perturbations of it."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.needs import NOTHING
from lossnet.proposals.noise import check_planes, sampling_noise, smooth_noise
from lossnet.proposals.proposal import Candidates

_PATH = frozenset({"path"})


@dataclass(frozen=True)
class NetOutput:
    """The net's own relaxed output, F(x): one candidate."""

    net: str = "task"
    provides = _PATH
    needs = NOTHING

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.net})

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        logits = context.logits(self.net).unsqueeze(0)
        logits = logits if keep_graph else logits.detach()
        return Candidates(context.space.relax(logits), logits=logits)


@dataclass(frozen=True)
class Samples:
    """``k`` discrete samples of the net's output, positions independent, with log q.

    Samples that equal the truth are kept. They carry no path to the net.

    Args:
        k: number of samples.
        net: the net that is sampled.
        temperature: what its logits are divided by: above 1 the samples differ more from each
            other, which keeps them informative once the net knows its training rows by heart.
            log q is that of the tempered distribution.
    """

    k: int = 20
    net: str = "task"
    temperature: float = 1.0
    provides = frozenset({"log_q"})
    needs = NOTHING

    def __post_init__(self) -> None:
        _at_least_one(self.k)
        if not self.temperature > 0:
            raise SettingError(f"temperature must be above 0, got {self.temperature}")

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.net})

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        space, mask = context.space, context.batch.mask
        logits = context.logits(self.net).detach() / self.temperature
        if context.shared_noise:
            noise = sampling_noise(context.uniform(self.k, logits), space.coupled)
            y = space.decode(space.relax(logits + noise))
        else:
            y = space.sample(logits, self.k, context.generator)
        target = context.batch.target
        return Candidates(
            y,
            log_q=space.log_prob(logits, y, mask),
            log_q_target=None
            if target is None
            else space.log_prob(logits, target.unsqueeze(0), mask)[0],
        )


@dataclass(frozen=True)
class Perturbed:
    """The net's output and ``k - 1`` copies with Gaussian noise on the logits (regression-s).

    Args:
        k: number of candidates, the clean output included.
        std: standard deviation of the noise.
        radius: on images, over how many pixels noise is smoothed (the standard deviation), so that
            outputs are wrong in patches; 0 is noise of every pixel by itself.
    """

    k: int = 10
    std: float = 1.0
    radius: float = 0.0
    net: str = "task"
    provides = _PATH
    needs = NOTHING

    def __post_init__(self) -> None:
        _at_least_one(self.k)
        if not self.std >= 0:
            raise SettingError(f"std must be at least 0, got {self.std}")
        if not self.radius >= 0:
            raise SettingError(f"radius must be at least 0 pixels, got {self.radius}")

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.net})

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        clean = context.logits(self.net)
        clean = clean if keep_graph else clean.detach()
        coupled = context.space.coupled
        if self.radius:
            check_planes(clean, coupled, self.net, "smooth perturbations", "take radius=0")
            like = clean[:1] if context.shared_noise else clean
            noise = smooth_noise(like, self.k, self.radius, coupled, context.generator)
        elif context.shared_noise:
            noise = torch.special.ndtri(context.uniform(self.k, clean).clamp_min_(1e-9))
        else:
            noise = torch.randn(
                (self.k, *clean.shape),
                generator=context.generator,
                dtype=clean.dtype,
                device=clean.device,
            )
        noise[0] = 0.0
        logits = clean + self.std * noise
        return Candidates(context.space.relax(logits), logits=logits)


def _at_least_one(k: int) -> None:
    if k < 1:
        raise SettingError(f"k must be at least 1, got {k}")
