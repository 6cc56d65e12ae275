"""Linear solvers for A x = b that know the matrix A by its products with vectors alone.

A vector has the shapes of a net's parameters and is never flattened into one tensor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from lossnet.errors import TrainingError
from lossnet.parameters import Checked, Count, Positive

#: A vector in the shape of a net's parameters, one tensor per parameter.
Vector = tuple[Tensor, ...]
#: The product v -> A v with a symmetric matrix.
Matvec = Callable[[Vector], Vector]

#: How far above 1 rounding may carry the residual of a series that does not diverge.
_SLACK = 1e-3
#: Residuals of conjugate gradients may rise on the way down; beyond this they do not come back.
_DIVERGED = 1e3
_REMEDY = "raise damping, or take curvature='gauss-newton'"


class SolverError(TrainingError):
    """A linear solver met a matrix it cannot handle, or numbers that are not finite."""


@dataclass(frozen=True)
class Solution:
    """The vector found, and how well it solves the system.

    Args:
        x: the solution, in the shapes of b.
        residual: |b - A x| / |b|, and 0 for b = 0.
    """

    x: Vector
    residual: float


class Solver(Protocol):
    """Solves A x = b approximately, given the product with A."""

    def __call__(self, matvec: Matvec, b: Vector) -> Solution:
        """The solution and its residual; SolverError where there is none to give."""


@dataclass(frozen=True)
class Neumann(Checked):
    """The von Neumann series, s Σ_{j<terms} (I - s A)^j b, which tends to A⁻¹ b.

    It is the solver of paper 002 (section 3.2), after Lorraine et al. (2020). For a symmetric A
    it converges where every eigenvalue of A lies between 0 and 2 / s. Term by term it adds
    x <- x + s r, r <- r - s A r to x = 0, r = b.

    The remainder r = b - A x is the true residual. It takes exactly ``terms`` products. A residual
    above 1 shows that the series diverges: SolverError.

    Args:
        terms: number of terms of the sum.
        scale: s. None lets every term take the s that leaves the smallest residual,
            s = r'A r / |A r|², at no further product: on a positive definite A it never diverges.
    """

    terms: Count = 3
    scale: Positive | None = None

    def __call__(self, matvec: Matvec, b: Vector) -> Solution:
        size = _size_of_right_side("Neumann", b)
        if size == 0.0:
            return Solution(_zeros(b), 0.0)
        x, left = _zeros(b), tuple(tensor.clone() for tensor in b)
        for _ in range(self.terms):
            product = matvec(left)
            scale = self._scale(left, product)
            torch._foreach_add_(x, left, alpha=scale)
            torch._foreach_add_(left, product, alpha=-scale)
        residual = norm(left) / size
        if not residual <= 1.0 + _SLACK:
            raise SolverError(
                f"Neumann: after {self.terms} terms with scale {scale:.3g} the residual is "
                f"{residual:.3g}, so the series diverges; lower scale or set it to None, {_REMEDY}"
            )
        return Solution(x, residual)

    def _scale(self, left: Vector, product: Vector) -> float:
        if self.scale is not None:
            return self.scale
        along, stretched = dot(left, product), dot(product, product)
        # Rounding may leave a tiny negative number where the residual is all but zero.
        if not math.isfinite(stretched) or not along >= -_SLACK * stretched:
            raise SolverError(f"Neumann: r'A r is {along:.3g}, not positive; {_REMEDY}")
        return max(along, 0.0) / stretched if stretched else 0.0


@dataclass(frozen=True)
class ConjugateGradient(Checked):
    """Conjugate gradients (Hestenes and Stiefel, 1952), for a positive definite A.

    After k products x minimises ½ x'A x - b'x over the span of b, A b, ..., A^(k-1) b. The
    residual is the one the recurrence carries along; it is the true one up to rounding.

    A direction p with p'A p <= 0 shows that A is not positive definite: SolverError. Running out
    of steps is no error; the residual shows how far the solution is.

    Args:
        steps: largest number of products.
        tolerance: the residual at which to stop earlier.
    """

    steps: Count = 10
    tolerance: Positive = 1e-6
    kind: ClassVar[str] = "cg"

    def __call__(self, matvec: Matvec, b: Vector) -> Solution:
        size = _size_of_right_side("conjugate gradients", b)
        x = _zeros(b)
        if size == 0.0:
            return Solution(x, 0.0)
        rest = tuple(tensor.clone() for tensor in b)
        direction = tuple(tensor.clone() for tensor in b)
        square = size * size
        for step in range(1, self.steps + 1):
            product = matvec(direction)
            bend = dot(direction, product)
            if not 0.0 < bend < math.inf:
                raise SolverError(
                    f"conjugate gradients: p'A p is {bend:.3g} at step {step}; {_REMEDY}"
                )
            length = square / bend
            torch._foreach_add_(x, direction, alpha=length)
            torch._foreach_add_(rest, product, alpha=-length)
            before, square = square, dot(rest, rest)
            if not math.sqrt(square) > self.tolerance * size:
                break
            torch._foreach_mul_(direction, square / before)
            torch._foreach_add_(direction, rest)
        residual = math.sqrt(square) / size
        if not residual <= _DIVERGED:
            raise SolverError(
                f"conjugate gradients: after {step} steps the residual is {residual:.3g}; {_REMEDY}"
            )
        return Solution(x, residual)


def dot(a: Vector, b: Vector) -> float:
    """The inner product a'b over all tensors."""
    parts = [torch.dot(one.reshape(-1), two.reshape(-1)) for one, two in zip(a, b, strict=True)]
    return float(torch.stack(parts).sum())


def norm(a: Vector) -> float:
    """The Euclidean norm |a| over all tensors."""
    return float(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(a))))


def _zeros(like: Vector) -> Vector:
    return tuple(torch.zeros_like(tensor) for tensor in like)


def _size_of_right_side(solver: str, b: Vector) -> float:
    size = norm(b)
    if not math.isfinite(size):
        raise SolverError(
            f"{solver}: the primary loss has a gradient of norm {size}, which is not finite; lower "
            "the learning rate or clip the gradient"
        )
    return size
