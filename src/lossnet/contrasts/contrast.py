"""What a contrast is given, and its interface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from torch import Tensor

from lossnet.contrasts.meaning import ORDER, Meaning
from lossnet.parameters import Checked


@dataclass(frozen=True)
class Compared:
    """The numbers a contrast compares; it never sees a network.

    Attributes:
        e: energies of the candidates, ``(K, B)``.
        e_target: energy of the truth, ``(B,)``; None where the contrast does not need it.
        cost: cost of each candidate, ``(K, B)``, or None.
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
    contrast's energy minimises: by default the energy itself. ``meaning`` is what the energy says
    of outputs once trained: by default an order.
    """

    @property
    def meaning(self) -> Meaning:
        return ORDER

    @property
    def requires(self) -> frozenset[str]: ...

    def __call__(self, compared: Compared) -> Tensor:
        """The loss of each example, ``(B,)``."""

    def link(self, e: Tensor) -> Tensor:
        """What the task-net minimises for an energy ``e``, same shape."""
        return e


class CostScaled(Checked, Contrast):
    """A contrast with the truth in which ``scale`` weighs the candidates' cost; 0 leaves it out."""

    scale: float
    #: The fields that it reads whatever the scale.
    reads: ClassVar[frozenset[str]] = frozenset({"target"})

    @property
    def requires(self) -> frozenset[str]:
        return self.reads | {"cost"} if self.scale else self.reads

    def add_cost(self, values: Tensor, compared: Compared) -> Tensor:
        """``values`` of the candidates, ``(K, B)``, plus their scaled cost."""
        if not self.scale:
            return values
        return values + self.scale * need(compared.cost, "costs", self)


def need(value: Tensor | None, name: str, contrast: object) -> Tensor:
    """``value``, or an error that names what the contrast lacks."""
    if value is None:
        raise TypeError(f"{type(contrast).__name__} needs {name}, which it was not given")
    return value
