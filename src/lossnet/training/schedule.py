"""Learning rates: groups of parameters with rates of their own, warm-up and decay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn

from lossnet.method import Decay, Optimiser, Update

if TYPE_CHECKING:
    from lossnet.training.adamw import AdamW

#: Learning rate of a pretrained module that suggests none.
_SUGGESTED_LR = 5e-5
#: Share of the steps over which the rates of an update that trains a pretrained module rise.
_WARMUP = 0.1


#: What is left of a learning rate at a point after warm-up, from 0 to 1.
_FALLS: dict[Decay, Callable[[float], float]] = {
    False: lambda t: 1.0,
    "linear": lambda t: 1.0 - t,
    "cosine": lambda t: (1.0 + math.cos(math.pi * t)) / 2,
}


@dataclass(frozen=True)
class Group:
    """Parameters that share a learning rate, and whether they are of ``pretrained`` modules."""

    parameters: Sequence[Tensor]
    lr: float
    pretrained: bool = False


@dataclass(frozen=True)
class Schedule:
    """The share of its learning rate that a step takes.

    It rises linearly from 0 to 1 during warm-up, then stays, or falls to 0 at the end.

    Args:
        warmup: share of the phase's steps that are warm-up.
        decay: how it falls after that: in a line, or as (1 + cos πt) / 2 for t from 0 to 1.

    >>> [Schedule(0.2, "linear")(progress) for progress in (0.0, 0.1, 0.2, 0.6, 1.0)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    >>> [round(Schedule(decay="cosine")(progress), 3) for progress in (0.0, 0.25, 0.5, 1.0)]
    [1.0, 0.854, 0.5, 0.0]
    """

    warmup: float = 0.0
    decay: Decay = False

    def __call__(self, progress: float) -> float:
        """The share at a point of the phase, from 0, its start, to 1, the end of all its epochs."""
        if progress < self.warmup:
            return progress / self.warmup
        return _FALLS[self.decay]((progress - self.warmup) / (1.0 - self.warmup))

    @property
    def falls(self) -> bool:
        """Whether it ends at 0."""
        return self.decay is not False


def schedule_of(settings: Optimiser, *, pretrained: bool) -> Schedule:
    """The schedule of an update, which may train a ``pretrained`` module."""
    usual = Schedule(_WARMUP, "linear") if pretrained else Schedule()
    return Schedule(
        usual.warmup if settings.warmup is None else settings.warmup,
        usual.decay if settings.decay is None else settings.decay,
    )


def scheduled_rates(updates: Iterable[Update], optimisers: Iterable[AdamW]) -> dict[str, float]:
    """The learning rates of updates that have a schedule, as the history calls them."""
    pairs = zip(updates, optimisers, strict=True)
    return {f"learning rate/{u.name}": own.lr for u, own in pairs if own.schedule != Schedule()}


def groups_of(
    parameters: Sequence[Tensor], nets: Iterable[nn.Module], settings: Optimiser
) -> list[Group]:
    """The parameters in groups, those that are not pretrained first."""
    rates: dict[Tensor, float] = {}
    for module in (module for net in nets for module in net.modules()):
        if getattr(module, "pretrained", False) is True:
            suggested = float(getattr(module, "suggested_lr", _SUGGESTED_LR))
            lr = suggested if settings.encoder_lr is None else settings.encoder_lr
            rates.update((parameter, lr) for parameter in module.parameters())
    groups: dict[tuple[bool, float], list[Tensor]] = {}
    for parameter in parameters:
        key = (parameter in rates, rates.get(parameter, settings.lr))
        groups.setdefault(key, []).append(parameter)
    found = sorted(groups.items(), key=lambda item: item[0])
    return [Group(own, lr, pretrained) for (pretrained, lr), own in found]
