"""Discrete candidates with few entries on: sampled, and multiplied, by their on-entries alone.

A sample of a multi-label output has two or three labels on of hundreds. Such candidates travel
as coalesced sparse COO tensors ``(K, B, L)`` of ones; everything here also takes a dense tensor
(bool or float), so that callers need not know which they hold.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

#: Above this expected share of on-entries drawing every entry is cheaper.
_SPARSE_BELOW = 0.1
#: Below this number of entries a dense tensor is as fast.
_WORTH = 100_000


def bernoulli(logits: Tensor, k: int, generator: torch.Generator | None = None) -> Tensor:
    """``k`` samples of independent Bernoulli(sigmoid(logits)) entries, ``(K, *logits.shape)``.

    Where few entries of a ``(B, L)`` tensor are expected on, the others are not visited: points
    of a Poisson process with rate softplus(logit) fall in each cell, and a cell is on where at
    least one point fell. That is exact: P(on) = 1 - exp(-softplus(u)) = sigmoid(u). Cells more
    likely on than off are drawn one by one: a confident net would need many points.
    """
    logits = logits.detach()
    if logits.dim() != 2 or not logits.numel():
        return _dense_bernoulli(logits, k, generator)
    flat = logits.flatten()
    likely = (flat > 0).nonzero().squeeze(1)
    edges = F.softplus(flat).index_fill_(0, likely, 0.0).cumsum(0, dtype=torch.float64)
    total = float(edges[-1])
    if not total + len(likely) < _SPARSE_BELOW * len(flat):
        return _dense_bernoulli(logits, k, generator)
    which, at = _dense_bernoulli(flat[likely], k, generator).nonzero(as_tuple=True)
    drawn = torch.add(likely[at], which, alpha=len(flat))
    entries = torch.cat([_points(edges, total, k, generator), drawn]).unique()
    batch, labels = logits.shape
    row = entries // labels
    which = row // batch
    places = torch.sub(row, which, alpha=batch), torch.sub(entries, row, alpha=labels)
    return _ones(torch.stack([which, *places]), (k, batch, labels), logits)


def _points(edges: Tensor, total: float, k: int, generator: torch.Generator | None) -> Tensor:
    """Where ``k`` Poisson processes drop their points, as k·n + cell of n; ``edges`` sum rates."""
    mean = torch.tensor(total * k, dtype=torch.float64, device=edges.device)
    points = int(torch.poisson(mean, generator=generator))
    uniform = torch.rand(points, generator=generator, dtype=torch.float64, device=edges.device)
    # One uniform number places a point in its sample (integer part) and its cell (the rest).
    place = uniform * k
    which = place.long().clamp_max_(k - 1)
    cell = torch.searchsorted(edges, place.frac_().mul_(total)).clamp_max_(len(edges) - 1)
    return torch.add(cell, which, alpha=len(edges))


def _dense_bernoulli(logits: Tensor, k: int, generator: torch.Generator | None) -> Tensor:
    uniform = logits.new_empty((k, *logits.shape)).uniform_(generator=generator)
    return uniform < torch.sigmoid(logits)


def dense(y: Tensor, dtype: torch.dtype) -> Tensor:
    """``y`` as an ordinary tensor of numbers."""
    return (y.to_dense() if y.is_sparse else y).to(dtype)


def compact(y: Tensor, dtype: torch.dtype) -> Tensor:
    """Candidates ``(K, B, L)`` as sparse ones where they are dense, bool and mostly off."""
    if y.is_sparse or y.dtype != torch.bool or y.dim() != 3 or y.numel() < _WORTH:
        return y
    if y.count_nonzero() > _SPARSE_BELOW * y.numel():
        return y
    indices = y.nonzero().T.contiguous()
    return _ones(indices, tuple(y.shape), torch.empty(0, dtype=dtype, device=y.device))


def repeated(sets: Tensor, batch: int, dtype: torch.dtype) -> Tensor:
    """Sets ``(M, L)`` bool as sparse candidates of every row, ``(M, B, L)``."""
    label, sizes = sets.nonzero()[:, 1], sets.sum(1)
    which = torch.arange(len(sets), device=sets.device).repeat_interleave(sizes * batch)
    first, own = sizes.cumsum(0) - sizes, sizes[which]
    place = torch.arange(len(which), device=sets.device) - first[which] * batch
    indices = torch.stack([which, place // own, label[first[which] + place % own]])
    shape = (len(sets), batch, sets.shape[1])
    return _ones(indices, shape, torch.empty(0, dtype=dtype, device=sets.device))


def prepend(target: Tensor, y: Tensor) -> Tensor:
    """The target ``(B, *S)`` as candidate 0 before candidates ``(K, B, *S)`` of any kind."""
    if not y.is_sparse:
        return torch.cat([target.unsqueeze(0).to(y.dtype), y])
    first = target.unsqueeze(0).nonzero().T
    indices = torch.cat([first, y.indices()], 1)
    indices[0, first.shape[1] :] += 1
    return _ones(indices, (y.shape[0] + 1, *y.shape[1:]), y)


def _ones(indices: Tensor, shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Sparse candidates that are on at these sorted places."""
    ones = torch.ones(indices.shape[1], dtype=like.dtype, device=like.device)
    return torch.sparse_coo_tensor(indices, ones, shape, is_coalesced=True, check_invariants=False)


