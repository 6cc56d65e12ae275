"""Sums of energies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from torch import Tensor, nn

from lossnet.energies.energy import Energy, reads_of
from lossnet.errors import SettingError
from lossnet.nets.base import WithFeatures


class TotalEnergy(Energy):
    """E(x, y) = Σ_i w_i E_i(x, y), such as a chain and tag language models (paper 003, Eq. 9).

    Args:
        parts: the energies.
        weights: one per energy; None weighs them alike.
        features: a feature network that runs once for all parts, which read it by
            :class:`~lossnet.nets.SharedFeatures`; None where each has its own, or reads the
            features of another net.
    """

    def __init__(
        self,
        parts: Sequence[Energy],
        weights: Sequence[float] | None = None,
        *,
        features: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if not parts:
            raise SettingError("parts must have at least one energy, got none")
        if weights is not None and len(weights) != len(parts):
            raise SettingError(
                f"weights must have one value per energy, got {len(weights)} for {len(parts)}"
            )
        if len(read := {reads_of(part) for part in parts} - {None}) > 1:
            raise SettingError(
                f"parts must read the features of one net, got {sorted(map(str, read))}"
            )
        self.own, self.reads = features, None if features else next(iter(read), None)
        self.parts = nn.ModuleList(parts)
        self.weights = [1.0] * len(parts) if weights is None else [float(w) for w in weights]

    def encode(self, x: Any, mask: Tensor | None = None) -> tuple[Any, ...]:
        """What each part encodes."""
        x = x if self.own is None else WithFeatures(x, self.own(x))
        plain = x.x if isinstance(x, WithFeatures) else x
        return tuple(part.encode(x if reads_of(part) else plain, mask) for part in self._energies)

    def forward(self, h: Any, y: Tensor, mask: Tensor | None = None) -> Tensor:
        total: Any = 0.0
        for weight, part, own in zip(self.weights, self._energies, h, strict=True):
            e = part(own, y, mask)
            total = total + (e if weight == 1 else weight * e)
        return total

    def train(self, mode: bool = True) -> Self:
        """As for every module, but frozen parts stay in eval mode."""
        super().train(mode)
        for part in self.parts:
            if not any(parameter.requires_grad for parameter in part.parameters()):
                part.eval()
        return self

    def output_like(self, h: Any) -> Tensor:
        return self._energies[0].output_like(h[0])

    @property
    def features(self) -> nn.Module | None:
        """Its own feature network, or that of the first part that has one."""
        return self.own or next(
            (f for p in self.parts if (f := getattr(p, "features", None))), None
        )

    @property
    def _energies(self) -> list[Energy]:
        return list(self.parts)  # type: ignore[arg-type]
