"""Exact training of a chain energy: by its likelihood, and by the largest violation of a margin."""

from __future__ import annotations

from lossnet.contrasts import Margin
from lossnet.costs import l1
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Compare, Likelihood, Objective
from lossnet.proposals import Minimiser


def crf(*, energy_lr: float = 2e-3, weight_decay: float = 1e-5) -> Method:
    """Linear-chain CRF: the exact likelihood of a chain energy, decoded by Viterbi's algorithm.

    L_E = E(x, y*) + log Σ_y exp(-E(x, y)) with the chain energy of paper 003, Eq. 7.
    """
    return _exact("crf", Likelihood(), energy_lr, weight_decay)


def ssvm(*, margin: float = 0.5, energy_lr: float = 2e-3, weight_decay: float = 1e-5) -> Method:
    """Structural SVM: a chain energy's margin with exact cost-augmented inference, by Viterbi.

    L_E = max_y [margin Δ(y, y*) - E(x, y) + E(x, y*)]_+ with Δ the L1 distance, twice the number
    of wrong tokens: what ``infnet`` and ``infnet-plus`` approximate with a net (paper 003, Eq. 4).
    """
    worst = Compare(Margin(margin), Minimiser(margin=margin), l1)
    return _exact("ssvm", worst, energy_lr, weight_decay)


def _exact(name: str, objective: Objective, energy_lr: float, weight_decay: float) -> Method:
    update = Update(
        "energy",
        objective,
        optimiser=Optimiser(lr=energy_lr, weight_decay=weight_decay, plateau=5),
    )
    return Method(name, (Phase((update,), predict=Minimiser(), name=name),), predict=Minimiser())
