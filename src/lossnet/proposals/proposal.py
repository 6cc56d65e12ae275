"""What a proposal gives, and its interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from lossnet.context import Context
from lossnet.needs import NOTHING, Declares, RunsEnergy
from lossnet.parameters import Checked

LOG_Q = frozenset({"log_q"})
PATH = frozenset({"path"})


@dataclass(frozen=True)
class Candidates:
    """Candidate outputs ``y`` ``(K, B, *S)`` and what their proposal knows about them.

    Attributes:
        y: the candidates: relaxed (float), discrete (bool) or discrete and sparse.
        log_q: log-probability of each candidate, ``(K, B)``, where tractable.
        log_q_target: log-probability of the truth under the same proposal, ``(B,)``.
        logits: unbounded form of ``y``, ``(K, B, *S)``, where there is one.
        nll: -log-likelihood ``(B,)`` of a target and which of it is known, where the net that they
            are the output of has one of its own; None: positions are independent.
        truth: the truth to compare them with, ``(B, *S)``, where the proposal draws the entries
            of it that are not known, as it draws the candidates; None: the context's target.
    """

    y: Tensor
    log_q: Tensor | None = None
    log_q_target: Tensor | None = None
    logits: Tensor | None = None
    truth: Tensor | None = None
    nll: Callable[[Tensor, Tensor | None], Tensor] | None = None


class Proposal(Declares, Protocol):
    """Where candidates come from, in training and in prediction alike.

    ``provides`` holds ``"log_q"`` where log-probabilities come with the candidates, and
    ``"path"`` where gradients flow from them to the net they come from. ``nets`` are the nets
    it runs, ``needs`` what it needs of the task (see :mod:`lossnet.needs`): ``"target"`` where it
    works only where the truth is known. All three are empty by default.
    """

    @property
    def provides(self) -> frozenset[str]:
        return NOTHING

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        """Candidates for the context's batch; detached from the nets unless ``keep_graph``."""


class FromNet(Checked, Proposal):
    """A proposal whose candidates come from the output of one net."""

    net: str

    @property
    def nets(self) -> frozenset[str]:
        return frozenset({self.net})

    def logits(self, context: Context, keep_graph: bool) -> Tensor:
        """The net's logits ``(B, *S)``."""
        logits = context.logits(self.net)
        return logits if keep_graph else logits.detach()


class FromEnergy(Checked, RunsEnergy, Proposal):
    """A proposal that runs one energy."""
