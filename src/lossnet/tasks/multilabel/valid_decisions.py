"""Decisions among the label sets that keep to constraints.

Where the best set of all is valid, it is the best of the valid ones. The functions here decide on
the other rows, and on spaces that are enumerated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from lossnet.constraints import Bound
from lossnet.decisions import Joint, Weighted, local_search, minimum_risk, most_probable
from lossnet.decisions.risk import Utility
from lossnet.decisions.search import LogJoint
from lossnet.spaces import sparse

#: Thresholds of valid candidates, as multiples of the one between the labels on and off.
_NEAR = (0.7, 1.0, 1.4)
#: What a label set that breaks a rule loses in log-probability: more than it can gain.
_PENALTY = 1e4
#: The number of a candidate ``(C, b, L)`` for each of some rows of a batch, by a mask ``(B,)``.
Choice: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def allowed(bound: Bound, y: Tensor) -> Tensor:
    """Whether label sets ``(..., L)``, bool or sparse, are valid, ``(...)``."""
    found = bound.allows(sparse.dense(y, torch.bool).cpu().numpy())
    return torch.as_tensor(found, device=y.device)


def nearest(bound: Bound, scores: Tensor) -> Tensor:
    """The valid label sets with the largest sums of scores, ``(B, L)`` bool."""
    found = bound.nearest(scores.double().cpu().numpy())
    return torch.as_tensor(found, device=scores.device).bool()


def best_of_all(bound: Bound | None, drawn: Weighted, utility: Utility | None) -> Tensor:
    """The valid set of highest expected utility, or most probable without, of an enumerated space.

    The truth is valid: other sets do not count.
    """
    sets, w = drawn.y[:, 0].bool(), drawn.w.double()
    if bound:
        kept = allowed(bound, sets)
        sets, w = sets[kept], w[kept]
    if utility is None:
        return sets[w.argmax(0)]
    pair = (len(sets), len(sets), 1, sets.shape[1])
    truth, predicted = sets.view(1, -1, *pair[2:]), sets.view(-1, 1, *pair[2:])
    table = utility(truth.expand(pair), predicted.expand(pair)).squeeze(-1)
    return sets[(table.double() @ w).argmax(0)]


def best_of(groups: list[Tensor], log_p: LogJoint) -> Tensor:
    """The most probable of several groups of candidates, ``(B, L)`` bool."""
    best = torch.stack([most_probable(y, log_p(y)).bool() for y in groups if len(y)])
    return most_probable(best, log_p(best))


def valid_mode(bound: Bound, joint: Joint, drawn: Weighted, sets: Tensor) -> Tensor:
    """The most probable valid label set: the best of samples and other sets, then hill climbing."""

    def valid(log_p: LogJoint) -> LogJoint:
        return lambda y: log_p(y) - _PENALTY * (~allowed(bound, y)).to(torch.float32)

    log_p, of_rows = valid(joint.log_p), joint.of_rows
    own = None if of_rows is None else lambda rows: valid(of_rows(rows))
    logits = joint.context.logits(joint.net) + joint.offset
    start = nearest(bound, logits)
    found = best_of([start.unsqueeze(0), drawn.y, sets], log_p)
    found = local_search(log_p, found, logits=logits, of_rows=own)
    return torch.where(allowed(bound, found).unsqueeze(1), found, start)


def repaired(bound: Bound, best: Tensor, p: Tensor, choose: Choice) -> Tensor:
    """Label sets ``best`` ``(B, L)``; those that break a rule replaced by valid ones.

    These are the nearest at thresholds about the one that ``best`` has for probabilities ``p``.
    """
    broken = ~allowed(bound, best)
    if not broken.any():
        return best
    near = _near(bound, p[broken].double().cpu().numpy(), best[broken].cpu().numpy())
    candidates = torch.as_tensor(near, device=best.device)
    chosen = choose(candidates, broken)
    best = best.bool().clone()
    best[broken] = candidates[chosen, torch.arange(len(chosen), device=chosen.device)]
    return best


def by_samples(drawn: Weighted, utility: Utility) -> Choice:
    """The candidate of highest mean utility over weighted samples."""

    def choose(candidates: Tensor, rows: Tensor) -> Tensor:
        y = sparse.dense(drawn.y, torch.bool)[:, rows]
        return minimum_risk(candidates, y, drawn.w[:, rows], utility)

    return choose


def by_probabilities(p: Tensor, beta: float | None) -> Choice:
    """The candidate of highest expected F-beta, or Jaccard index, for independent labels.

    Of the expectation of 1/x the bound by Jensen's inequality is taken, as in
    :func:`~lossnet.decisions.best_f`.
    """

    def choose(candidates: Tensor, rows: Tensor) -> Tensor:
        own, size = p[rows], candidates.sum(-1)
        on, total = own * candidates, own.sum(-1, keepdim=True)
        if beta is None:
            shared = on.sum(-1)
            mean = shared / (size + total.squeeze(-1) - shared).clamp_min(1e-9)
        else:
            mean = (on / (size.unsqueeze(-1) + beta**2 * (1 + total - own))).sum(-1)
            mean = (1 + beta**2) * mean
        return torch.where(size == 0, (1 - own).prod(-1), mean).argmax(0)

    return choose


def _near(bound: Bound, p: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Valid candidates ``(C, B, L)`` bool."""
    size = best.sum(1, keepdims=True)
    ordered = np.pad(-np.sort(-p, axis=1), ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
    cut = np.take_along_axis(ordered, size, 1) + np.take_along_axis(ordered, size + 1, 1)
    found = [bound.nearest(p - 0.5 * cut * times) for times in _NEAR]
    return np.stack(found).astype(bool)
