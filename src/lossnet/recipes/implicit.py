"""Implicit gradients: the energy is trained as the loss whose minimiser is the task-net.

min_φ L_Prim(θ*(φ), φ) with θ*(φ) = argmin_θ L_Aux(θ, φ)   (paper 002, Eq. 2), where
L_Aux = cross-entropy + λ E(x, F(x)) (Eq. 5). On every batch the task-net takes ``task_steps``
steps on L_Aux, then the energy one with the gradient of Eq. 3 (Algorithm 1). The recipes differ
in L_Prim. ``gradient="direct"`` leaves the implicit part out: Table 5's other rows, all else
equal. λ is ``energy_weight``; a ``solver`` has ``solver_steps`` terms or steps.

L_Prim depends on θ through its candidates' costs and through their energies. ``path="all"``
follows both, as the paper writes it; then the energy is rewarded for driving the task-net towards
candidates of high energy, which are easy to tell from the truth, and the stronger the implicit
part the more it does so: at a damping of 1 the task-net is lost within a few epochs on bibtex.
``path="cost"``, the default, asks only how the candidates' cost answers to the energy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lossnet.contrasts import NCE, Margin, Ranking, Regression
from lossnet.contrasts.base import Contrast
from lossnet.errors import unknown
from lossnet.gradients import Direct, GradientRule, Implicit
from lossnet.gradients.hypergradient import Curvature, Product
from lossnet.gradients.solvers import SOLVERS
from lossnet.method import Method, Phase
from lossnet.objectives import Compound, Judge
from lossnet.proposals import NetOutput, Proposal, RelaxedSamples
from lossnet.recipes.parts import energy_update, task_update


@dataclass(frozen=True)
class ImplicitRule:
    """How the energy's gradient is found."""

    gradient: Literal["implicit", "direct"]
    solver: Literal["neumann", "cg"]
    solver_steps: int
    damping: float
    curvature: Curvature
    product: Product
    path: Literal["all", "cost"] = "cost"

    def __call__(self, inner: Judge | Compound) -> GradientRule:
        if self.gradient not in ("implicit", "direct"):
            raise unknown("gradient", self.gradient, ["implicit", "direct"])
        if self.gradient == "direct":
            return Direct()
        if self.solver not in SOLVERS:
            raise unknown("solver", self.solver, SOLVERS)
        solver = SOLVERS[self.solver](self.solver_steps)
        return Implicit(inner, solver, self.damping, self.curvature, self.product)


def _bilevel(
    name: str,
    contrast: Contrast,
    proposal: Proposal,
    rule: ImplicitRule,
    *,
    cost: str,
    energy_weight: float,
    xent_weight: float,
    entropy_weight: float = 0.0,
    task_steps: int,
    energy_lr: float,
    task_lr: float,
    weight_decay: float,
) -> Method:
    """Algorithm 1 of paper 002: the task-net first, then the energy."""
    task = task_update(
        contrast,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        entropy_weight=entropy_weight,
        steps=task_steps,
        lr=task_lr,
        weight_decay=weight_decay,
    )
    assert isinstance(task.objective, Judge)
    energy = energy_update(
        contrast,
        proposal,
        cost=cost,
        lr=energy_lr,
        weight_decay=weight_decay,
        path=rule.path,
        gradient=rule(task.objective),
    )
    return Method(name, (Phase((task, energy), name=name),))


def implicit_ssvm(
    *,
    energy_weight: float = 1.0,
    xent_weight: float = 1.0,
    cost: str = "f1",
    margin: float = 1.0,
    task_steps: int = 1,
    energy_lr: float = 1e-4,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
    gradient: Literal["implicit", "direct"] = "implicit",
    solver: Literal["neumann", "cg"] = "neumann",
    solver_steps: int = 3,
    damping: float = 1.0,
    curvature: Curvature = "gauss-newton",
    product: Product = "double-backward",
    path: Literal["all", "cost"] = "cost",
) -> Method:
    """Implicit gradient, margin on the task-net's output.

    L_Prim = [Δ(F(x), y*) - E(x, F(x)) + E(x, y*)]_+   (paper 002, section 3.3, SSVM).
    """
    return _bilevel(
        "implicit-ssvm",
        Margin(margin),
        NetOutput(),
        ImplicitRule(gradient, solver, solver_steps, damping, curvature, product, path),
        cost=cost,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        task_steps=task_steps,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )


