"""The best label set for F-beta from weighted samples of complete outputs."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from lossnet.decisions.prefixes import check_beta

#: The most entries of the candidates, and of the products, that are held at once.
_NUMBERS = 2**23


def best_f_of_samples(y: Tensor, w: Tensor, beta: float = 1.0) -> Tensor:
    """The label set of highest mean F-beta over weighted samples, ``(B, L)`` bool.

    The exact rule of Dembczynski et al. (2011), whatever the labels' dependence: with

        P[i, s] = Σ_k w_k y_ki [|y_k| = s],   W[s, k] = (1 + β²) / (β² s + k),   Δ = P W,

    the mean of F for a set A of size k is Σ_{i in A} Δ[i, k], so the best set of size k has the k
    labels of largest Δ[:, k]; the empty set has Σ_k w_k [|y_k| = 0]. Sizes whose upper bound is
    below the lower bound of another are left out, which changes no decision.

    Args:
        y: samples ``(K, B, L)``: bool, 0 and 1, or sparse.
        w: their weights ``(K, B)``, which sum to 1; see
            :func:`~lossnet.decisions.self_normalised`.
        beta: how many times as much recall weighs as precision.

    >>> y = torch.tensor([[[True, True, False]], [[False, False, True]]])
    >>> best_f_of_samples(y, torch.tensor([[0.8], [0.2]]))
    tensor([[ True,  True, False]])
    """
    b2 = check_beta(beta) ** 2
    w = w.double()
    chosen = torch.zeros(y.shape[1:], dtype=torch.bool, device=y.device)
    for rows, entries in _parts(y):
        chosen[rows] = _best(entries, w[:, rows], y.shape[2], b2)
    return chosen


def _parts(y: Tensor) -> Iterator[tuple[slice, tuple[Tensor, ...]]]:
    """Rows in parts, and where their candidates are on: candidate, row of the part, label."""
    k, batch, labels = y.shape
    step = max(1, _NUMBERS // max(1, k * labels))
    for start in range(0, batch, step):
        rows = slice(start, start + step)
        if y.is_sparse:
            which, row, label = y.indices()
            inside = (row >= start) & (row < start + step)
            yield rows, (which[inside], row[inside] - start, label[inside])
        else:
            yield rows, y[:, rows].nonzero(as_tuple=True)


def _best(entries: tuple[Tensor, ...], w: Tensor, labels: int, b2: float) -> Tensor:
    """The best sets ``(B, L)`` of some rows, given where their samples are on."""
    which, row, label = entries
    (k, batch), weight, at = w.shape, w[which, row], torch.arange(w.shape[1], device=w.device)
    sizes = torch.bincount(which * batch + row, minlength=k * batch).view(k, batch)
    m = _sums(row * labels + label, weight, (batch, labels))
    # Only labels that some sample has can be chosen; the most probable stand first.
    m, order = m.topk(max(1, int((m > 0).sum(1).max())), 1)
    rank = torch.full((batch, labels), -1, device=w.device)
    rank.scatter_(1, order, torch.arange(m.shape[1], device=w.device).expand_as(order))
    rank, size = rank[row, label], sizes[which, row]
    place = (size * batch + row) * m.shape[1] + rank
    most = int(sizes.max()) + 1
    joint = _sums(place[rank >= 0], weight[rank >= 0], (most, batch, m.shape[1]))
    by_size = _sums((sizes * batch + at).flatten(), w.flatten(), (most, batch))

    first, last = _window(joint, m, by_size, b2)
    on = torch.arange(most, device=w.device)
    tried = torch.arange(first, last + 1, device=w.device)
    W = (1 + b2) / (b2 * on + tried.unsqueeze(1)).to(joint)
    delta = (W @ joint.flatten(1)).view(-1, *m.shape)
    scores = [one.topk(size, sorted=False).values.sum(1) for size, one in enumerate(delta, first)]
    best, number = torch.stack(scores).max(0)
    count = torch.where(by_size[0] >= best, 0, number + first)
    ranked = delta[number, at].argsort(dim=1, descending=True, stable=True)
    inside = torch.arange(m.shape[1], device=w.device) < count.unsqueeze(1)
    chosen = torch.zeros(batch, labels, dtype=torch.bool, device=w.device)
    return chosen.scatter_(1, order.gather(1, ranked), inside)


def _window(joint: Tensor, m: Tensor, by_size: Tensor, b2: float) -> tuple[int, int]:
    """The sizes from the smallest to the largest that may be the best of some row.

    By Jensen's inequality the k most probable labels have a mean F of at least (1 + β²) M / (k +
    β² Z / M) with M = Σ_{i ≤ k} m_i and Z the mean of |y| Σ_{i ≤ k} y_i, and no set of size k has
    more than (1 + β²) M / (k + β² M), nor more than if every sample had all it can in common.
    """
    on = torch.arange(len(by_size), dtype=m.dtype, device=m.device)
    k = torch.arange(1, m.shape[1] + 1, dtype=m.dtype, device=m.device)
    total = m.cumsum(1)
    with_size = (on @ joint.flatten(1)).view(m.shape).cumsum(1)
    lower = total / (k + b2 * with_size / total.clamp_min(1e-300))
    share = torch.minimum(k, on.unsqueeze(1)) / (k + b2 * on.unsqueeze(1))
    upper = torch.minimum(total / (k + b2 * total), by_size.T @ share)
    possible = (upper >= lower.amax(1, keepdim=True) - 1e-13).any(0).nonzero()
    return int(possible[0]) + 1, int(possible[-1]) + 1


def _sums(place: Tensor, values: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Sums of the values with the same place in a tensor of that shape."""
    total = values.new_zeros(torch.Size(shape).numel())
    return total.index_add_(0, place, values).view(shape)
