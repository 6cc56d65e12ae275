"""The structured hinge, and its version without a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from lossnet.contrasts.contrast import Compared, need
from lossnet.errors import SettingError


@dataclass(frozen=True)
class Margin:
    """max_k [ scale Δ(y_k, y) - E(x, y_k) + E(x, y) ]_+   (SSVM; paper 000, Eq. 6).

    Args:
        scale: weight of the cost Δ; raise it for a margin that grows with the output.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        if not self.scale >= 0:
            raise SettingError(f"scale must be at least 0, got {self.scale}")

    @property
    def requires(self) -> frozenset[str]:
        return frozenset({"target", "cost"}) if self.scale else frozenset({"target"})

    def __call__(self, compared: Compared) -> Tensor:
        violation = need(compared.e_target, "the truth's energy", self) - compared.e
        if self.scale:
            violation = violation + self.scale * need(compared.cost, "costs", self)
        return violation.amax(0).clamp_min(0.0)

    def link(self, e: Tensor) -> Tensor:
        return e


@dataclass(frozen=True)
class Perceptron:
    """max_k [ E(x, y) - E(x, y_k) ]_+   (paper 003, the second part of Eq. 6)."""

    requires: ClassVar[frozenset[str]] = frozenset({"target"})

    def __call__(self, compared: Compared) -> Tensor:
        e_target = need(compared.e_target, "the truth's energy", self)
        return (e_target - compared.e).amax(0).clamp_min(0.0)

    def link(self, e: Tensor) -> Tensor:
        return e
