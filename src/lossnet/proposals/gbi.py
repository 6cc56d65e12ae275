"""Gradient-based inference: descend on the energy with respect to the output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import torch
from torch import Tensor

from lossnet import sparse
from lossnet.context import Context
from lossnet.contrasts.base import Compared, Contrast
from lossnet.costs import Cost
from lossnet.errors import SettingError, unknown
from lossnet.proposals.base import Candidates, Proposal
from lossnet.proposals.plain import Zeros

StepKind = Literal["projected", "entropic", "normalised"]


@dataclass(frozen=True)
class GBI:
    """Gradient descent on J(y) over relaxed outputs, weights frozen, x encoded once.

    J is the energy E(x, y); with a ``cost``, the cost-augmented E(x, y) - cost(y, target), whose
    minimum violates a margin most; with a ``contrast`` too, minus that contrast's loss, whose
    minimum is the adversarial output of DVN.

    Steps, with g the gradient of J or Adam's direction:

    - ``projected``: y <- project(y - lr g)
    - ``entropic``: u <- u - lr g, y = relax(u): mirror descent, never leaves the inside
    - ``normalised``: y <- project(y - lr g / |g|), |g| over one example's output (ALEN)

    Args:
        steps: number of steps, 0 or more.
        lr: step size.
        step: kind of step.
        adam: take Adam's direction in place of the gradient.
        start: where the first iterate comes from; K starts give K results.
        cost: cost for the cost-augmented or adversarial objective.
        contrast: contrast whose loss the adversarial objective maximises.
        keep: ``"best"`` iterate by J, or the ``"last"``.
        energy: name of the energy net.
    """

    steps: int = 20
    lr: float = 0.1
    step: StepKind = "projected"
    adam: bool = True
    start: Proposal = field(default_factory=Zeros)
    cost: Cost | None = None
    contrast: Contrast | None = None
    keep: Literal["best", "last"] = "best"
    energy: str = "energy"

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise SettingError(f"steps is {self.steps}; give 0 or more")
        if not self.lr > 0:
            raise SettingError(f"lr is {self.lr}; give a step size above 0")
        if self.step not in get_args(StepKind):
            raise unknown("kind of step", self.step, get_args(StepKind))
        if self.keep not in ("best", "last"):
            raise unknown("choice of iterate", self.keep, ["best", "last"])
        if self.contrast is not None and self.cost is None:
            raise SettingError("an adversarial GBI needs a cost; give cost= beside contrast=")

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"path"})

    @property
    def nets(self) -> frozenset[str]:
        return self.start.nets | {self.energy}

    @property
    def needs_target(self) -> bool:
        return self.start.needs_target or self.cost is not None

    def __call__(self, context: Context, *, keep_path: bool = False) -> Candidates:
        start = self.start(context, keep_path=keep_path)
        h = context.encoded(self.energy)
        if not keep_path:
            h = _detached(h)
        with torch.enable_grad():
            return self._descend(context, start, h, keep_path)

    def _descend(
        self, context: Context, start: Candidates, h: object, keep_path: bool
    ) -> Candidates:
        space = context.space
        y = sparse.dense(start.y, _dtype(context, start.y))
        entropic = self.step == "entropic"
        u = start.logits if start.logits is not None else None
        if entropic and u is None:
            u = space.unrelax(y)
        point = u if entropic and u is not None else y
        moments = _Adam() if self.adam else None
        best_y, best_point, best_j = y, point, None
        for index in range(self.steps + 1):
            if keep_path:
                variable = point if point.requires_grad else point.requires_grad_()
            else:
                variable = point.detach().requires_grad_()
            y = space.relax(variable) if entropic else variable
            at = y if keep_path else y.detach().requires_grad_()
            j = self._objective(context, h, at)
            if self.keep == "best" and not keep_path:
                best_y, best_point, best_j = _better(at, variable, j, best_y, best_point, best_j)
            if index == self.steps:
                break
            (g,) = torch.autograd.grad(j.sum(), at, create_graph=keep_path)
            with torch.set_grad_enabled(keep_path):
                point = self._move(context, variable, g, moments)
        if self.keep == "best" and not keep_path:
            y, point = best_y, best_point
        logits = point if entropic else None
        if keep_path:
            return Candidates(y, logits=logits)
        return Candidates(y.detach(), logits=None if logits is None else logits.detach())

    def _objective(self, context: Context, h: object, y: Tensor) -> Tensor:
        """J(y), ``(K, B)``."""
        mask = context.batch.mask
        e: Tensor = context.nets[self.energy](h, y, mask)
        if self.cost is None:
            return e
        cost = self.cost(y, context.target, mask)
        if self.contrast is None:
            return e - cost
        # A contrast sums over its candidates; here every candidate is judged by itself.
        flat = Compared(e=e.reshape(1, -1), cost=cost.reshape(1, -1))
        return -self.contrast(flat).view_as(e)

    def _move(self, context: Context, point: Tensor, g: Tensor, moments: _Adam | None) -> Tensor:
        direction = g if moments is None else moments.direction(g)
        if self.step == "normalised":
            norm = direction.flatten(2).norm(dim=-1).clamp_min(1e-12)
            direction = direction / norm.view(*norm.shape, *[1] * (direction.dim() - 2))
        moved = point - self.lr * direction
        return moved if self.step == "entropic" else context.space.project(moved)


class _Adam:
    """Adam's direction for one descent."""

    def __init__(self, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8) -> None:
        self.beta1, self.beta2, self.eps = beta1, beta2, eps
        self.m: Tensor | float = 0.0
        self.v: Tensor | float = 0.0
        self.t = 0

    def direction(self, g: Tensor) -> Tensor:
        self.t += 1
        self.m = self.beta1 * self.m + (1 - self.beta1) * g
        self.v = self.beta2 * self.v + (1 - self.beta2) * g * g
        m = self.m / (1 - self.beta1**self.t)
        v = self.v / (1 - self.beta2**self.t)
        return m / (v.sqrt() + self.eps)


def _better(
    y: Tensor, point: Tensor, j: Tensor, best_y: Tensor, best_point: Tensor, best_j: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The better of two iterates, example by example."""
    y, point, j = y.detach(), point.detach(), j.detach()
    if best_j is None:
        return y, point, j
    lower = j < best_j
    wide = lower.view(*lower.shape, *[1] * (y.dim() - 2))
    return (
        torch.where(wide, y, best_y),
        torch.where(wide, point, best_point),
        torch.where(lower, j, best_j),
    )


def _detached(h: object) -> object:
    """``h`` without its graph, whatever it is made of."""
    return torch.utils._pytree.tree_map(
        lambda leaf: leaf.detach() if isinstance(leaf, Tensor) else leaf, h
    )


def _dtype(context: Context, y: Tensor) -> torch.dtype:
    if y.is_floating_point():
        return y.dtype
    return next(context.nets["energy"].parameters()).dtype
