"""Least-squares regression of the energy on the quality of the output (ALEN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lossnet.contrasts.contrast import Compared, need
from lossnet.contrasts.meaning import SCORE, Meaning
from lossnet.errors import SettingError


@dataclass(frozen=True)
class LeastSquares:
    """Σ_k w_k/2 (v_k - (1 - Δ_k))² with the value v = -E   (paper 004, Eq. 6).

    The quality 1 - Δ is the paper's oracle value h, 1 at the truth. A task-net minimises
    ½ (v - 1)² (Eq. 7).

    Args:
        weights: one per candidate, so that their order matters; None weighs them alike.
    """

    weights: tuple[float, ...] | None = None
    requires: ClassVar[frozenset[str]] = frozenset({"cost"})
    meaning: ClassVar[Meaning] = SCORE

    def __post_init__(self) -> None:
        if self.weights is not None and not all(weight >= 0 for weight in self.weights):
            raise SettingError(f"weights must be at least 0, got {self.weights}")

    def __call__(self, compared: Compared) -> Tensor:
        error = 1.0 - need(compared.cost, "costs", self) + compared.e
        squares = 0.5 * error.square()
        if self.weights is None:
            return squares.sum(0)
        if len(self.weights) != len(squares):
            raise SettingError(
                f"weights must be one per candidate, got {len(self.weights)} for {len(squares)}"
            )
        return torch.tensor(self.weights, dtype=squares.dtype, device=squares.device) @ squares

    def link(self, e: Tensor) -> Tensor:
        return 0.5 * (e + 1.0).square()
