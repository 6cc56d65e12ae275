"""Learning rates: groups of parameters with rates of their own, warm-up and decay."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from lossnet.method import Optimiser

#: Learning rate of a pretrained module that suggests none.
_SUGGESTED_LR = 5e-5
#: Share of the steps over which the rates of an update that trains a pretrained module rise.
_WARMUP = 0.1


@dataclass(frozen=True)
class Group:
    """Parameters that share a learning rate, and whether they are of ``pretrained`` modules."""

    parameters: Sequence[Tensor]
    lr: float
    pretrained: bool = False


@dataclass(frozen=True)
class Schedule:
    """The share of its learning rate that a step takes.

    It rises linearly from 0 to 1 during warm-up, and with ``decay`` then falls linearly to 0.

    Args:
        warmup: share of the phase's steps that are warm-up.
        decay: whether it falls after that.

    >>> [Schedule(0.2, True)(progress) for progress in (0.0, 0.1, 0.2, 0.6, 1.0)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    warmup: float = 0.0
    decay: bool = False

    def __call__(self, progress: float) -> float:
        """The share at a point of the phase, from 0, its start, to 1, the end of all its epochs."""
        rising = progress / self.warmup if self.warmup else 1.0
        falling = (1.0 - progress) / (1.0 - self.warmup) if self.decay else 1.0
        return min(rising, falling, 1.0)


def schedule_of(settings: Optimiser, *, pretrained: bool) -> Schedule:
    """The schedule of an update, which may train a ``pretrained`` module."""
    warmup = _WARMUP if pretrained else 0.0
    return Schedule(
        warmup if settings.warmup is None else settings.warmup,
        pretrained if settings.decay is None else settings.decay,
    )


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
