"""The implicit gradient: an energy that knows what the net trained on it will answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from lossnet.errors import SettingError
from lossnet.gradients.base import Gradient, GradientRule, Tensors
from lossnet.gradients.hypergradient import Curvature, Product, hypergradient
from lossnet.gradients.solvers import ConjugateGradient, Neumann, Solver, norm
from lossnet.needs import UNLABELLED
from lossnet.objectives import Objective
from lossnet.parameters import Checked, Weight

if TYPE_CHECKING:
    from lossnet.context import Context


@dataclass(frozen=True)
class Implicit(Checked, GradientRule):
    """The full gradient of a loss whose candidates come from a net trained on the energy.

    dL_Prim/dφ = ∂L_Prim/∂φ - ∂²L_Aux/∂φ∂θ (∂²L_Aux/∂θ² + damping I)^-1 ∂L_Prim/∂θ

    (paper 002, Eq. 3): φ are the parameters of the update, θ those of the ``inner`` objective's
    net, L_Prim the update's objective and L_Aux the inner one. Both losses are taken on one pass
    of the inner net, dropout masks included.

    Args:
        inner: L_Aux, what the inner net is trained on (paper 002, Eq. 5); None where
            :meth:`through` will say.
        solver: how the linear system is solved.
        damping: added to the curvature's diagonal.
        curvature: ``"hessian"``, exact but indefinite early in training; or ``"gauss-newton"``,
            J' H J with H the Hessian of the terms convex in the logits, never indefinite.
        product: how the Hessian is multiplied with a vector.
        net: the inner net.
    """

    inner: Objective | None = None
    solver: Neumann | ConjugateGradient | Solver = field(default_factory=Neumann)
    damping: Weight = 1.0
    curvature: Curvature = "gauss-newton"
    product: Product = "double-backward"
    net: str = "task"
    keeps_graph: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.curvature == "gauss-newton" and self.damping == 0:
            raise SettingError(
                "damping must be above 0 with curvature='gauss-newton', got 0: the matrix is "
                "singular if a net has more parameters than outputs in a batch"
            )
        if self.curvature == "gauss-newton" and self.inner and self.inner.convex_part is None:
            raise SettingError(
                "no inner term is convex in the logits; give cross-entropy a weight, or take "
                "curvature='hessian'"
            )

    @property
    def nets(self) -> frozenset[str]:
        return frozenset() if self.inner is None else self.inner.nets

    @property
    def in_pieces(self) -> bool:
        return False  # the inverse of a mean of curvatures is not the mean of their inverses

    @property
    def needs_float32(self) -> bool:
        return self.curvature == "hessian" and self.product == "finite-differences"

    def through(self, inner: Objective) -> Implicit:
        """The rule for candidates of a net that is trained on ``inner``."""
        return replace(self, inner=inner)

    def check(self, objective: Objective, trains: Sequence[str]) -> None:
        if self.inner is None:
            raise SettingError(f"inner must be the objective that trains {self.net!r}, got None")
        # The loss counts the inner net's answer, so a part of it may depend on that net alone.
        objective.check(keep_graph=True, trains=(*trains, self.net))
        self.inner.check(keep_graph=False, trains=(self.net,))
        if self.net not in objective.nets:
            raise SettingError(
                f"no candidate comes from {self.net!r}; propose from it, or take gradient=Direct()"
            )
        if not set(trains) & self.inner.nets:
            raise SettingError(
                f"the inner objective does not depend on {' or '.join(trains)}, so the implicit "
                "part is always zero; give its energy term a weight, or take gradient=Direct()"
            )

    def __call__(
        self, objective: Objective, context: Context, trains: Sequence[str], parameters: Tensors
    ) -> Gradient:
        inner = [p for p in context.nets[self.net].parameters() if p.requires_grad]
        trained_on = self.inner
        assert trained_on is not None  # checked when built
        moves = self.product == "finite-differences" and self.curvature == "hessian"

        def auxiliary() -> Tensor:
            if moves:
                context.replay(self.net)  # the parameters have moved, the masks must not
            with context.updating([self.net], attached=trains):
                return context.mean(trained_on(context))

        def outputs() -> tuple[list[Tensor], Tensor, Tensor]:
            passes = [context]
            if trained_on.needs >= UNLABELLED:
                passes.append(context.for_rows("unlabelled"))
            convex = trained_on.convex_part
            assert convex is not None  # checked when built
            z = [one.logits(self.net) for one in passes]
            return z, context.mean(convex(context)), auxiliary()

        with context.updating(trains):
            primary = context.mean(objective(context, keep_graph=True))
        with context.without_reports():
            if moves and context.reads:
                auxiliary()  # the features that energies read are constants: those before θ moves
            found = hypergradient(
                primary,
                auxiliary,
                inner,
                parameters,
                solver=self.solver,
                damping=self.damping,
                curvature=self.curvature,
                product=self.product,
                outputs=outputs if self.curvature == "gauss-newton" else None,
                average=context.average,
            )
        measures = {"explicit norm": norm(found.explicit), "implicit norm": norm(found.implicit)}
        measures["solver residual"] = found.residual
        values = torch._foreach_add(found.explicit, found.implicit)
        return Gradient(primary.detach(), values, measures)
