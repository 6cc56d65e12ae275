"""Exact algorithms on a linear chain: energy, partition, marginals, best path.

    E(y) = Σ_t <U_t, y_t> + Σ_{t≥2} y_{t-1}' P y_t

over a sequence's n tokens (paper 003, Eq. 7). Shapes: ``B`` batch, ``T`` tokens, ``C`` tags, ``K``
candidates per example. ``unary`` U is ``(B, T, C)``, ``pairwise`` P is ``(C, C)`` [from, to]:
finite energies, a forbidden transition being a large one (1e4). :func:`with_ends` adds energies of
the first and the last tag to U. ``mask`` is ``(B, T)`` bool, true where a token counts, padding on
the right; an empty sequence is an error. What lies under padding changes nothing. Results are
differentiable.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.errors import SettingError
from lossnet.spaces import sparse

Maybe: TypeAlias = Tensor | None

#: The energy of what cannot be.
_FORBIDDEN = 1e4


def energy(unary: Tensor, pairwise: Tensor, y: Tensor, mask: Maybe = None) -> Tensor:
    """E(y) of relaxed or one-hot candidates ``y`` ``(K, B, T, C)``, ``(K, B)``; multi-linear."""
    unary, mask = _complete(unary, mask)
    y = sparse.dense(y, unary.dtype).masked_fill(~mask.unsqueeze(-1), 0.0)
    pairs = (y[:, :, :-1] @ pairwise) * y[:, :, 1:]
    return (y * unary).sum((2, 3)) + pairs.sum((2, 3))


def log_partition(unary: Tensor, pairwise: Tensor, mask: Maybe = None) -> Tensor:
    """log Z = log Σ_y exp(-E(y)) over all C^n paths, ``(B,)``."""
    unary, mask = _complete(unary, mask)
    # Products of probabilities lose a tag that U puts log(1 / tiny) above another. Its two
    # transitions make up for twice P's range at most: within the limit, below eps^2 of Z is lost.
    p, number = torch.aminmax(pairwise.detach()), torch.finfo(unary.dtype)
    wide = float(p.max - p.min) > 0.5 * math.log(number.eps**2 / number.tiny)
    return (_log_space_partition if wide else _Partition.apply)(unary, pairwise, mask)


def marginals(unary: Tensor, pairwise: Tensor, mask: Maybe = None) -> Tensor:
    """p(y_t = c) = -∂ log Z / ∂U_tc under p(y) = exp(-E(y)) / Z, ``(B, T, C)``; 0 under padding."""
    graph = torch.is_grad_enabled() and (unary.requires_grad or pairwise.requires_grad)
    if not unary.requires_grad:
        unary = unary.detach().requires_grad_()
    with torch.enable_grad():
        total = log_partition(unary, pairwise, mask).sum()
    (slope,) = torch.autograd.grad(total, unary, create_graph=graph)
    return -slope


def nll(
    unary: Tensor, pairwise: Tensor, target: Tensor, mask: Maybe = None, known: Maybe = None
) -> Tensor:
    """-log p(target) = E(target) + log Z of one-hot targets ``(B, T, C)``, ``(B,)``.

    With ``known`` ``(B, T)`` bool, -log of the probability of all paths that agree with the target
    where it is known: log Z less the log Z of those paths.
    """
    z = log_partition(unary, pairwise, mask)
    if known is None:
        return energy(unary, pairwise, target.unsqueeze(0), mask).squeeze(0) + z
    others = known.unsqueeze(2) & (target == 0)
    return z - log_partition(unary + _FORBIDDEN * others, pairwise, mask)


def viterbi(unary: Tensor, pairwise: Tensor, mask: Maybe = None) -> tuple[Tensor, Tensor]:
    """The path of least energy: tags ``(B, T)``, 0 under padding, and min_y E(y) ``(B,)``."""
    unary, mask = _complete(unary, mask)
    tags = _best_path(unary.detach(), pairwise.detach(), mask)
    steps = pairwise[tags[:, :-1], tags[:, 1:]].masked_fill(~mask[:, 1:], 0.0)
    return tags, unary.gather(2, tags.unsqueeze(2)).sum((1, 2)) + steps.sum(1)


def cost_augmented(
    unary: Tensor, target: Tensor, scale: float | Tensor = 1.0, mask: Maybe = None
) -> Tensor:
    """Unary energies ``(B, T, C)`` with which E(y) becomes E(y) - scale Δ(y, target).

    Δ is :func:`lossnet.costs.l1`: with one-hot targets ``(B, T, C)``, twice the number of wrong
    tokens. :func:`viterbi` on them is the SSVM's max_y [scale Δ(y, target) - E(y)], exactly. A
    ``scale`` ``(B,)`` of 1 / 2n turns Δ into :func:`lossnet.costs.token_error`.
    """
    wrong = 2.0 * (1.0 - target.to(unary.dtype))
    if mask is not None:
        wrong = wrong.masked_fill(~mask.unsqueeze(2), 0.0)
    return unary - (scale.view(-1, 1, 1) if isinstance(scale, Tensor) else scale) * wrong


def with_ends(unary: Tensor, mask: Maybe = None, *, start: Tensor, stop: Tensor) -> Tensor:
    """Unary energies ``(B, T, C)`` with ``start`` added at the first and ``stop`` at the last."""
    unary, mask = _complete(unary, mask)
    unary = torch.cat([unary[:, :1] + start, unary[:, 1:]], 1)
    return unary + (mask & ~F.pad(mask[:, 1:], (0, 1))).unsqueeze(2) * stop


def _complete(unary: Tensor, mask: Maybe) -> tuple[Tensor, Tensor]:
    """Unary energies, zero under padding; and the mask, never None."""
    if mask is None:
        mask = unary.new_ones(unary.shape[:2], dtype=torch.bool)
    bad = ~mask[:, :1].any(1) | (mask[:, 1:] & ~mask[:, :-1]).any(1)
    if bad.any():
        raise SettingError(
            f"row {int(bad.nonzero()[0])} of the mask is empty or has padding before a token; "
            "leave empty sequences out and pad on the right"
        )
    return unary.masked_fill(~mask.unsqueeze(2), 0.0), mask


def _best_path(unary: Tensor, pairwise: Tensor, mask: Tensor) -> Tensor:
    """Tags ``(B, T)``: least energies forward, and from them the tags backward."""
    first, *others = unary.permute(1, 2, 0).contiguous()  # the batch last: it vectorises
    lowest, steps = [first], pairwise.unsqueeze(2)
    for u in others:
        past = lowest[-1] - lowest[-1][0]  # a long sequence's sum would lose its last digits
        lowest.append((past.unsqueeze(1) + steps).amin(0).add_(u))
    # One tag more, C, stands for what comes after a sequence's end: free there, and only there.
    beyond = torch.where(mask.T.unsqueeze(2), math.inf, -math.inf)
    energies = torch.cat([torch.stack(lowest).mT, beyond], 2)
    towards = F.pad(pairwise.T, (0, 1, 0, 1))
    tags = [mask.new_full(mask.shape[:1], len(pairwise), dtype=torch.long)]
    for e in energies.flip(0):
        tags.append((e + towards.index_select(0, tags[-1])).argmin(1))
    return torch.stack(tags[:0:-1], 1).masked_fill(~mask, 0)


def _log_space_partition(unary: Tensor, pairwise: Tensor, mask: Tensor) -> Tensor:
    """log Z whatever the range of P: C^2 exponentials per token where products need C."""
    alpha, *others = (-unary).permute(1, 2, 0)
    total = torch.zeros_like(alpha[0])  # kept apart: a long sum would cost alpha its last digits
    for u, counts in zip(others, mask.T[1:], strict=True):
        top = alpha.detach().amax(0)
        step = ((alpha - top).unsqueeze(1) - pairwise.unsqueeze(2)).logsumexp(0) + u
        alpha, total = torch.where(counts, step, alpha), total + top * counts
    return total + alpha.logsumexp(0)


def _messages(unary: Tensor, pairwise: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
    """W = exp(-P), messages ``(T, B, C)``, all up to factors that cancel in marginals, and log Z.

    α_t = exp(-U_t) ∘ W'α_{t-1},  ρ_t = W β_{t+1},  β_t = exp(-U_t) ∘ ρ_t; one loop runs both ways.
    """
    floor, low = pairwise.min(), unary.amin(2)
    w, weights = (floor - pairwise).exp(), (low.unsqueeze(2) - unary).exp().transpose(0, 1)
    last = mask & ~F.pad(mask[:, 1:], (0, 1))  # where the way back begins
    ends = torch.stack([torch.zeros_like(last), last.flip(1)]).permute(2, 0, 1).unsqueeze(3)
    both, w_both = torch.stack([weights, weights.flip(0)], 1), torch.stack([w, w.T])
    product, before, after, totals = torch.ones_like(both[0]), [], [], []
    for weight, end in zip(both, ends, strict=True):
        before.append(product.masked_fill_(end, 1.0))
        message = product * weight
        totals.append(message.sum(2, keepdim=True))
        after.append(message / totals[-1])
        product = torch.bmm(after[-1], w_both)
    alpha, beta = torch.stack(after).unbind(1)
    rho = torch.stack(before)[:, 1].flip(0)
    logs = torch.stack(totals)[:, 0, :, 0].log().T - low
    return w, alpha, rho, beta.flip(0), (logs * mask).sum(1) - mask[:, 1:].sum(1) * floor


class _Partition(torch.autograd.Function):
    """log Z by messages; they are found again where its gradient is to be differentiated."""

    @staticmethod
    def forward(ctx: Any, unary: Tensor, pairwise: Tensor, mask: Tensor) -> Tensor:
        *messages, log_z = _messages(unary, pairwise, mask)
        ctx.save_for_backward(unary, pairwise, mask, *messages)
        return log_z

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        unary, pairwise, mask, *messages = ctx.saved_tensors
        if torch.is_grad_enabled():
            *messages, _ = _messages(unary, pairwise, mask)
        w, alpha, rho, beta = messages
        # p(y_t) = α_t ∘ ρ_t / n_t and p(y_t, y_{t+1}) = W ∘ α_t β_{t+1}' / n_t, n_t = <α_t, ρ_t>
        shares = alpha * ((grad * mask.T).unsqueeze(2) / (alpha * rho).sum(2, keepdim=True))
        inner = (shares[:-1] * mask.T[1:].unsqueeze(2)).flatten(0, 1)
        return -(shares * rho).transpose(0, 1), -w * (inner.T @ beta[1:].flatten(0, 1)), None
