"""A conditional random field: the exact likelihood of a chain energy."""

from __future__ import annotations

from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Likelihood
from lossnet.proposals import Minimiser


def crf(*, energy_lr: float = 2e-3, weight_decay: float = 1e-5) -> Method:
    """Linear-chain CRF: the exact likelihood of a chain energy, decoded by Viterbi's algorithm.

    L_E = E(x, y*) + log Σ_y exp(-E(x, y)) with the chain energy of paper 003, Eq. 7.
    """
    update = Update(
        "energy",
        Likelihood(),
        optimiser=Optimiser(lr=energy_lr, weight_decay=weight_decay, plateau=5),
    )
    return Method("crf", (Phase((update,), predict=Minimiser(), name="crf"),), predict=Minimiser())
