"""Gradient-based inference: descend on the energy with respect to the output."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.contrast import Compared, Contrast
from lossnet.contrasts.meaning import Descent
from lossnet.costs import Cost
from lossnet.errors import SettingError
from lossnet.needs import NOTHING, needs_of
from lossnet.nets.base import without_graph
from lossnet.parameters import AtLeast, Checked, Positive
from lossnet.proposals.plain import Zeros
from lossnet.proposals.proposal import PATH, Candidates, Proposal
from lossnet.spaces import sparse

StepKind = Literal["projected", "entropic", "normalised"]


@dataclass(frozen=True)
class GBI(Checked, Proposal):
    """Gradient descent on J(y) over relaxed outputs, weights frozen, x encoded once.

    J is the energy E(x, y), or what it means (``on``); with a ``cost``, J - cost(y, target), whose
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
        keep: ``"best"`` iterate by J, or the ``"last"``; unrolled, it is always the last.
        energy: name of the energy net.
        on: J is the ``"energy"`` E; minus the ``"value"``, -sigmoid(-E), of an energy trained by
            regression; or the ``"joint"``, E - log q(y|x), of one trained by ranking against
            samples of ``net``. See :class:`~lossnet.contrasts.Meaning`.
        net: the net whose log q the joint takes.
    """

    steps: Annotated[int, AtLeast(0)] = 20
    lr: Positive = 0.1
    step: StepKind = "projected"
    adam: bool = True
    start: Proposal = field(default_factory=Zeros)
    cost: Cost | None = None
    contrast: Contrast | None = None
    keep: Literal["best", "last"] = "best"
    energy: str = "energy"
    on: Descent = "energy"
    net: str = "task"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.contrast is not None and self.cost is None:
            raise SettingError("GBI with a contrast needs a cost, got cost=None")
        if self.contrast is not None and self.contrast.requires - {"cost"}:
            raise SettingError(
                f"contrast must judge every output by itself, got {type(self.contrast).__name__}; "
                "take Regression(), or leave contrast= out for the worst violation of a margin"
            )

    @property
    def provides(self) -> frozenset[str]:
        # Adam divides by a square root that starts at zero: its unrolled gradient is not finite.
        return NOTHING if self.adam else PATH

    @property
    def nets(self) -> frozenset[str]:
        own = {self.energy, self.net} if self.on == "joint" else {self.energy}
        return self.start.nets | own

    @property
    def needs(self) -> frozenset[str]:
        return self.start.needs | (NOTHING if self.cost is None else needs_of(self.cost))

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        if keep_graph and self.adam:
            raise SettingError("GBI can be unrolled only with adam=False, got adam=True")
        start = self.start(context, keep_graph=keep_graph)
        h = context.encoded(self.energy)
        with torch.enable_grad():
            if keep_graph:
                return self._unroll(context, start, h)
            *_, point = self._descend(context, start, without_graph(h))
            return self._result(context, point.detach())

    def path(self, context: Context) -> Tensor:
        """What descents of 0, 1, ... ``steps`` steps give, ``(steps + 1, K, B, *S)``."""
        start = self.start(context)
        h = without_graph(context.encoded(self.energy))
        with torch.enable_grad():
            points = [point.detach() for point in self._descend(context, start, h)]
        return torch.stack([self._output(context, point) for point in points])

    def judge(self, context: Context, y: Tensor) -> Tensor:
        """J of outputs ``(K, B, *S)``, ``(K, B)``: what the descent lowers."""
        return self._objective(context, context.encoded(self.energy), y)

    def _descend(self, context: Context, start: Candidates, h: Any) -> Iterator[Tensor]:
        """Follow the gradient and forget the way: the point kept after every step."""
        point = self._first(context, start)
        moments = _Adam(point, context.space.coupled) if self.adam else None
        best: tuple[Tensor, Tensor] | None = None
        for index in range(self.steps + 1):
            if index == self.steps and self.keep == "last":
                yield point  # its objective is of no use
                return
            y = self._output(context, point).detach().requires_grad_()
            j = self._objective(context, h, y)
            if self.keep == "best":
                best = _better(point, j.detach(), best)
            yield point if best is None else best[0]
            if index < self.steps:
                (g,) = torch.autograd.grad(j.sum(), y)
                with torch.no_grad():
                    direction = g if moments is None else moments.direction(g)
                    point = self._move(context, point, direction)

    def _unroll(self, context: Context, start: Candidates, h: Any) -> Candidates:
        """The same steps with their graph; the last iterate, which a gradient can follow."""
        point = self._first(context, start)
        for _ in range(self.steps):
            y = self._output(context, point)
            y = y if y.requires_grad else y.requires_grad_()
            j = self._objective(context, h, y)
            (g,) = torch.autograd.grad(j.sum(), y, create_graph=True)
            point = self._move(context, point, g)
        return self._result(context, point)

    def _first(self, context: Context, start: Candidates) -> Tensor:
        """The first iterate: logits for entropic steps, else the relaxed output."""
        y = sparse.dense(start.y, self._dtype(context, start.y))
        if self.step != "entropic":
            return y
        return context.space.unrelax(y) if start.logits is None else start.logits

    def _dtype(self, context: Context, y: Tensor) -> torch.dtype:
        if y.is_floating_point():
            return y.dtype
        return next(context.nets[self.energy].parameters()).dtype

    def _output(self, context: Context, point: Tensor) -> Tensor:
        return context.space.relax(point) if self.step == "entropic" else point

    def _result(self, context: Context, point: Tensor) -> Candidates:
        y = self._output(context, point)
        return Candidates(y, logits=point if self.step == "entropic" else None)

    def _objective(self, context: Context, h: Any, y: Tensor) -> Tensor:
        """J(y), ``(K, B)``."""
        e = context.energy(y, self.energy, h)
        if self.cost is None or self.contrast is None:
            e = self._descended(context, e, y)
        if self.cost is None:
            return e
        cost = context.cost(self.cost, y)
        if self.contrast is None:
            return e - cost
        # A contrast sums over its candidates; here every candidate is judged by itself.
        flat = Compared(e=e.reshape(1, -1), cost=cost.reshape(1, -1))
        return -self.contrast(flat).view_as(e)

    def _descended(self, context: Context, e: Tensor, y: Tensor) -> Tensor:
        """What the energies ``(K, B)`` of outputs mean, lower being better."""
        if self.on == "energy":
            return e
        if self.on == "value":
            return -torch.sigmoid(-e)
        logits = context.logits(self.net).detach()
        return e - context.space.log_prob(logits, y, context.batch.mask)

    def _move(self, context: Context, point: Tensor, direction: Tensor) -> Tensor:
        if self.step == "normalised":
            norm = direction.flatten(2).norm(dim=-1).clamp_min(1e-12)
            direction = direction / _widen(norm, direction)
        moved = torch.sub(point, direction, alpha=self.lr)
        return moved if self.step == "entropic" else context.space.project(moved)


class _Adam:
    """Adam's direction for one descent, its moments updated in place.

    On a simplex the classes of a position share one second moment, and only differences between
    their gradients count: scaled one by one, all classes of equal sign would move alike.
    """

    beta1, beta2, eps = 0.9, 0.999, 1e-8

    def __init__(self, like: Tensor, coupled: bool) -> None:
        self.coupled = coupled
        self.m = torch.zeros_like(like)
        self.v = torch.zeros_like(like)
        self.t = 0

    def direction(self, g: Tensor) -> Tensor:
        self.t += 1
        g = g - g.mean(-1, keepdim=True) if self.coupled else g
        self.m.lerp_(g, 1 - self.beta1)
        size = g.square().mean(-1, keepdim=True).sqrt().expand_as(g) if self.coupled else g
        self.v.mul_(self.beta2).addcmul_(size, size, value=1 - self.beta2)
        # m / (1 - b1^t) over sqrt(v / (1 - b2^t)) + eps, the corrections moved into one factor.
        root = math.sqrt(1 - self.beta2**self.t)
        direction = self.v.sqrt().add_(self.eps * root).reciprocal_().mul_(self.m)
        return direction.mul_(root / (1 - self.beta1**self.t))


def _better(point: Tensor, j: Tensor, best: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor]:
    """The better of two iterates and its objective, example by example."""
    if best is None:
        return point, j
    lower = j < best[1]
    return torch.where(_widen(lower, point), point, best[0]), torch.where(lower, j, best[1])


def _widen(values: Tensor, like: Tensor) -> Tensor:
    """``(K, B)`` values with as many trailing axes as ``like`` has."""
    return values.view(*values.shape, *[1] * (like.dim() - 2))
