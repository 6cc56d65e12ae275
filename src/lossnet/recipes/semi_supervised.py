"""Few labelled rows, many unlabelled ones, and a reward in place of their truth.

L = L_labelled + μ L_unlabelled for both nets (paper 002, section 4, citation field extraction,
in the setting of Rooshenas et al., 2019). On labelled rows the loss-net regresses to 1 - cost
and the task-net minimises λ1 link(E(x, F(x))) + λ2 Σ cross-entropy; on unlabelled rows the
loss-net regresses to the reward of the same kinds of candidates and the task-net minimises
λ1 link(E(x, F(x))) alone. ``entropy_weight`` times the output's entropy is taken off on all rows:
without it the task-net is sure of its first guesses before the energy knows better. μ is
``unlabelled_weight``: 0 leaves a supervised method. Candidates are the task-net's output,
``samples`` discrete samples at ``temperature``, and as many copies with noise of ``std`` on the
logits. A reward is mostly a mean over tokens, so λ1 (``energy_weight``) should grow with the
sentences: the citation benchmark takes 200 for some 30 tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from lossnet.contrasts import Regression
from lossnet.costs import ByReward, Cost, get_cost
from lossnet.gradients import Direct, Implicit, Neumann
from lossnet.method import Method, Optimiser, Update
from lossnet.objectives import Compare, Compound, Judge, Part
from lossnet.parameters import Count, Weight
from lossnet.proposals import Combined, Perturbed, Proposal, Samples
from lossnet.ranges import Around, Range, searched
from lossnet.recipes.parts import (
    BOTH_SPACE,
    energy_update,
    task_update,
    together,
    with_unlabelled,
)
from lossnet.terms import CostTerm, EnergyTerm, NegativeEntropy, Weighted

_SPACE = BOTH_SPACE | {"unlabelled_weight": Around(5), "entropy_weight": Range(0.0, 2.0)}


@searched(_SPACE | {"samples": Range(2, 10), "energy_steps": Range(1, 3)})
def seal_reward(
    *,
    energy_weight: Weight = 30.0,
    xent_weight: Weight = 1.0,
    entropy_weight: Weight = 1.0,
    unlabelled_weight: Weight = 1.0,
    cost: str = "token-error",
    samples: Count = 5,
    temperature: float = 1.0,
    std: Weight = 1.0,
    energy_steps: Count = 2,
    task_steps: Count = 1,
    energy_optimiser: Optimiser = Optimiser(5e-3, plateau=5),
    task_optimiser: Optimiser = Optimiser(5e-3, plateau=5),
) -> Method:
    """SEAL-dynamic with regression, and a reward where rows are unlabelled.

    The gradients are direct (paper 000, section 2.3, regression-s); the unlabelled part is that
    of paper 002, section 4.
    """
    candidates = _candidates(samples, temperature, std)
    energy = energy_update(energy_optimiser, Regression(), candidates, cost=cost)
    rewarded = Compare(Regression(), candidates, ByReward())
    energy = with_unlabelled(energy, rewarded, unlabelled_weight)
    weights = energy_weight, xent_weight, entropy_weight
    task = _task_update(task_optimiser, weights, unlabelled_weight)
    return together("seal-reward", energy, task, steps=(energy_steps, task_steps))


@searched(_SPACE | {"outcome_weight": Around(5)})
def implicit_reward(
    *,
    energy_weight: Weight = 30.0,
    xent_weight: Weight = 1.0,
    entropy_weight: Weight = 1.0,
    unlabelled_weight: Weight = 1.0,
    outcome_weight: Weight = 1.0,
    cost: str = "token-error",
    samples: Count = 5,
    temperature: float = 1.0,
    std: Weight = 1.0,
    task_steps: Count = 1,
    gradient: Implicit | Direct = Implicit(solver=Neumann(1)),
    energy_optimiser: Optimiser = Optimiser(5e-3, plateau=5),
    task_optimiser: Optimiser = Optimiser(5e-3, plateau=5),
) -> Method:
    """Implicit gradient with regression, and a reward where rows are unlabelled.

    L_Prim is the loss-net's loss of ``seal-reward``, and ``outcome_weight`` times the cost of the
    task-net's output (1 - reward on unlabelled rows), which the implicit part of paper 002, Eq. 3
    leads through, with both batches in L_Prim and L_Aux (section 4). The regression's own
    dependence on the task-net is left out: it rewards an energy that foresees bad outputs for
    bringing them about. Where the reward is not differentiable the implicit part has the labelled
    rows alone.
    """
    weights = energy_weight, xent_weight, entropy_weight
    task = _task_update(task_optimiser, weights, unlabelled_weight)
    candidates = _candidates(samples, temperature, std)
    outcome = outcome_weight if gradient.keeps_graph else 0.0
    labelled = _primary("labelled", get_cost(cost), candidates, 1.0, outcome)
    rewarded = _primary("unlabelled", ByReward(), candidates, unlabelled_weight, outcome)
    rule = gradient.through(task.objective)
    loss = Compound(labelled + rewarded)
    energy = Update("energy", loss, optimiser=energy_optimiser, gradient=rule)
    return together("implicit-reward", task, energy, steps=(task_steps, 1))


def _candidates(samples: int, temperature: float, std: float) -> Proposal:
    return Combined((Perturbed(samples + 1, std), Samples(samples, temperature=temperature)))


def _task_update(
    optimiser: Optimiser, weights: Sequence[float], unlabelled_weight: float
) -> Update:
    """The task-net on all rows, by the weights of energy, cross-entropy and entropy."""
    energy_weight, _, entropy_weight = weights
    own = task_update(optimiser, Regression(), *weights)
    energy = Weighted(energy_weight, EnergyTerm(Regression()))
    follow = Judge((energy, Weighted(entropy_weight, NegativeEntropy())))
    return with_unlabelled(own, follow, unlabelled_weight if energy_weight else 0.0)


def _primary(
    rows: str, cost: Cost | ByReward, candidates: Proposal, weight: float, outcome: float
) -> tuple[Part, Part]:
    """L_Prim on labelled or unlabelled rows: the regression, and the cost of the output."""
    compare = Compare(Regression(), candidates, cost, path="none")
    judge = Judge((Weighted(1.0, CostTerm(cost)),))
    kind: Literal["batch", "unlabelled"] = "unlabelled" if rows == "unlabelled" else "batch"
    return (
        Part(f"{rows}/energy", weight, compare, rows=kind),
        Part(f"{rows}/outcome", outcome * weight, judge, rows=kind),
    )
