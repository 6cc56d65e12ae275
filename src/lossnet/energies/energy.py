"""The interface of an energy network."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn


class Energy(nn.Module):
    """An energy E(x, y): lower is better.

    ``encode(x)`` runs once per batch; ``forward(h, y)`` then judges K candidates cheaply.
    ``output_like(h)`` gives the shape of an output, where inference starts without one. Subclasses
    implement all three.

    Attributes:
        reads: name of the net whose features it reads, a :class:`~lossnet.nets.Headed` one; then
            ``encode`` is given a :class:`~lossnet.nets.WithFeatures`. None reads x alone.
    """

    reads: str | None = None

    def encode(self, x: Any, mask: Tensor | None = None) -> Any:
        """What the energy needs of the input, computed once for all candidates."""
        raise NotImplementedError

    def forward(self, h: Any, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """Energies ``(K, B)`` of candidates ``(K, B, *S)``: float, bool or sparse."""
        raise NotImplementedError

    def output_like(self, h: Any) -> Tensor:
        """A tensor of one output's shape and type for each example, ``(B, *S)``."""
        raise NotImplementedError


def reads_of(part: nn.Module) -> str | None:
    """The net whose features a part of an energy reads, None where it reads x alone."""
    return getattr(part, "reads", None)
