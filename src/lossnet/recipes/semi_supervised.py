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

from typing import Literal

from lossnet.contrasts import Regression
from lossnet.contrasts.base import Contrast
from lossnet.costs import ByReward, get_cost
from lossnet.gradients.hypergradient import Curvature, Product
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Compare, Compound, Judge, Part
from lossnet.proposals import Perturbed, Proposal, Samples, Several
from lossnet.recipes.implicit import ImplicitRule
from lossnet.recipes.parts import energy_update, task_update, with_unlabelled
from lossnet.terms import CostTerm, EnergyTerm, NegativeEntropy, Weighted


def _candidates(samples: int, temperature: float, std: float) -> Proposal:
    return Several((Perturbed(samples + 1, std), Samples(samples, temperature=temperature)))


def _follow(contrast: Contrast, energy_weight: float, entropy_weight: float) -> Judge:
    """What the task-net minimises where there is no truth."""
    energy = Weighted(energy_weight, EnergyTerm(contrast))
    return Judge((energy, Weighted(entropy_weight, NegativeEntropy())))


def seal_reward(
    *,
    energy_weight: float = 30.0,
    xent_weight: float = 1.0,
    entropy_weight: float = 1.0,
    unlabelled_weight: float = 1.0,
    cost: str = "token-error",
    samples: int = 5,
    temperature: float = 1.0,
    std: float = 1.0,
    energy_steps: int = 2,
    task_steps: int = 1,
    energy_lr: float = 5e-3,
    task_lr: float = 5e-3,
    weight_decay: float = 1e-5,
) -> Method:
    """SEAL-dynamic with regression, and a reward where rows are unlabelled.

    The gradients are direct (paper 000, section 2.3, regression-s); the unlabelled part is that
    of paper 002, section 4.
    """
    contrast, candidates = Regression(), _candidates(samples, temperature, std)
    energy = energy_update(
        contrast,
        candidates,
        cost=cost,
        steps=energy_steps,
        lr=energy_lr,
        weight_decay=weight_decay,
    )
    task = task_update(
        contrast,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        entropy_weight=entropy_weight,
        steps=task_steps,
        lr=task_lr,
        weight_decay=weight_decay,
    )
    energy = with_unlabelled(energy, Compare(contrast, candidates, ByReward()), unlabelled_weight)
    task = with_unlabelled(
        task,
        _follow(contrast, energy_weight, entropy_weight),
        unlabelled_weight if energy_weight else 0.0,
    )
    return Method("seal-reward", (Phase((energy, task), name="seal-reward"),))


def implicit_reward(
    *,
    energy_weight: float = 30.0,
    xent_weight: float = 1.0,
    entropy_weight: float = 1.0,
    unlabelled_weight: float = 1.0,
    outcome_weight: float = 1.0,
    cost: str = "token-error",
    samples: int = 5,
    temperature: float = 1.0,
    std: float = 1.0,
    task_steps: int = 1,
    energy_lr: float = 5e-3,
    task_lr: float = 5e-3,
    weight_decay: float = 1e-5,
    gradient: Literal["implicit", "direct"] = "implicit",
    solver: Literal["neumann", "cg"] = "neumann",
    solver_steps: int = 1,
    damping: float = 1.0,
    curvature: Curvature = "gauss-newton",
    product: Product = "double-backward",
) -> Method:
    """Implicit gradient with regression, and a reward where rows are unlabelled.

    L_Prim is the loss-net's loss of ``seal-reward``, and ``outcome_weight`` times the cost of the
    task-net's output (1 - reward on unlabelled rows), which the implicit part of paper 002, Eq. 3
    leads through, with both batches in L_Prim and L_Aux (section 4). The regression's own
    dependence on the task-net is left out: it rewards an energy that foresees bad outputs for
    bringing them about. Where the reward is not differentiable the implicit part has the labelled
    rows alone.
    """
    contrast, candidates = Regression(), _candidates(samples, temperature, std)
    rule = ImplicitRule(gradient, solver, solver_steps, damping, curvature, product)
    task = task_update(
        contrast,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        entropy_weight=entropy_weight,
        steps=task_steps,
        lr=task_lr,
        weight_decay=weight_decay,
    )
    task = with_unlabelled(
        task,
        _follow(contrast, energy_weight, entropy_weight),
        unlabelled_weight if energy_weight else 0.0,
    )
    assert isinstance(task.objective, Judge | Compound)
    outcome = outcome_weight if gradient == "implicit" else 0.0
    parts = (
        Part("labelled/energy", 1.0, Compare(contrast, candidates, get_cost(cost), path="none")),
        Part("labelled/outcome", outcome, Judge((Weighted(1.0, CostTerm(get_cost(cost))),))),
        Part(
            "unlabelled/energy",
            unlabelled_weight,
            Compare(contrast, candidates, ByReward(), path="none"),
            rows="unlabelled",
        ),
        Part(
            "unlabelled/outcome",
            outcome * unlabelled_weight,
            Judge((Weighted(1.0, CostTerm(ByReward())),)),
            rows="unlabelled",
        ),
    )
    energy = Update(
        "energy",
        Compound(parts),
        optimiser=Optimiser(lr=energy_lr, weight_decay=weight_decay, plateau=5),
        gradient=rule(task.objective),
    )
    return Method("implicit-reward", (Phase((task, energy), name="implicit-reward"),))
