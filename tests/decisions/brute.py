"""Decisions by trying every label set, in plain tensors: what the library's must equal."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lossnet.spaces import Binary

Metric = Callable[[Tensor, Tensor], Tensor]


def f_beta(truth: Tensor, prediction: Tensor, beta: float = 1.0) -> Tensor:
    both = (truth & prediction).sum(-1).double()
    size = prediction.sum(-1) + beta**2 * truth.sum(-1)
    return torch.where(size > 0, (1 + beta**2) * both / size.clamp_min(1e-9), 1.0)


def jaccard(truth: Tensor, prediction: Tensor) -> Tensor:
    either = (truth | prediction).sum(-1)
    both = (truth & prediction).sum(-1).double()
    return torch.where(either > 0, both / either.clamp_min(1), 1.0)


def all_sets(labels: int) -> Tensor:
    return Binary().enumerate((labels,))


def independent(p: Tensor) -> Tensor:
    """The probability of every label set ``(2^L, B)`` where labels are independent."""
    on = all_sets(p.shape[1]).unsqueeze(1)
    return torch.where(on, p.double(), 1 - p.double()).prod(-1)


def expected(metric: Metric, chosen: Tensor, weights: Tensor, y: Tensor | None = None) -> Tensor:
    """The mean metric ``(B,)`` of sets ``(B, L)`` where truths ``(N, L)`` have these weights."""
    y = all_sets(chosen.shape[1]) if y is None else y
    return (weights * metric(y.view(len(y), -1, y.shape[-1]), chosen)).sum(0)


def best(metric: Metric, labels: int, weights: Tensor, y: Tensor | None = None) -> Tensor:
    """The highest mean metric ``(B,)`` that any label set has."""
    batch = weights.shape[1]
    sets = all_sets(labels)
    return torch.stack([expected(metric, one.expand(batch, -1), weights, y) for one in sets]).amax(
        0
    )
