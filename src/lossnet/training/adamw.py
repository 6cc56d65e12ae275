"""AdamW by torch's fused kernel, with groups of parameters and a schedule."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import torch
from torch import Tensor

from lossnet.training.row_steps import RowSteps
from lossnet.training.schedule import Group, Schedule

_EPS = 1e-8


@dataclass(eq=False, repr=False)
class AdamW:
    """``torch.optim.AdamW(fused=True)``, bit for bit, one fused call per group of parameters.

    torch's own class imports ``torch._dynamo`` when it is built, which takes longer than a short
    fit, and checks for compilers and hooks at every step.

    Where a gradient is a sparse tensor, only its rows are changed; the others wait until they are
    read, and then catch up on the steps they have missed, see
    :class:`~lossnet.training.row_steps.RowSteps`. So the result is that of ordinary gradients.
    :meth:`settle` brings all rows up to date, before weights or slots are read as a whole.

    Args:
        groups: what it changes, with learning rates; parameters without a ``grad`` are left alone.
        schedule: the share of the learning rates that a step takes.
        betas: decay of the two moments.
        weight_decay: decoupled weight decay.

    Attributes:
        scale: what plateaus have left of the learning rates.
        progress: where in its phase the next step is, for the schedule.
        parameters: those of all groups.
        slots: for each of them its ``step``, ``exp_avg`` and ``exp_avg_sq``; empty before its
            first step.
    """

    groups: Sequence[Group]
    _: KW_ONLY
    schedule: Schedule = field(default_factory=Schedule)
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        self.scale, self.progress = 1.0, 0.0
        self.parameters = [parameter for group in self.groups for parameter in group.parameters]
        self.slots: list[dict[str, Tensor]] = [{} for _ in self.parameters]
        self._row_steps: dict[Tensor, RowSteps] = {}

    @property
    def lr(self) -> float:
        """The learning rate of the first group at the next step."""
        return self.groups[0].lr * self._share

    @property
    def _share(self) -> float:
        return self.scale * self.schedule(self.progress)

    @torch.no_grad()
    def step(self) -> None:
        """Change the parameters by their ``grad``."""
        share, slots = self._share, iter(self.slots)
        for group in self.groups:
            self._move([(p, next(slots)) for p in group.parameters], group.lr * share)

    def _move(self, pairs: list[tuple[Tensor, dict[str, Tensor]]], lr: float) -> None:
        moved: list[tuple[Tensor, ...]] = []
        for parameter, slots in pairs:
            if (gradient := parameter.grad) is None:
                continue
            slots = slots or _start(parameter, slots)
            if gradient.is_sparse:
                moved.append(self._opened(parameter, gradient.coalesce(), slots))
                continue
            if parameter in self._row_steps:
                self._row_steps.pop(parameter).settle()
            own = slots["exp_avg"], slots["exp_avg_sq"], slots["step"]
            moved.append((parameter, gradient, *own))
        if not moved:
            return
        values, gradients, first, second, steps = map(list, zip(*moved, strict=True))
        torch._foreach_add_(steps, 1)
        torch._fused_adamw_(
            values,
            gradients,
            first,
            second,
            [],
            steps,
            lr=lr,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=self.weight_decay,
            eps=_EPS,
            amsgrad=False,
            maximize=False,
        )
        for parameter, _ in pairs:
            if parameter.grad is not None and parameter.grad.is_sparse:
                self._row_steps[parameter].stepped(lr)

    def _opened(
        self, parameter: Tensor, gradient: Tensor, slots: dict[str, Tensor]
    ) -> tuple[Tensor, ...]:
        """The rows that a sparse gradient changes, their gradient and slots."""
        rows, *others = gradient.indices()
        for index, size in zip(others, parameter.shape[1:], strict=False):
            rows = rows * size + index
        if parameter not in self._row_steps:
            how: dict[str, Any] = {"betas": self.betas, "weight_decay": self.weight_decay}
            own = self._row_steps[parameter] = RowSteps(parameter, slots, eps=_EPS, **how)
            parameter.waiting = weakref.ref(own)  # type: ignore[attr-defined]  # see RowParameter
        value, first, second = self._row_steps[parameter].hold(rows)
        return value, gradient.values(), first, second, slots["step"]

    def settle(self) -> None:
        """Bring all rows up to date that sparse gradients have left waiting."""
        for own in self._row_steps.values():
            own.settle()

    def state_dict(self) -> dict[str, Any]:
        """What plateaus left of the learning rates, and the slots by the parameter's number."""
        self.settle()
        slots = {number: dict(own) for number, own in enumerate(self.slots) if own}
        return {"scale": self.scale, "slots": slots}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`, with slots in the memory layout of the parameters."""
        self.scale = state["scale"]
        self._row_steps.clear()
        for number, (parameter, own) in enumerate(zip(self.parameters, self.slots, strict=True)):
            own.clear()
            for key, value in state["slots"].get(number, {}).items():
                value = value.detach().to(parameter.device, copy=True)
                own[key] = value if key == "step" else match_layout(value, parameter)


def _start(parameter: Tensor, slots: dict[str, Tensor]) -> dict[str, Tensor]:
    slots["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
    for name in ("exp_avg", "exp_avg_sq"):
        slots[name] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
    return slots


def match_layout(values: Tensor, like: Tensor) -> Tensor:
    """A weight's gradient, or a slot of its optimiser, in the weight's memory layout.

    Fused AdamW reads all of them in memory order: with a channels-last weight and a gradient in
    another layout, it would pair the wrong entries.
    """
    if values.stride() == like.stride():
        return values
    return torch.empty_like(like, requires_grad=False).copy_(values)
