"""What the energies of a trained loss-net say of outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

#: What a descent follows: the energy, the value sigmoid(-E), or the joint, E - log q.
Descent = Literal["energy", "value", "joint"]


@dataclass(frozen=True)
class Meaning:
    """What an energy means, as the contrast that trained it says; ask it before using energies.

    Attributes:
        words: what it is, in words.
        joint: how it gives probabilities of complete outputs, up to a constant: ``"energy"``,
            p(y|x) ∝ exp(-E), or ``"ratio"``, p(y|x) ∝ q(y|x) exp(-E) with q the task-net; None
            where it gives none.
        descent: what outputs should descend on: see :class:`~lossnet.proposals.GBI`.
    """

    words: str
    joint: Literal["energy", "ratio"] | None = None
    descent: Descent = "energy"

    def log_joint(self, e: Tensor, log_q: Tensor) -> Tensor:
        """log p(y|x) of candidates up to a constant, ``(K, B)``."""
        if self.joint is None:
            raise TypeError(f"an energy that is {self.words} gives no probabilities")
        return -e if self.joint == "energy" else log_q - e


DENSITY = Meaning("-log p(y|x) up to a constant", "energy")
RATIO = Meaning("-log of p(y|x) over the task-net's q(y|x), up to a constant", "ratio", "joint")
VALUE = Meaning("-logit of the output's estimated quality", None, "value")
SCORE = Meaning("minus the output's estimated quality")
ORDER = Meaning("lower for better outputs, without a scale")