def _pairs(y: Tensor) -> tuple[Tensor, Tensor]:
    """The on-entries of sparse candidates ``(K, B, L)``: row k·B + b, and label, by row."""
    which, row, label = y.indices()
    return torch.add(row, which, alpha=y.shape[1]), label


def dot(y: Tensor, h: Tensor) -> Tensor:
    """Inner products of candidates ``(K, B, *S)`` with ``h`` ``(B, *S)``, ``(K, B)``."""
    if not y.is_sparse:
        return (y.to(h.dtype) * h).flatten(2).sum(-1)
    k, batch, labels = y.shape
    which, row, label = y.indices()
    picked = h.flatten().index_select(0, torch.add(label, row, alpha=labels))
    sums = torch.zeros(k * batch, dtype=h.dtype, device=h.device)
    return sums.index_add(0, torch.add(row, which, alpha=batch), picked).view(k, batch)


def matmul(y: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Products of candidates ``(K, B, L)`` with ``weight`` ``(L, H)``, ``(K, B, H)``.

    A ``bias`` ``(H,)`` is added on the way, without a further tensor of the products' size.
    """
    if not y.is_sparse:
        return F.linear(y.to(weight.dtype), weight.T, bias)
    return _SumRows.apply(weight, bias, y)


def matmul_t(y: Tensor, g: Tensor) -> Tensor:
    """The transposed product: candidates ``(K, B, L)`` and ``g`` ``(K, B, H)``, ``(L, H)``."""
    g = g.flatten(0, 1)
    if not y.is_sparse:
        return y.to(g.dtype).flatten(0, 1).T @ g
    rows, labels = _pairs(y)
    # Not coalesced: sorting would take longer than the product.
    places, values = torch.stack([labels, rows]), y.values().to(g.dtype)
    shape = (y.shape[2], len(g))
    transposed = torch.sparse_coo_tensor(places, values, shape, check_invariants=False)
    return torch.mm(transposed, g)


class _SumRows(torch.autograd.Function):
    """out[k, b] = sum of the weight's rows at the labels on in candidate k, b of sparse ``y``.

    embedding_bag is the fastest such sum; its own backward pass is several times slower than
    the transposed product.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor | None, y: Tensor) -> Tensor:
        ctx.save_for_backward(y)
        k, batch = y.shape[:2]
        rows, labels = _pairs(y)
        counts = torch.bincount(rows, minlength=k * batch)
        offsets = counts.cumsum(0) - counts
        # Detached: otherwise embedding_bag prepares its own backward pass.
        sums = F.embedding_bag(labels, weight.detach(), offsets, mode="sum")
        sums = sums if bias is None else sums.add_(bias)
        return sums.view(k, batch, -1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (y,) = ctx.saved_tensors
        need_weight, need_bias, _ = ctx.needs_input_grad
        of_bias = grad.flatten(0, 1).sum(0) if need_bias else None
        return matmul_t(y, grad) if need_weight else None, of_bias, None