def implicit_dvn(
    *,
    energy_weight: float = 1.0,
    xent_weight: float = 1.0,
    cost: str = "f1",
    task_steps: int = 1,
    energy_lr: float = 1e-3,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
    gradient: Literal["implicit", "direct"] = "implicit",
    solver: Literal["neumann", "cg"] = "neumann",
    solver_steps: int = 3,
    damping: float = 1.0,
    curvature: Curvature = "gauss-newton",
    product: Product = "double-backward",
    path: Literal["all", "cost"] = "cost",
) -> Method:
    """Implicit gradient, regression on the task-net's output.

    L_Prim = cross-entropy between 1 - Δ(F(x), y*) and σ(-E(x, F(x)))   (paper 002,
    section 3.3, DVN, which writes E_θ for E_φ); the task-net maximises σ(-E).
    """
    return _bilevel(
        "implicit-dvn",
        Regression(),
        NetOutput(),
        ImplicitRule(gradient, solver, solver_steps, damping, curvature, product, path),
        cost=cost,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        task_steps=task_steps,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )


def implicit_cd(
    *,
    energy_weight: float = 0.3,
    xent_weight: float = 1.0,
    cost: str = "f1",
    margin: float = 1.0,
    samples: int = 20,
    temperature: float = 0.5,
    straight_through: bool = True,
    task_steps: int = 1,
    energy_lr: float = 1e-3,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
    gradient: Literal["implicit", "direct"] = "implicit",
    solver: Literal["neumann", "cg"] = "neumann",
    solver_steps: int = 3,
    damping: float = 1.0,
    curvature: Curvature = "gauss-newton",
    product: Product = "double-backward",
    path: Literal["all", "cost"] = "cost",
) -> Method:
    """Implicit gradient, contrastive divergence: ranking with the cost inside.

    L_Prim = -log exp(-E_0) / Σ_{k=0..K} exp(-E_k + Δ_k)   (paper 002, section 3.3, CD, which
    lacks its minus sign), y_0 the truth, the others samples of F(x). They are
    ``straight_through``, or relaxed at the ``temperature``, so that the implicit part has a path
    to F. ``margin`` weighs Δ.
    """
    return _bilevel(
        "implicit-cd",
        Ranking(margin),
        RelaxedSamples(samples, temperature, straight_through),
        ImplicitRule(gradient, solver, solver_steps, damping, curvature, product, path),
        cost=cost,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        task_steps=task_steps,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )


def implicit_nce(
    *,
    energy_weight: float = 1.0,
    xent_weight: float = 1.0,
    entropy_weight: float = 1.0,
    cost: str = "f1",
    margin: float = 1.0,
    samples: int = 20,
    temperature: float = 0.5,
    straight_through: bool = True,
    path_through_log_q: bool = False,
    task_steps: int = 1,
    energy_lr: float = 1e-3,
    task_lr: float = 2e-3,
    weight_decay: float = 1e-5,
    gradient: Literal["implicit", "direct"] = "implicit",
    solver: Literal["neumann", "cg"] = "neumann",
    solver_steps: int = 3,
    damping: float = 1.0,
    curvature: Curvature = "gauss-newton",
    product: Product = "double-backward",
    path: Literal["all", "cost"] = "cost",
) -> Method:
    """Implicit gradient, noise-contrastive ranking with the cost inside.

    L_Prim = -log exp(s_0) / Σ_{k=0..K} exp(s_k + Δ_k), s = -E(x, y) - log P(y|x)   (paper 002,
    section 3.3, NCE, which lacks its minus sign), y_0 the truth, the others samples of F(x), whose
    log-probability P is. Samples, ``temperature`` and ``margin`` as in ``implicit-cd``;
    ``entropy_weight`` as in ``seal-nce``, 0 gives the paper's loss.
    """
    return _bilevel(
        "implicit-nce",
        NCE(margin),
        RelaxedSamples(samples, temperature, straight_through, path_through_log_q),
        ImplicitRule(gradient, solver, solver_steps, damping, curvature, product, path),
        cost=cost,
        energy_weight=energy_weight,
        xent_weight=xent_weight,
        entropy_weight=entropy_weight,
        task_steps=task_steps,
        energy_lr=energy_lr,
        task_lr=task_lr,
        weight_decay=weight_decay,
    )
