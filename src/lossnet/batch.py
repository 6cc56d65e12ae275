"""What the nets are given at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Inputs, and where there are any, targets ``(B, *S)`` and a mask ``(B, *P)``.

    ``reward`` judges outputs ``(K, B, *S)`` of these inputs without their truth, ``(K, B)`` in
    [0, 1], higher is better.

    ``known`` ``(B, *P)`` is true where the truth is known; None: everywhere. Elsewhere the target
    holds any finite number, which :attr:`Context.target` replaces. ``row_weight`` ``(B,)`` says how
    much a row counts, ``entry_weight`` ``(B, *P)`` how much an entry of it in the cross-entropy;
    None: all alike. ``fold`` ``(B,)`` is the number of the one of several nets that leaves the row
    out; None: all learn from it. ``row_seed`` ``(B,)`` are integers that candidates are drawn from,
    row by row; None: they are drawn for the batch.
    """

    x: Any
    target: Tensor | None = None
    mask: Tensor | None = None
    reward: Callable[[Tensor], Tensor] | None = None
    known: Tensor | None = None
    row_weight: Tensor | None = None
    entry_weight: Tensor | None = None
    fold: Tensor | None = None
    row_seed: Tensor | None = None

    @property
    def counted(self) -> Tensor | None:
        """Where losses and costs count, ``(B, *P)``: in the mask, and the truth is known."""
        if self.known is None or self.mask is None:
            return self.mask if self.known is None else self.known
        return self.mask & self.known
