"""The best label set for F-beta and Jaccard when labels are independent, exactly.

Both metrics grow with the number of labels that prediction and truth share, and otherwise depend
on the two sizes alone. So among sets of one size the k most probable labels are best: exchanging a
label of the set for a more probable one outside moves probability from truths with the first and
not the second to truths with the second and not the first, which share one label more. That leaves
L + 1 prefixes of the sorted labels. Bounds of each one's expected score, from sums of
probabilities alone, rule out most; the others are computed from the distribution of the number of
labels on (Ye et al., 2012, do the same for F with recurrences).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lossnet.checks import check_weight
from lossnet.errors import DataError, SettingError

#: Count distributions leave out at most this much probability.
_TAIL = 1e-13
#: Rows that are computed together, and the most numbers in a tensor of theirs.
_ROWS, _NUMBERS = 512, 2**21

_Scores = Callable[[Tensor, int, int, int], Tensor]


def best_f(p: Tensor, beta: float = 1.0) -> Tensor:
    """The label set of highest expected F-beta for independent labels, ``(B, L)`` bool.

    F = (1 + β²) |A ∩ Y| / (|A| + β² |Y|), and 1 where both are empty. With N(s) the expected
    number of the k most probable labels that are on when s labels are on in all,

        E F(k) = (1 + β²) Σ_s N(s) / (k + β² s),   N(s) = Σ_{i ≤ k} p_i P(s - 1 others are on).

    Exact: ties within 1e-12 aside, no label set has a higher expected score. The k most probable
    labels are the best set of size k, as exchanging a label for a more probable one never lowers
    the number of labels shared, in distribution.

    Args:
        p: probabilities of the labels, ``(B, L)``.
        beta: how many times as much recall weighs as precision.

    >>> best_f(torch.tensor([[0.6, 0.4, 0.1], [0.1, 0.1, 0.1]]))
    tensor([[ True,  True, False],
            [False, False, False]])
    """
    b2 = check_beta(beta) ** 2

    def bounds(p: Tensor) -> tuple[Tensor, Tensor]:
        # E F(k) = (1 + β²) Σ_{i ≤ k} p_i E[1 / (k + β² (1 + S_i))], S_i the others' count, whose
        # mean is M - p_i. Jensen: 1/x is convex. Above: 1 - c E[1/(c+S)] = E[S/(c+S)] ≥
        # M/(c+1+M), which is Jensen for each label's share of S.
        total, m, k = p.sum(1, keepdim=True), p.cumsum(1), _sizes(p)
        own = p.square().cumsum(1) / m.clamp_min(1e-300)
        lower = m / (k + b2 * (1 + total - own))
        c = k + b2
        upper = m * (c + b2) / (c * (c + b2 * (1 + total - p[:, :1])))
        return (1 + b2) * lower, (1 + b2) * torch.minimum(upper, m / (k + b2 * m))

    def scores(p: Tensor, first: int, last: int, counts: int) -> Tensor:
        count = _count(p[:, first:], counts)
        shared = torch.zeros_like(count)
        for label in p[:, :first].T.contiguous():
            shared = _add_label(shared, label)
            shared[1:].addcmul_(count[:-1], label)
            count = _add_label(count, label)
        more = _on_and_count(count, p[:, first:last].T)
        shared = torch.cat([shared.unsqueeze(1), more], 1).cumsum(1)
        k = torch.arange(first, last + 1, dtype=p.dtype, device=p.device).view(1, -1, 1)
        on = torch.arange(counts, dtype=p.dtype, device=p.device).view(-1, 1, 1)
        return shared.div_(k + b2 * on).sum(0).mul_(1 + b2).T

    return _best_prefix(p, bounds, scores)


def best_jaccard(p: Tensor) -> Tensor:
    """The label set of highest expected Jaccard index for independent labels, ``(B, L)`` bool.

    J = |A ∩ Y| / |A ∪ Y|, and 1 where both are empty. With C the number of labels on outside the
    k most probable, E J(k) = (Σ_{i ≤ k} p_i) E[1 / (k + C)]: the labels inside and outside are
    independent. Exact, as :func:`best_f`.

    Args:
        p: probabilities of the labels, ``(B, L)``.

    >>> best_jaccard(torch.tensor([[0.6, 0.4, 0.1], [0.9, 0.4, 0.1]]))
    tensor([[ True,  True, False],
            [ True, False, False]])
    """

    def bounds(p: Tensor) -> tuple[Tensor, Tensor]:
        m, k = p.cumsum(1), _sizes(p)
        outside = p.sum(1, keepdim=True) - m
        return m / (k + outside), m * (k + 1) / (k * (k + 1 + outside))

    def scores(p: Tensor, first: int, last: int, counts: int) -> Tensor:
        on = torch.arange(counts, dtype=p.dtype, device=p.device)
        count, found = _count(p[:, last:], counts), []
        for k in range(last, first - 1, -1):
            found.append((1.0 / (k + on)) @ count)
            count = _add_label(count, p[:, k - 1])
        return p.cumsum(1)[:, first - 1 : last] * torch.stack(found[::-1], 1)

    return _best_prefix(p, bounds, scores)


def check_beta(beta: float) -> float:
    """``beta`` itself; an error unless it is a finite number above 0."""
    check_weight("beta", beta)
    if not beta > 0:
        raise SettingError(f"beta must be above 0, got {beta!r}; 1 weighs both alike")
    return float(beta)


def _best_prefix(
    p: Tensor, bounds: Callable[[Tensor], tuple[Tensor, Tensor]], scores: _Scores
) -> Tensor:
    """The prefix of the sorted labels with the best expected score, as a label set.

    ``bounds`` are of sizes 1 to L; ``scores(p, first, last, counts)`` finds those of sizes
    ``first`` to ``last``, with counts of labels on below ``counts``.
    """
    if not ((p >= 0) & (p <= 1)).all():
        raise DataError("probabilities must be from 0 to 1, and some are not (or are NaN)")
    p, order = p.double().sort(dim=1, descending=True, stable=True)
    none = (1.0 - p).prod(1, keepdim=True)
    lower, upper = (torch.cat([none, bound], 1) for bound in bounds(p))
    best, k = lower.max(1)
    possible = upper >= best.unsqueeze(1) - _TAIL
    last = p.shape[1] - possible.flip(1).long().argmax(1)
    first = possible[:, 1:].long().argmax(1) + 1
    rows = (possible.sum(1) > 1).nonzero().squeeze(1)
    rows = rows[last[rows].argsort()]
    while len(rows):
        part = rows[:_ROWS]
        counts, least, most = _counts(p[part]), int(first[part].min()), int(last[part].max())
        part = part[: max(1, _NUMBERS // (counts * (most - least + 1)))]
        rows = rows[len(part) :]
        best, number = scores(p[part], least, most, counts).max(1)
        k[part] = torch.where(none[part, 0] >= best, 0, number + least)
    chosen = torch.arange(p.shape[1], device=p.device) < k.unsqueeze(1)
    return torch.zeros_like(chosen).scatter_(1, order, chosen)


def _sizes(p: Tensor) -> Tensor:
    return torch.arange(1, p.shape[1] + 1, dtype=p.dtype, device=p.device)


def _counts(p: Tensor) -> int:
    """How many counts 0, 1, ... leave out no more than the tail in any row, by Bernstein."""
    log = 30.0  # -log of the tail
    mean, variance = p.sum(1), (p * (1 - p)).sum(1)
    most = mean + log / 3 + (log**2 / 9 + 2 * log * variance).sqrt()
    return min(p.shape[1], int(most.max())) + 1


def _count(p: Tensor, counts: int) -> Tensor:
    """The distribution of the number of labels on, ``(counts, B)``, as far as that."""
    count = p.new_zeros(counts, len(p))
    count[0] = 1.0
    for label in p.T.contiguous():
        count = _add_label(count, label)
    return count


def _add_label(count: Tensor, p: Tensor) -> Tensor:
    """The distribution ``(counts, B)`` of a count with one label more."""
    more = count * (1.0 - p)
    more[1:].addcmul_(count[:-1], p)
    return more


def _on_and_count(count: Tensor, p: Tensor) -> Tensor:
    """P(label i is on, and s labels in all), for some labels ``(I, B)``: ``(counts, I, B)``.

    p_i r(s - 1), where r is the count without label i. It solves d(s) = (1-p) r(s) + p r(s-1)
    with d the count of all: from below where p ≤ 1/2, from above otherwise, so that errors shrink.
    """
    above = p > 0.5
    small = torch.where(above, 1 - p, p)
    r = torch.where(above, count.flip(0).unsqueeze(1), count.unsqueeze(1)).div_(1 - small)
    odds = small / (1 - small)
    for s in range(1, len(count)):
        r[s].addcmul_(odds, r[s - 1], value=-1.0)
    before = torch.cat([torch.zeros_like(r[:1]), r[:-1]])
    return torch.where(above, r.flip(0), before).mul_(p)
