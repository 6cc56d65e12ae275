"""Uniform noise that candidates are drawn with: for a batch, shared by its rows, or row by row."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lossnet.spaces import Space

#: The constants of SplitMix64 as signed numbers: what it adds, and its two factors.
_GAMMA, _FIRST, _SECOND = -0x61C8864680B583EB, -0x40A7B892E31B1A47, -0x6B2FB644ECCEEE15


def uniform_noise(k: int, like: Tensor, generator: torch.Generator | None, shared: bool) -> Tensor:
    """Uniform noise ``(K, *like.shape)``; if it is shared, one row ``(K, 1, *S)`` for all.

    Shared noise of a position does not depend on those that follow.
    """
    if not shared:
        return like.new_empty((k, *like.shape)).uniform_(generator=generator)
    first, *rest = like.shape[1:]
    uniform = like.new_empty((first, k, 1, *rest)).uniform_(generator=generator)
    return uniform.movedim(0, 2)


def row_seeds(seed: int, rows: Tensor) -> Tensor:
    """A seed for each row ``(B,)``, that depends on ``seed`` and on the row's number alone."""
    return _mix(_mix(rows.to(torch.int64)) ^ seed)


def row_noise(seeds: Tensor, draw: int, k: int, like: Tensor) -> Tensor:
    """Uniform noise ``(K, *like.shape)``, that of a row from its seed: the number ``draw`` of it.

    A row's noise is the same in any batch and on any device.
    """
    count = k * math.prod(like.shape[1:])
    own = _mix(seeds + draw).to(like.device)
    numbers = torch.arange(1, count + 1, device=like.device) * _GAMMA
    digits = 53 if like.dtype == torch.float64 else 24
    bits = _shift(_mix(own.unsqueeze(1) + numbers), 64 - digits)
    uniform = bits.to(like.dtype) * 2.0**-digits
    return uniform.view(len(seeds), k, *like.shape[1:]).transpose(0, 1).contiguous()


def sampling_noise(uniform: Tensor, coupled: bool) -> Tensor:
    """Noise whose largest sum with the logits is an exact sample: logistic, or Gumbel on classes.

    It overwrites the uniform numbers it is made of.
    """
    info = torch.finfo(uniform.dtype)
    uniform = uniform.clamp_(info.tiny, 1.0 - info.eps)
    return -torch.log(-torch.log(uniform)) if coupled else torch.logit(uniform)


def sample_by(uniform: Tensor, logits: Tensor, space: Space) -> Tensor:
    """Discrete samples ``(K, B, *S)`` of logits by uniform noise, positions independent."""
    return space.decode(space.relax(logits + sampling_noise(uniform, space.coupled)))


def _mix(values: Tensor) -> Tensor:
    """SplitMix64 of 64-bit integers, each by itself; products wrap around."""
    values = values + _GAMMA
    values = (values ^ _shift(values, 30)) * _FIRST
    values = (values ^ _shift(values, 27)) * _SECOND
    return values ^ _shift(values, 31)


def _shift(values: Tensor, by: int) -> Tensor:
    """The bits ``by`` places to the right, zeros coming in from the left."""
    return (values >> by) & ((1 << (64 - by)) - 1)
