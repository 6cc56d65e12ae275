"""The gradient of a bilevel problem, the inner solution's dependence on φ included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from lossnet.errors import SettingError
from lossnet.gradients.solvers import Matvec, Solver, Vector, norm
from lossnet.parameters import Weight, check_value

Curvature = Literal["hessian", "gauss-newton"]
Product = Literal["double-backward", "finite-differences"]


@dataclass(frozen=True)
class Hypergradient:
    """The two parts of dL_Prim/dφ, which is ``explicit + implicit``.

    Args:
        explicit: ∂L_Prim/∂φ with θ held fixed.
        implicit: the part by way of θ*(φ); it carries its minus sign already.
        residual: |b - A v| / |b| of the linear system behind the implicit part.
    """

    explicit: Vector
    implicit: Vector
    residual: float


def hypergradient(
    primary: Tensor,
    auxiliary: Callable[[], Tensor],
    inner: Sequence[Tensor],
    outer: Sequence[Tensor],
    *,
    solver: Solver,
    damping: float = 0.0,
    curvature: Curvature = "hessian",
    product: Product = "double-backward",
    outputs: Callable[[], tuple[Tensor | Sequence[Tensor], Tensor, Tensor]] | None = None,
    average: Callable[[Sequence[Tensor]], Sequence[Tensor]] | None = None,
) -> Hypergradient:
    """The gradient of φ -> L_Prim(θ*(φ), φ), where θ*(φ) minimises L_Aux(θ, φ) over θ.

    It is paper 002's Eq. 3, ::

        dL_Prim/dφ = ∂L_Prim/∂φ - [∂²L_Aux/∂φ∂θ] v,    (A + damping I) v = ∂L_Prim/∂θ,

    with A = ∂²L_Aux/∂θ∂θ, everything taken at the present θ. Neither matrix is formed: the
    solver sees products A v, and the last product is the gradient of (∂L_Aux/∂θ)·v in φ.

    Two departures from Eq. 3, both off by default. The damping makes A positive definite where
    θ is no strict minimum; as it grows the implicit part falls as 1/damping, and the direct
    gradient is left. The Gauss-Newton matrix A = J' H_z J, with J = ∂z/∂θ for outputs z and H_z
    the Hessian of a loss convex in z, is never indefinite; the product with φ stays that of the
    full L_Aux.

    Finite differences are the paper's own way (section 3.2): two gradients at θ ± ε v for each
    product, where ε |v| is the cube root of the number format's precision. The auxiliary must
    then return the same value for the same θ, dropout masks included. θ is changed in place and
    restored bit for bit; graphs built on it before cannot be differentiated afterwards, as torch
    counts the writes.

    Args:
        primary: the scalar L_Prim(θ, φ), with its graph to both.
        auxiliary: returns the scalar L_Aux(θ, φ) with its graph. With double backward it is called
            once, and the graph may share parts with the primary's; for finite differences it is
            computed anew from θ at each call.
        inner: θ.
        outer: φ.
        solver: see :mod:`lossnet.gradients.solvers`.
        damping: added to the diagonal of A.
        curvature: which A.
        product: how products with second derivatives of L_Aux are found; with Gauss-Newton by
            automatic differentiation always.
        outputs: for Gauss-Newton; returns z, one tensor or several, the scalar loss that is convex
            in z, and the scalar L_Aux, both computed from that z. L_Aux depends on θ through it
            alone.
        average: where several processes each have some rows of both losses, the mean of tensors
            over all rows.

    >>> from lossnet.gradients.solvers import ConjugateGradient
    >>> p = torch.tensor([3.0], requires_grad=True)
    >>> t = torch.tensor([6.0], requires_grad=True)    # θ* = 2 φ minimises (θ - 2 φ)²
    >>> found = hypergradient(
    ...     (t**2).sum(), lambda: ((t - 2 * p) ** 2).sum(), [t], [p], solver=ConjugateGradient()
    ... )
    >>> found.explicit, found.implicit                 # d(2φ)²/dφ = 8 φ
    ((tensor([0.]),), (tensor([24.]),))
    """
    check_value("damping", Weight, damping)
    check_value("curvature", Curvature, curvature)
    check_value("product", Product, product)
    if curvature == "gauss-newton" and outputs is None:
        raise SettingError(
            "curvature='gauss-newton' needs outputs, a function that returns the net's outputs and "
            "the losses computed from them, got None"
        )
    mean = (lambda v: v) if average is None else lambda v: tuple(average(v))
    both = mean(_gradient(primary, [*outer, *inner]))
    explicit, b = both[: len(outer)], both[len(outer) :]
    if norm(b) == 0.0:
        return Hypergradient(explicit, tuple(torch.zeros_like(p) for p in outer), 0.0)
    if outputs is not None and curvature == "gauss-newton":
        matvec, cross = _through_outputs(*outputs(), inner, outer)
    else:
        matvec, cross = _PRODUCTS[product](auxiliary, inner, outer)
    solution = solver(_damped(lambda v: mean(matvec(v)), damping), b)
    implicit = mean(cross(solution.x))
    torch._foreach_neg_(implicit)
    return Hypergradient(explicit, implicit, solution.residual)


def _gradient(
    of: Tensor | Sequence[Tensor],
    to: Tensor | Sequence[Tensor],
    weights: Sequence[Tensor] | None = None,
    *,
    differentiable: bool = False,
) -> Vector:
    """Σ weights · ∂of/∂to, with zeros where there is no path.

    Graphs are kept, since the two losses may share one; they go when nobody holds them.
    """
    outputs = [of] if isinstance(of, Tensor) else of
    inputs = [to] if isinstance(to, Tensor) else to
    live = [index for index, tensor in enumerate(outputs) if tensor.requires_grad]
    if not live:
        return tuple(torch.zeros_like(tensor) for tensor in inputs)
    along = None if weights is None else [weights[index] for index in live]
    of = [outputs[index] for index in live]
    keep = {"retain_graph": True, "create_graph": differentiable, "materialize_grads": True}
    return torch.autograd.grad(of, inputs, along, **keep)


def _damped(matvec: Matvec, damping: float) -> Matvec:
    if damping == 0.0:
        return matvec

    def damped(v: Vector) -> Vector:
        product = matvec(v)
        torch._foreach_add_(product, v, alpha=damping)  # a product is a fresh tensor
        return product

    return damped


def _double_backward(
    auxiliary: Callable[[], Tensor], inner: Sequence[Tensor], outer: Sequence[Tensor]
) -> tuple[Matvec, Matvec]:
    """Products with ∂²L/∂θ∂θ and ∂²L/∂φ∂θ from one gradient that is differentiated again."""
    slope = _gradient(auxiliary(), inner, differentiable=True)
    return (lambda v: _gradient(slope, inner, v), lambda v: _gradient(slope, outer, v))


def _finite_differences(
    auxiliary: Callable[[], Tensor], inner: Sequence[Tensor], outer: Sequence[Tensor]
) -> tuple[Matvec, Matvec]:
    """Products with ∂²L/∂θ∂θ and ∂²L/∂φ∂θ as differences of ∂L/∂θ and ∂L/∂φ along v."""
    # Taking a step back would round, so the old values are kept.
    kept = tuple(tensor.detach().clone() for tensor in inner)
    # The cube root balances a central difference's truncation error against rounding. It is not
    # scaled by |θ|: a trained net bends along its gradient within steps much shorter than that.
    reach = torch.finfo(kept[0].dtype).eps ** (1 / 3)

    def at(v: Vector, step: float, to: Sequence[Tensor]) -> Vector:
        try:
            with torch.no_grad():
                torch._foreach_add_(list(inner), v, alpha=step)
            return _gradient(auxiliary(), to)
        finally:
            with torch.no_grad():
                torch._foreach_copy_(list(inner), kept)

    def along(v: Vector, to: Sequence[Tensor]) -> Vector:
        length = norm(v)
        if length == 0.0:
            return tuple(torch.zeros_like(tensor) for tensor in to)
        step = reach / length
        difference = torch._foreach_sub(at(v, step, to), at(v, -step, to))
        return tuple(torch._foreach_div(difference, 2.0 * step))

    return lambda v: along(v, inner), lambda v: along(v, outer)


def _through_outputs(
    outputs: Tensor | Sequence[Tensor],
    convex: Tensor,
    auxiliary: Tensor,
    inner: Sequence[Tensor],
    outer: Sequence[Tensor],
) -> tuple[Matvec, Matvec]:
    """Products with J' H_z J and with ∂²L/∂φ∂θ = (∂²L/∂φ∂z) J.

    J'w is linear in w, so its gradient in w along v is J v; the value of w does not matter. Only
    J is found by differentiating the net twice: second derivatives are taken in z alone.
    """
    z = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    bend, slope = _slope(convex, z), _slope(auxiliary, z)
    w = [torch.zeros_like(one, requires_grad=True) for one in z]
    pulled = _gradient(z, inner, w, differentiable=True)

    def matvec(v: Vector) -> Vector:
        return _gradient(z, inner, _gradient(bend, z, _gradient(pulled, w, v)))

    return matvec, lambda v: _gradient(slope, outer, _gradient(pulled, w, v))


def _slope(loss: Tensor, z: Sequence[Tensor]) -> Vector:
    """∂loss/∂z, to be differentiated again."""
    slopes = torch.autograd.grad(loss, z, retain_graph=True, create_graph=True, allow_unused=True)
    if all(slope is None for slope in slopes):
        raise SettingError("outputs() must return the very z that its losses are computed from")
    pairs = zip(slopes, z, strict=True)
    return tuple(torch.zeros_like(one) if slope is None else slope for slope, one in pairs)


_PRODUCTS = {"double-backward": _double_backward, "finite-differences": _finite_differences}
