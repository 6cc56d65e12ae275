"""Gradient rules: how an update's gradient is found."""

from lossnet.gradients.base import Gradient, GradientRule
from lossnet.gradients.hypergradient import hypergradient
from lossnet.gradients.implicit import Implicit
from lossnet.gradients.rules import Direct, Unrolled
from lossnet.gradients.solvers import ConjugateGradient, Neumann, Solver, SolverError

__all__ = [
    "ConjugateGradient",
    "Direct",
    "Gradient",
    "GradientRule",
    "Implicit",
    "Neumann",
    "Solver",
    "SolverError",
    "Unrolled",
    "hypergradient",
]
