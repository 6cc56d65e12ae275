"""What an output is: how it is relaxed, projected, sampled, scored, decoded and enumerated.

Shapes: ``B`` batch, ``K`` candidates per example, ``*S`` the shape of one output. A *relaxed*
output holds probabilities, ``logits`` are their unbounded form. Candidates are ``(K, B, *S)``;
discrete ones are bool, or sparse COO where most entries are off (see :mod:`lossnet.spaces.sparse`).
A mask is ``(B, *P)``, true where a position counts; ``*P`` are the positions of an output (all
of ``*S`` for :class:`Binary`, all but the last axis for :class:`Categorical`).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.errors import DataError
from lossnet.spaces import sparse

if TYPE_CHECKING:
    from lossnet.constraints import Constraint


class Space(Protocol):
    """The interface of an output space.

    ``coupled`` says whether the entries of the last axis are bound together, as the classes of
    one position are; ``constraint`` is a rule that outputs should keep to, if there is one.
    """

    coupled: ClassVar[bool]

    @property
    def constraint(self) -> Constraint | None:
        """Expected violations of candidates, ``(K, B)``; see :mod:`lossnet.constraints`."""

    def relax(self, logits: Tensor) -> Tensor:
        """Probabilities of ``logits``, the same shape."""

    def unrelax(self, y: Tensor) -> Tensor:
        """Logits of a relaxed output, so that ``relax(unrelax(y))`` is ``y`` up to rounding."""

    def project(self, y: Tensor) -> Tensor:
        """The nearest relaxed output in Euclidean distance."""

    def sample(
        self,
        logits: Tensor,
        k: int,
        generator: torch.Generator | None = None,
        *,
        mask: Tensor | None = None,
    ) -> Tensor:
        """``k`` independent discrete samples of each example, ``(K, B, *S)``."""

    def random(self, like: Tensor, k: int, generator: torch.Generator | None = None) -> Tensor:
        """``k`` uniformly random relaxed outputs of each example, ``(K, B, *S)``."""

    def log_prob(self, logits: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """log q(y) of candidates ``(K, B, *S)`` with independent positions, ``(K, B)``."""

    def cross_entropy(self, logits: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        """Cross-entropy summed over positions, ``(B,)``."""

    def entropy(self, logits: Tensor, mask: Tensor | None = None) -> Tensor:
        """Entropy of independent positions, summed, ``(B,)``."""

    def errors(self, y: Tensor, target: Tensor) -> Tensor:
        """How wrong candidates ``(K, B, *S)`` are at every position, ``(K, B, *P)`` in [0, 1]."""

    def decode(self, y: Tensor, threshold: float = 0.5) -> Tensor:
        """The discrete output of a relaxed one, bool, the same shape."""

    def enumerate(self, shape: tuple[int, ...]) -> Tensor:
        """Every discrete output of shape ``*S``, ``(N, *S)`` bool. For small spaces."""


def log_count(space: Space, shape: tuple[int, ...]) -> float:
    """The logarithm of how many outputs of shape ``*S`` :meth:`Space.enumerate` gives.

    >>> round(math.exp(log_count(Binary(), (3,))))
    8
    """
    size = math.prod(shape)
    return size // shape[-1] * math.log(max(shape[-1], 1)) if space.coupled else size * math.log(2)


def as_target(space: Space, logits: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
    """Targets ``(B, *S)`` of logits ``(B, *S)``; class indices ``(B, *P)`` become one-hot.

    Indices under a false ``mask`` do not matter.

    >>> as_target(Categorical(), torch.zeros(2, 3), torch.tensor([2, 0]))
    tensor([[0, 0, 1],
            [1, 0, 0]])
    """
    positions = logits.shape[:-1] if space.coupled else logits.shape
    if not len(logits):
        raise DataError("the batch is empty; leave out batches without rows")
    if mask is not None and mask.shape != positions:
        raise DataError(
            f"mask has shape {tuple(mask.shape)} and must have {tuple(positions)}, as the logits"
        )
    if y.shape == logits.shape:
        outside = (y < 0) | (y > 1)
        if mask is not None:
            outside &= mask.unsqueeze(-1) if space.coupled else mask
        if outside.any():
            raise DataError(f"y must be between 0 and 1, got {y[outside][0].item()}")
        return y
    if not space.coupled or y.shape != positions:
        raise DataError(_wrong_shape(space, logits, y))
    if y.is_floating_point():
        raise DataError(f"class indices must be integers, got {y.dtype}; take y.long()")
    classes = logits.shape[-1]
    y = y.long() if mask is None else y.long().where(mask, 0)
    outside = (y < 0) | (y >= classes)
    if outside.any():
        raise DataError(
            f"y has class {y[outside][0].item()}, and logits {tuple(logits.shape)} have classes 0 "
            f"to {classes - 1}; leave out positions with mask, such as mask=(y != -100)"
        )
    return F.one_hot(y, classes)


def _wrong_shape(space: Space, logits: Tensor, y: Tensor) -> str:
    found = f"logits have shape {tuple(logits.shape)} and y has {tuple(y.shape)}; "
    if not space.coupled:
        if y.shape == logits.shape[:-1] and not y.is_floating_point():
            return found + "they must be the same, or for class indices take space=Categorical()"
        return found + "they must be the same"
    if logits.dim() > 2 and y.shape == (logits.shape[0], *logits.shape[2:]):
        return found + "the classes must be on the last axis: take logits.movedim(1, -1)"
    return found + f"y must have the same, or {tuple(logits.shape[:-1])} for class indices"


def sum_positions(values: Tensor, mask: Tensor | None, *, lead: int) -> Tensor:
    """Sum over all axes after the first ``lead``, counting only where the mask is true."""
    if mask is not None:
        values = values * _fit(mask, values, lead)
    return values.flatten(lead).sum(-1) if values.dim() > lead else values


def mean_positions(values: Tensor, mask: Tensor | None, *, lead: int) -> Tensor:
    """Mean over all axes after the first ``lead``, counting only where the mask is true.

    0 where the mask leaves nothing.
    """
    if mask is None:
        return values.flatten(lead).mean(-1) if values.dim() > lead else values
    counted = sum_positions(torch.ones_like(values), mask, lead=lead)
    return sum_positions(values, mask, lead=lead) / counted.clamp_min(1.0)


def _fit(mask: Tensor, values: Tensor, lead: int) -> Tensor:
    """``mask`` as numbers with as many trailing axes as ``values`` has."""
    mask = mask.to(values.dtype)
    while mask.dim() < values.dim() - (lead - 1):
        mask = mask.unsqueeze(-1)
    return mask


@dataclass(frozen=True)
class Binary:
    """Every position is 0 or 1; the relaxation is the box [0, 1].

    >>> Binary().relax(torch.tensor([0.0]))
    tensor([0.5000])
    """

    coupled: ClassVar[bool] = False
    constraint: Constraint | None = None

    def relax(self, logits: Tensor) -> Tensor:
        return torch.sigmoid(logits)

    def unrelax(self, y: Tensor) -> Tensor:
        return torch.logit(y, eps=1e-6)

    def project(self, y: Tensor) -> Tensor:
        return y.clamp(0.0, 1.0)

    def sample(
        self,
        logits: Tensor,
        k: int,
        generator: torch.Generator | None = None,
        *,
        mask: Tensor | None = None,
    ) -> Tensor:
        return sparse.bernoulli(logits, k, generator)

    def random(self, like: Tensor, k: int, generator: torch.Generator | None = None) -> Tensor:
        return like.new_empty((k, *like.shape)).uniform_(generator=generator)

    def log_prob(self, logits: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        # log q(y) = <y, logits> - sum softplus(logits): exact, no logarithm of a tiny number.
        if mask is not None:
            logits = logits * mask
        on = sparse.dot(y, logits)
        return on - sum_positions(F.softplus(logits), mask, lead=1)

    def cross_entropy(self, logits: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        losses = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return sum_positions(losses, mask, lead=1)

    def entropy(self, logits: Tensor, mask: Tensor | None = None) -> Tensor:
        return sum_positions(F.softplus(logits) - logits * torch.sigmoid(logits), mask, lead=1)

    def errors(self, y: Tensor, target: Tensor) -> Tensor:
        return (sparse.dense(y, target.dtype) - target).abs()

    def decode(self, y: Tensor, threshold: float = 0.5) -> Tensor:
        return y >= threshold

    def enumerate(self, shape: tuple[int, ...]) -> Tensor:
        size = int(torch.Size(shape).numel())
        number = torch.arange(2**size, device="cpu").unsqueeze(1)
        states = number >> torch.arange(size - 1, -1, -1, device="cpu")
        return (states & 1).bool().reshape(-1, *shape)


@dataclass(frozen=True)
class Categorical:
    """Every position is one of C classes, on the last axis; the relaxation is the simplex.

    Targets and samples are one-hot.

    >>> Categorical().relax(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    coupled: ClassVar[bool] = True
    constraint: Constraint | None = None

    def relax(self, logits: Tensor) -> Tensor:
        return torch.softmax(logits, -1)

    def unrelax(self, y: Tensor) -> Tensor:
        return y.clamp_min(1e-6).log()

    def project(self, y: Tensor) -> Tensor:
        # Sort, find the last coordinate that stays positive, shift by its level, cut at zero.
        ordered = y.sort(-1, descending=True).values
        level = ordered.cumsum(-1) - 1.0
        rank = torch.arange(1, y.shape[-1] + 1, dtype=y.dtype, device=y.device)
        kept = (ordered * rank > level).sum(-1, keepdim=True)
        return (y - level.gather(-1, kept - 1) / kept).clamp_min(0.0)

    def sample(
        self,
        logits: Tensor,
        k: int,
        generator: torch.Generator | None = None,
        *,
        mask: Tensor | None = None,
    ) -> Tensor:
        classes = logits.shape[-1]
        flat = torch.softmax(logits, -1).reshape(-1, classes)
        drawn = torch.multinomial(flat, k, replacement=True, generator=generator)
        return F.one_hot(drawn.T, classes).bool().reshape(k, *logits.shape)

    def random(self, like: Tensor, k: int, generator: torch.Generator | None = None) -> Tensor:
        # Normalised exponentials are uniform.
        draws = like.new_empty((k, *like.shape)).exponential_(generator=generator)
        return draws / draws.sum(-1, keepdim=True)

    def log_prob(self, logits: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        log_p = torch.log_softmax(logits, -1)
        if mask is not None:
            log_p = log_p * mask.unsqueeze(-1)
        return sparse.dot(y, log_p)

    def cross_entropy(self, logits: Tensor, target: Tensor, mask: Tensor | None = None) -> Tensor:
        return sum_positions(-(target * torch.log_softmax(logits, -1)).sum(-1), mask, lead=1)

    def entropy(self, logits: Tensor, mask: Tensor | None = None) -> Tensor:
        log_p = torch.log_softmax(logits, -1)
        return sum_positions(-(log_p.exp() * log_p).sum(-1), mask, lead=1)

    def errors(self, y: Tensor, target: Tensor) -> Tensor:
        return 1.0 - (sparse.dense(y, target.dtype) * target).sum(-1)

    def decode(self, y: Tensor, threshold: float = 0.5) -> Tensor:
        return F.one_hot(y.argmax(-1), y.shape[-1]).bool()

    def enumerate(self, shape: tuple[int, ...]) -> Tensor:
        *positions, classes = shape
        count = int(torch.Size(positions).numel())
        picks = torch.tensor(list(itertools.product(range(classes), repeat=count)), device="cpu")
        return F.one_hot(picks, classes).bool().reshape(-1, *shape)
