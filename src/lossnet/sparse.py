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


def bernoulli(logits: Tensor, k: int, generator: torch.Generator | None = None) -> Tensor:
    """``k`` samples of independent Bernoulli(sigmoid(logits)) entries, ``(K, *logits.shape)``.

    Few expected on-entries of a ``(B, L)`` tensor are found without visiting the others: points
    of a Poisson process with rate softplus(logit) in each cell, a cell being on where at least
    one point fell. That is exact: P(on) = 1 - exp(-softplus(u)) = sigmoid(u).
    """
    logits = logits.detach()
    if logits.dim() != 2:
        return _dense_bernoulli(logits, k, generator)
    rates = F.softplus(logits).flatten().double()
    edges = rates.cumsum(0)
    total = float(edges[-1]) if edges.numel() else 0.0
    if not 0.0 < total < _SPARSE_BELOW * rates.numel():
        return _dense_bernoulli(logits, k, generator)
    device = logits.device
    mean = torch.tensor(total * k, dtype=torch.float64, device=device)
    points = int(torch.poisson(mean, generator=generator))
    uniform = torch.rand(points, generator=generator, dtype=torch.float64, device=device)
    # One uniform number places a point in its sample (whole part) and its cell (the rest); in
    # order, so that the entries come out in order.
    place = (uniform * k).sort().values
    which = place.long().clamp_max(k - 1)
    cell = torch.searchsorted(edges, (place - which) * total).clamp_max(rates.numel() - 1)
    flat = torch.unique_consecutive(which * rates.numel() + cell)
    batch, labels = logits.shape
    row = flat // labels
    indices = torch.stack([row // batch, row % batch, flat - row * labels])
    ones = torch.ones(flat.numel(), dtype=logits.dtype, device=device)
    return torch.sparse_coo_tensor(
        indices, ones, (k, batch, labels), is_coalesced=True, check_invariants=False
    )


def _dense_bernoulli(logits: Tensor, k: int, generator: torch.Generator | None) -> Tensor:
    shape = (k, *logits.shape)
    uniform = torch.rand(shape, generator=generator, dtype=logits.dtype, device=logits.device)
    return uniform < torch.sigmoid(logits)


def dense(y: Tensor, dtype: torch.dtype) -> Tensor:
    """``y`` as an ordinary tensor of numbers."""
    return (y.to_dense() if y.is_sparse else y).to(dtype)


def prepend(target: Tensor, y: Tensor) -> Tensor:
    """The target ``(B, *S)`` as candidate 0 before candidates ``(K, B, *S)`` of any kind."""
    if not y.is_sparse:
        return torch.cat([target.unsqueeze(0).to(y.dtype), y])
    row, label = target.nonzero(as_tuple=True)
    first = torch.stack([torch.zeros_like(row), row, label])
    later = y.indices().clone()
    later[0] += 1
    indices = torch.cat([first, later], 1)
    ones = torch.ones(indices.shape[1], dtype=y.dtype, device=y.device)
    shape = (y.shape[0] + 1, *y.shape[1:])
    return torch.sparse_coo_tensor(indices, ones, shape, is_coalesced=True, check_invariants=False)


def _pairs(y: Tensor) -> tuple[Tensor, Tensor]:
    """The on-entries of sparse candidates ``(K, B, L)``: row k·B + b, and label, by row."""
    which, row, label = y.indices()
    return which * y.shape[1] + row, label


def dot(y: Tensor, h: Tensor) -> Tensor:
    """Inner products of candidates ``(K, B, *S)`` with ``h`` ``(B, *S)``, ``(K, B)``."""
    if not y.is_sparse:
        return (y.to(h.dtype) * h).flatten(2).sum(-1)
    k, batch, labels = y.shape
    which, row, label = y.indices()
    picked = h.flatten().index_select(0, row * labels + label)
    sums = torch.zeros(k * batch, dtype=h.dtype, device=h.device)
    return sums.index_add(0, which * batch + row, picked).view(k, batch)


def matmul(y: Tensor, weight: Tensor) -> Tensor:
    """Products of candidates ``(K, B, L)`` with ``weight`` ``(L, H)``, ``(K, B, H)``."""
    if not y.is_sparse:
        return y.to(weight.dtype) @ weight
    k, batch = y.shape[:2]
    product: Tensor = _SumRows.apply(weight, *_pairs(y), k * batch)
    return product.view(k, batch, -1)


class _SumRows(torch.autograd.Function):
    """out[r] = sum of weight[l] over the pairs (r, l); pairs come ordered by r.

    The gradient with respect to the weight is the same sum with the roles exchanged, several
    times faster than embedding_bag's own backward.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, rows: Tensor, labels: Tensor, n: int) -> Tensor:
        ctx.save_for_backward(rows, labels)
        ctx.size = weight.shape[0]
        return _sum_rows(weight, rows, labels, n)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        rows, labels = ctx.saved_tensors
        order = torch.argsort(labels)
        return _SumRows.apply(grad, labels[order], rows[order], ctx.size), None, None, None


def _sum_rows(weight: Tensor, rows: Tensor, columns: Tensor, n: int) -> Tensor:
    """out[r] = sum of weight[c] over the pairs (r, c), ordered by r; without a gradient."""
    counts = torch.bincount(rows, minlength=n)
    offsets = counts.cumsum(0) - counts
    return F.embedding_bag(columns, weight, offsets, mode="sum")
