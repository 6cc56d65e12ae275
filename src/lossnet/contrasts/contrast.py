"""What a contrast is given, and its interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor


@dataclass(frozen=True)
class Compared:
    """The numbers a contrast compares; it never sees a network.

    Attributes:
        e: energies of the candidates, ``(K, B)``.
        e_target: energy of the truth, ``(B,)``; None where the contrast does not ask for it.
        cost: cost of each candidate beside the truth, ``(K, B)``, or None.
        log_q: log-probability of each candidate under its proposal, ``(K, B)``, or None.
        log_q_target: log-probability of the truth under the proposal, ``(B,)``, or None.
    """

    e: Tensor
    e_target: Tensor | None = None
    cost: Tensor | None = None
    log_q: Tensor | None = None
    log_q_target: Tensor | None = None


class Contrast(Protocol):
    """A pure function of the candidates' energies, ``Compared -> (B,)``.

    ``requires`` names the optional fields of :class:`Compared` it reads: ``"target"``,
    ``"cost"``, ``"log_q"``. ``link`` maps an energy to what a task-net trained against this
    contrast's energy minimises.
    """

    @property
    def requires(self) -> frozenset[str]: ...

    def __call__(self, compared: Compared) -> Tensor:
        """The loss of each example, ``(B,)``."""
        ...

    def link(self, e: Tensor) -> Tensor:
        """What the task-net minimises for an energy ``e``, same shape."""
        ...


def need(value: Tensor | None, name: str, contrast: object) -> Tensor:
    """``value``, or an error naming what the contrast was not given."""
    if value is None:
        raise TypeError(f"{type(contrast).__name__} needs {name}, which it was not given")
    return value
