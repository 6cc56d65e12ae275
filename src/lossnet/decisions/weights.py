"""Weighted candidates: their weights, what they say of each position, and the best of them."""

from __future__ import annotations

import torch
from torch import Tensor

from lossnet.errors import DataError


def self_normalised(log_w: Tensor) -> tuple[Tensor, Tensor]:
    """Weights that sum to 1 and the effective sample size: w_k = exp(l_k) / Σ_j exp(l_j), 1 / Σ w².

    With samples of q and l = log p - log q up to a constant, Σ_k w_k f(y_k) estimates the mean of
    f under p. The effective sample size is K where all weights are equal and 1 where one sample
    has all the weight: then the estimate is worth as much as one sample of p.

    Args:
        log_w: logarithms of the weights of ``K`` candidates, ``(K, B)``.

    Returns:
        the weights ``(K, B)`` and the effective sample size ``(B,)``.

    >>> w, size = self_normalised(torch.tensor([[0.0], [0.0], [-torch.inf]]))
    >>> w.squeeze(1), size
    (tensor([0.5000, 0.5000, 0.0000]), tensor([2.]))
    """
    if not log_w.amax(0).isfinite().all():
        raise DataError("log-weights of a row must not be NaN or +inf, nor all -inf")
    w = torch.softmax(log_w, 0)
    return w, 1.0 / w.square().sum(0)


def marginals(y: Tensor, w: Tensor) -> Tensor:
    """The weighted mean of candidates, Σ_k w_k y_k, ``(B, *S)``.

    Args:
        y: candidates ``(K, B, *S)``: bool, numbers or sparse.
        w: their weights ``(K, B)``, which sum to 1.

    >>> marginals(torch.tensor([[[True, True]], [[True, False]]]), torch.tensor([[0.2], [0.8]]))
    tensor([[1.0000, 0.2000]])
    """
    if y.is_sparse:
        which, row, label = y.indices()
        total = w.new_zeros(y.shape[1:].numel())
        places = torch.add(label, row, alpha=y.shape[2])
        return total.index_add_(0, places, w[which, row]).view(y.shape[1:])
    total = w.new_zeros(y.shape[1:])
    for one, weight in zip(y, w, strict=True):
        total += one * weight.view(-1, *(1,) * (one.dim() - 1))
    return total


def most_probable(y: Tensor, log_p: Tensor) -> Tensor:
    """The candidate of each row with the highest log joint, ``(B, *S)``; the first among equals.

    For sparse candidates the result is dense and bool.

    Args:
        y: candidates ``(K, B, *S)``: bool, numbers or sparse.
        log_p: their log-probabilities ``(K, B)`` up to a constant.

    >>> y = torch.tensor([[[True, True]], [[True, False]]])
    >>> most_probable(y, torch.tensor([[-2.0], [-1.0]]))
    tensor([[ True, False]])
    """
    if log_p.isnan().any():
        raise DataError("the log-probability of a candidate is NaN")
    best = log_p.argmax(0)
    if not y.is_sparse:
        return y[best, torch.arange(len(best), device=best.device)]
    which, row, label = y.indices()
    chosen = which == best[row]
    found = torch.zeros(y.shape[1:], dtype=torch.bool, device=y.device)
    found[row[chosen], label[chosen]] = True
    return found
