"""Exact training of a chain energy: by its likelihood, and by the largest violation of a margin."""

from __future__ import annotations

from lossnet.contrasts import Margin
from lossnet.costs import l1
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Compare, Likelihood, Objective
from lossnet.parameters import Weight
from lossnet.proposals import Minimiser
from lossnet.ranges import Around, searched
from lossnet.recipes.parts import ENERGY_SPACE


@searched(ENERGY_SPACE)
def crf(*, energy_optimiser: Optimiser = Optimiser(2e-3, plateau=5)) -> Method:
    """Linear-chain CRF: the exact likelihood of a chain energy, decoded by Viterbi's algorithm.

    L_E = E(x, y*) + log Σ_y exp(-E(x, y)) with the chain energy of paper 003, Eq. 7.
    """
    return _exact("crf", Likelihood(), energy_optimiser)


@searched(ENERGY_SPACE | {"margin": Around(5)})
def ssvm(
    *, margin: Weight = 0.5, energy_optimiser: Optimiser = Optimiser(2e-3, plateau=5)
) -> Method:
    """Structural SVM: a chain energy's margin with exact cost-augmented inference, by Viterbi.

    L_E = max_y [margin Δ(y, y*) - E(x, y) + E(x, y*)]_+ with Δ the L1 distance, twice the number
    of wrong tokens: what ``infnet`` and ``infnet-plus`` approximate with a net (paper 003, Eq. 4).
    """
    worst = Compare(Margin(margin), Minimiser(margin=margin), l1)
    return _exact("ssvm", worst, energy_optimiser)


def _exact(name: str, objective: Objective, optimiser: Optimiser) -> Method:
    update = Update("energy", objective, optimiser=optimiser)
    return Method(name, (Phase((update,), predict=Minimiser(), name=name),), predict=Minimiser())
