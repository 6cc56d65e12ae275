"""Costs: how far a relaxed output is from the truth. Soft, differentiable, 0 at the truth.

Every cost takes candidates ``y`` ``(K, B, *S)``, a ``target`` ``(B, *S)`` and an optional mask
``(B, *P)``, and returns ``(K, B)``. A user's own cost is any function of that signature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from lossnet.errors import unknown
from lossnet.needs import REWARD
from lossnet.spaces import Categorical, mean_positions, sparse, sum_positions

Cost = Callable[[Tensor, Tensor, Tensor | None], Tensor]


@dataclass(frozen=True)
class ByReward:
    """1 - reward(x, y): a cost for rows without a truth, from the batch's reward function.

    It replaces a cost in :class:`~lossnet.Compare` and
    :class:`~lossnet.terms.CostTerm`; the rewards themselves are in [0, 1].
    """

    needs = REWARD

    def __call__(self, reward: Tensor) -> Tensor:
        """Costs of outputs with these rewards, same shape."""
        return 1.0 - reward


def l1(y: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
    """Sum of |y - target| over positions; grows with the output (paper 003's cost)."""
    y = sparse.dense(y, target.dtype)
    return sum_positions((y - target).abs(), mask, lead=2)


def hamming(y: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean of |y - target| over positions, in [0, 1]."""
    y = sparse.dense(y, target.dtype)
    return mean_positions((y - target).abs(), mask, lead=2)


def token_error(y: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
    """Mean over positions of the probability given to wrong classes, for one-hot outputs.

    1 - <y_t, target_t> at each position t, in [0, 1].
    """
    return mean_positions(Categorical().errors(y, target), mask, lead=2)


def f1(y: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
    """1 - soft F1, with soft F1 = 2 Σ min(y, t) / (Σ min(y, t) + Σ max(y, t)).

    The score of DVN and SEAL (paper 000, footnote 2). Empty against empty is F1 = 1, cost 0.
    """
    both, either = _overlap(y, target, mask)
    return _one_minus(2.0 * both, both + either)


def iou(y: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
    """1 - soft IoU, with soft IoU = Σ min(y, t) / Σ max(y, t) (paper 000, Eq. 10).

    Empty against empty is IoU = 1, cost 0.
    """
    both, either = _overlap(y, target, mask)
    return _one_minus(both, either)


def class_iou(y: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
    """1 - the mean soft IoU of the classes on the last axis, for one-hot outputs.

    The mean of :func:`iou` over the classes present in the truth, background included; 0 where
    the mask leaves none.
    """
    y = sparse.dense(y, target.dtype)
    if mask is not None:
        counted = mask.unsqueeze(-1).to(target.dtype)
        y, target = y * counted, target * counted
    positions = tuple(range(2, y.dim() - 1))
    both = torch.minimum(y, target).sum(positions)
    in_target = target.unsqueeze(0).sum(positions)
    either = y.sum(positions) + in_target - both
    present = (in_target > 0).to(y.dtype)
    lost = (1.0 - both / either.clamp_min(1e-12)) * present
    return lost.sum(-1) / present.sum(-1).clamp_min(1.0)


def pixel_iou(y: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
    """1 - soft IoU of images: :func:`iou` of masks ``(B, H, W)``, whose foreground is 1;
    :func:`class_iou` of one-hot ones ``(B, H, W, C)``.
    """
    return (iou if target.dim() == 3 else class_iou)(y, target, mask)


def _one_minus(part: Tensor, total: Tensor) -> Tensor:
    """1 - part / total, and 0 where the total is 0."""
    return torch.where(total > 0, 1.0 - part / total.clamp_min(1e-12), torch.zeros_like(total))


def _overlap(y: Tensor, target: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    y = sparse.dense(y, target.dtype)
    both = sum_positions(torch.minimum(y, target), mask, lead=2)
    # min + max = y + t, so the second sum needs no second elementwise maximum.
    either = sum_positions(y, mask, lead=2) + sum_positions(target, mask, lead=1) - both
    return both, either


_COSTS = (l1, hamming, token_error, f1, iou, class_iou, pixel_iou)
COSTS: dict[str, Cost] = {cost.__name__.replace("_", "-"): cost for cost in _COSTS}


def get_cost(cost: str | Cost) -> Cost:
    """The cost of that name, or the function itself.

    >>> get_cost("f1") is f1
    True
    """
    if callable(cost):
        return cost
    if cost not in COSTS:
        raise unknown("cost", cost, COSTS)
    return COSTS[cost]
