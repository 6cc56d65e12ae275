"""Implicit gradients: the energy is trained as the loss whose minimiser is the task-net.

min_φ L_Prim(θ*(φ), φ) with θ*(φ) = argmin_θ L_Aux(θ, φ)   (paper 002, Eq. 2), where
L_Aux = cross-entropy + λ E(x, F(x)) (Eq. 5). On every batch the task-net takes ``task_steps``
steps on L_Aux, then the energy one with the gradient of Eq. 3 (Algorithm 1). The recipes differ
in L_Prim. λ is ``energy_weight``. ``gradient`` has a ``solver`` (``neumann`` or ``cg``) and a
``damping``; ``direct`` leaves the implicit part out: Table 5's other rows, all else equal.

L_Prim depends on θ through its candidates' costs and energies and, in NCE, through log q.
``path="all"`` follows all of it, as the paper writes it: the gradient of the solved problem. But
L_NCE also falls when the truth becomes improbable under the task-net, whatever the energy, and on
bibtex an energy that can cause that does: the task-net is lost within a few epochs.
``path="cost"``, the default, follows only how the candidates' cost depends on the energy.
"""

from __future__ import annotations

from typing import Literal

from lossnet.contrasts import NCE, Margin, Ranking, Regression
from lossnet.costs import get_cost
from lossnet.gradients import Direct, Implicit
from lossnet.method import Method, Optimiser, Update
from lossnet.objectives import Compare
from lossnet.parameters import Count, Weight
from lossnet.proposals import NetOutput, RelaxedSamples
from lossnet.ranges import Around, Range, searched
from lossnet.recipes.parts import BOTH_SPACE, task_update, together

Path = Literal["all", "cost"]
_SPACE = BOTH_SPACE | {"task_steps": Range(1, 3), "gradient.damping": Around(5)}


@searched(_SPACE | {"margin": Around(5)})
def implicit_ssvm(
    *,
    energy_weight: Weight = 1.0,
    xent_weight: Weight = 1.0,
    cost: str = "f1",
    margin: Weight = 1.0,
    path: Path = "cost",
    task_steps: Count = 1,
    gradient: Implicit | Direct = Implicit(),
    energy_optimiser: Optimiser = Optimiser(1e-4, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """Implicit gradient, margin on the task-net's output.

    L_Prim = [Δ(F(x), y*) - E(x, F(x)) + E(x, y*)]_+   (paper 002, section 3.3, SSVM).
    """
    contrast = Margin(margin)
    task = task_update(task_optimiser, contrast, energy_weight, xent_weight)
    loss = Compare(contrast, NetOutput(), get_cost(cost), path=path)
    return _bilevel("implicit-ssvm", task, loss, gradient, energy_optimiser, task_steps)


@searched(_SPACE)
def implicit_dvn(
    *,
    energy_weight: Weight = 1.0,
    xent_weight: Weight = 1.0,
    cost: str = "f1",
    path: Path = "cost",
    task_steps: Count = 1,
    gradient: Implicit | Direct = Implicit(),
    energy_optimiser: Optimiser = Optimiser(1e-3, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """Implicit gradient, regression on the task-net's output.

    L_Prim = cross-entropy between 1 - Δ(F(x), y*) and σ(-E(x, F(x)))   (paper 002,
    section 3.3, DVN, which writes E_θ for E_φ); the task-net maximises σ(-E).
    """
    contrast = Regression()
    task = task_update(task_optimiser, contrast, energy_weight, xent_weight)
    loss = Compare(contrast, NetOutput(), get_cost(cost), path=path)
    return _bilevel("implicit-dvn", task, loss, gradient, energy_optimiser, task_steps)


@searched(_SPACE | {"sampler.k": Range(5, 40, log=True), "margin": Around(5)})
def implicit_cd(
    *,
    energy_weight: Weight = 0.3,
    xent_weight: Weight = 1.0,
    cost: str = "f1",
    margin: Weight = 1.0,
    sampler: RelaxedSamples = RelaxedSamples(20),
    path: Path = "cost",
    task_steps: Count = 1,
    gradient: Implicit | Direct = Implicit(),
    energy_optimiser: Optimiser = Optimiser(1e-3, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """Implicit gradient, contrastive divergence: ranking with the cost inside.

    L_Prim = -log exp(-E_0) / Σ_{k=0..K} exp(-E_k + Δ_k)   (paper 002, section 3.3, CD, which
    lacks its minus sign), y_0 the truth, the others samples of F(x). They are
    ``straight_through``, or relaxed at the ``temperature``, so that the implicit part has a path
    to F. ``margin`` weighs Δ.
    """
    contrast = Ranking(margin)
    task = task_update(task_optimiser, contrast, energy_weight, xent_weight)
    loss = Compare(contrast, sampler, get_cost(cost), path=path)
    return _bilevel("implicit-cd", task, loss, gradient, energy_optimiser, task_steps)


@searched(_SPACE | {"sampler.k": Range(5, 40, log=True), "entropy_weight": Range(0.0, 1.0)})
def implicit_nce(
    *,
    energy_weight: Weight = 1.0,
    xent_weight: Weight = 1.0,
    entropy_weight: Weight = 1.0,
    cost: str = "f1",
    margin: Weight = 1.0,
    sampler: RelaxedSamples = RelaxedSamples(20),
    path: Path = "cost",
    task_steps: Count = 1,
    gradient: Implicit | Direct = Implicit(),
    energy_optimiser: Optimiser = Optimiser(1e-3, plateau=5),
    task_optimiser: Optimiser = Optimiser(2e-3, plateau=5),
) -> Method:
    """Implicit gradient, noise-contrastive ranking with the cost inside.

    L_Prim = -log exp(s_0) / Σ_{k=0..K} exp(s_k + Δ_k), s = -E(x, y) - log P(y|x)   (paper 002,
    section 3.3, NCE, which lacks its minus sign), y_0 the truth, the others samples of F(x), whose
    log-probability P is. ``sampler`` and ``margin`` as in ``implicit-cd``; ``entropy_weight`` as
    in ``seal-nce``, 0 gives the paper's loss.
    """
    contrast = NCE(margin)
    task = task_update(task_optimiser, contrast, energy_weight, xent_weight, entropy_weight)
    loss = Compare(contrast, sampler, get_cost(cost), path=path)
    return _bilevel("implicit-nce", task, loss, gradient, energy_optimiser, task_steps)


def _bilevel(
    name: str,
    task: Update,
    loss: Compare,
    gradient: Implicit | Direct,
    optimiser: Optimiser,
    task_steps: int,
) -> Method:
    """The task-net on L_Aux, then the energy on L_Prim, whose candidates follow L_Aux."""
    rule = gradient.through(task.objective)
    energy = Update("energy", loss, optimiser=optimiser, gradient=rule)
    return together(name, task, energy, steps=(task_steps, 1))
