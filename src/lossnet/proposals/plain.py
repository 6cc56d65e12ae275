"""Candidates that come from no net: the truth, every output, zeros, random points; and unions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.needs import TARGET
from lossnet.parameters import Count
from lossnet.proposals.proposal import LOG_Q, Candidates, FromEnergy, Proposal
from lossnet.spaces import sparse


@dataclass(frozen=True)
class Target(Proposal):
    """The truth itself: one candidate."""

    needs = TARGET

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        return Candidates(context.target.unsqueeze(0))


@dataclass(frozen=True)
class Exact(Proposal):
    """Every discrete output, N candidates; for small spaces.

    As a proposal its q is uniform, so that a contrast over it is a sum over the whole space. The
    truth is among them, so a contrast that adds it, such as
    :class:`~lossnet.contrasts.Ranking`, counts it twice.
    """

    provides = LOG_Q
    needs = TARGET

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        target = context.target
        states = context.space.enumerate(tuple(target.shape[1:])).to(target.device)
        y = states.unsqueeze(1).expand(-1, *target.shape)
        log_q = target.new_tensor(float(len(states))).log().neg()
        return Candidates(y, log_q.expand(y.shape[:2]), log_q.expand(target.shape[:1]))


@dataclass(frozen=True)
class Zeros(FromEnergy):
    """The output nearest to zero, a start for gradient-based inference: one candidate.

    Nothing on for :class:`~lossnet.Binary`, the uniform distribution for
    :class:`~lossnet.Categorical`.
    """

    energy: str = "energy"

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        zeros = torch.zeros_like(_shaped_like_output(context, self.energy))
        return Candidates(context.space.project(zeros).unsqueeze(0))


@dataclass(frozen=True)
class Random(FromEnergy):
    """``k`` uniformly random relaxed outputs, starts for gradient-based inference."""

    k: Count = 3
    energy: str = "energy"

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        like = _shaped_like_output(context, self.energy)
        if not context.shared_noise and context.batch.row_seed is None:
            return Candidates(context.space.random(like, self.k, context.generator))
        y = context.uniform(self.k, like)
        if context.space.coupled:
            y = -torch.log1p(-y)  # exponentials, which are uniform once normalised
            y = y / y.sum(-1, keepdim=True)
        return Candidates(y.expand(-1, *like.shape))


def _shaped_like_output(context: Context, name: str) -> Tensor:
    """A tensor ``(B, *S)`` to take shape and type from: the target, or else the encoding."""
    if context.batch.target is not None:
        return context.batch.target
    energy = context.nets[name]
    return energy.output_like(context.encoded(name))


@dataclass(frozen=True)
class Combined(Proposal):
    """The candidates of several proposals together, for contrasts that need no log q."""

    parts: tuple[Proposal, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise SettingError(f"{type(self).__name__} needs at least one proposal, got none")

    @property
    def provides(self) -> frozenset[str]:
        shared = frozenset.intersection(*(part.provides for part in self.parts))
        return shared - {"log_q"}  # a mixture's log q is not the parts'

    @property
    def nets(self) -> frozenset[str]:
        return frozenset().union(*(part.nets for part in self.parts))

    @property
    def needs(self) -> frozenset[str]:
        return frozenset().union(*(part.needs for part in self.parts))

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        return Candidates(torch.cat(self._drawn(context, keep_graph)))

    def _drawn(self, context: Context, keep_graph: bool) -> list[Tensor]:
        """The candidates of every part, dense and of one type."""
        drawn = [part(context, keep_graph=keep_graph).y for part in self.parts]
        dtype = next((y.dtype for y in drawn if y.is_floating_point()), torch.get_default_dtype())
        return [sparse.dense(y, dtype) for y in drawn]


@dataclass(frozen=True)
class Either(Combined):
    """For each example the candidates of one of several proposals, drawn with equal chances.

    The proposals must have equally many candidates.
    """

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        y = torch.stack(self._drawn(context, keep_graph), 2)  # (K, B, parts, *S)
        rows, parts, device = y.shape[1], y.shape[2], y.device
        if context.batch.row_seed is None:
            chosen = torch.randint(parts, (rows,), generator=context.generator, device=device)
        else:
            chosen = (context.uniform(1, y.new_empty(rows))[0] * parts).long()
        return Candidates(y[:, torch.arange(rows, device=device), chosen])
