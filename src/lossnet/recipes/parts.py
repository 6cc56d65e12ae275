"""Updates that several recipes share."""

from __future__ import annotations

from dataclasses import replace

from lossnet.contrasts.base import Contrast
from lossnet.costs import Cost, get_cost
from lossnet.gradients import Direct, GradientRule
from lossnet.method import Optimiser, Update
from lossnet.objectives import Compare, Compound, Judge, Part
from lossnet.objectives.compare import Path
from lossnet.proposals.base import Proposal
from lossnet.proposals.net import NetOutput
from lossnet.terms import CrossEntropy, EnergyTerm, NegativeEntropy, Weighted


def task_update(
    contrast: Contrast | None = None,
    *,
    local: bool = False,
    energy_weight: float = 0.0,
    xent_weight: float = 1.0,
    entropy_weight: float = 0.0,
    steps: int = 1,
    lr: float,
    weight_decay: float,
    net: str = "task",
) -> Update:
    """L_F = λ1 link(E(x, F(x))) + λ2 Σ cross-entropy   (paper 000, Eq. 1).

    With λ1 = 0 this is cross-entropy training. ``entropy_weight`` times the output's entropy is
    taken off, where the energy stands for -log p. ``local`` links every position's energy by
    itself. Learning rates are halved after 5 epochs without a better validation metric, as in the
    public code.
    """
    terms = (
        Weighted(energy_weight, EnergyTerm(contrast, local=local)),
        Weighted(xent_weight, CrossEntropy()),
        Weighted(entropy_weight if energy_weight else 0.0, NegativeEntropy()),
    )
    return Update(
        net,
        Judge(terms, NetOutput(net)),
        steps=steps,
        optimiser=Optimiser(lr=lr, weight_decay=weight_decay, plateau=5),
    )


def energy_update(
    contrast: Contrast,
    proposal: Proposal,
    *,
    cost: str | Cost = "f1",
    steps: int = 1,
    lr: float,
    weight_decay: float,
    beta1: float = 0.9,
    path: Path = "all",
    local: bool = False,
    gradient: GradientRule | None = None,
) -> Update:
    """L_E: a contrast of the energies of a proposal's candidates, by default its own gradient."""
    return Update(
        "energy",
        Compare(contrast, proposal, get_cost(cost), path=path, local=local),
        steps=steps,
        optimiser=Optimiser(lr=lr, weight_decay=weight_decay, plateau=5, beta1=beta1),
        gradient=gradient or Direct(),
    )


def with_unlabelled(update: Update, objective: Compare | Judge, weight: float) -> Update:
    """The update with ``weight`` times an objective on unlabelled rows added to its own.

    The history has both parts by name. With weight 0 it is the update itself.
    """
    if weight == 0:
        return update
    own = update.objective
    assert not isinstance(own, Compound)
    labelled = Part(f"labelled/{update.name}", 1.0, own)
    beside = Part(f"unlabelled/{update.name}", weight, objective, rows="unlabelled")
    return replace(update, objective=Compound((labelled, beside)))
