"""Linear solvers against dense solves and explicit sums."""

import pytest
import torch

from lossnet.errors import SettingError, TrainingError
from lossnet.gradients.solvers import ConjugateGradient, Neumann, SolverError
from lossnet.parameters import kind_of

SHAPES = ((2, 3), (4,), ())
N = 11


def split(flat):
    parts = flat.split([6, 4, 1])
    return tuple(part.reshape(shape) for part, shape in zip(parts, SHAPES, strict=True))


def flat(vector):
    return torch.cat([part.reshape(-1) for part in vector])


class Matrix:
    """A dense matrix as a product, which counts its calls."""

    def __init__(self, A):
        self.A = A
        self.calls = 0

    def __call__(self, v):
        self.calls += 1
        return split(self.A @ flat(v))


def system(seed, low=0.5, high=2.0):
    """A random symmetric matrix with eigenvalues from low to high, and a right-hand side."""
    generator = torch.Generator().manual_seed(seed)
    Q, _ = torch.linalg.qr(torch.randn(N, N, generator=generator, dtype=torch.float64))
    A = Q @ torch.diag(torch.linspace(low, high, N, dtype=torch.float64)) @ Q.T
    return A, torch.randn(N, generator=generator, dtype=torch.float64)


def true_residual(A, b, x):
    return float((b - A @ flat(x)).norm() / b.norm())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "solver", [Neumann(80, scale=0.8), Neumann(400), ConjugateGradient(N, tolerance=1e-12)]
)
def test_solves_definite_systems(solver, seed):
    A, b = system(seed)
    found = solver(Matrix(A), split(b))
    assert [part.shape for part in found.x] == [torch.Size(shape) for shape in SHAPES]
    assert torch.allclose(flat(found.x), torch.linalg.solve(A, b), rtol=0.0, atol=1e-9)
    assert found.residual < 1e-9


@pytest.mark.parametrize("terms", [1, 2, 3, 7])
@pytest.mark.parametrize("scale", [0.05, 0.3])
def test_neumann_is_the_sum(terms, scale):
    A, b = system(1)
    matrix = Matrix(A)
    found = Neumann(terms, scale)(matrix, split(b))
    step = torch.eye(N, dtype=torch.float64) - scale * A
    expected = scale * sum(torch.linalg.matrix_power(step, j) @ b for j in range(terms))
    assert torch.allclose(flat(found.x), expected, rtol=1e-12, atol=1e-12)
    assert found.residual == pytest.approx(true_residual(A, b, found.x), rel=1e-10)
    assert matrix.calls == terms


@pytest.mark.parametrize("steps", [1, 3, 6])
def test_cg_residual_is_true(steps):
    A, b = system(2, low=0.01)
    matrix = Matrix(A)
    found = ConjugateGradient(steps)(matrix, split(b))
    assert found.residual == pytest.approx(true_residual(A, b, found.x), rel=1e-8)
    assert found.residual > 1e-6
    assert matrix.calls == steps


def test_one_product_for_multiple_of_identity():
    b = system(3)[1]
    A = 4.0 * torch.eye(N, dtype=torch.float64)
    for solver in (Neumann(terms=1), ConjugateGradient()):
        matrix = Matrix(A)
        found = solver(matrix, split(b))
        assert torch.allclose(flat(found.x), b / 4.0)
        assert found.residual < 1e-12
        assert matrix.calls == 1


@pytest.mark.parametrize("solver", [Neumann(), ConjugateGradient()])
def test_zero_right_side_needs_no_product(solver):
    matrix = Matrix(system(0)[0])
    found = solver(matrix, split(torch.zeros(N, dtype=torch.float64)))
    assert not flat(found.x).any()
    assert found.residual == 0.0
    assert matrix.calls == 0


@pytest.mark.parametrize("solver", [Neumann(4, scale=0.4), ConjugateGradient(4)])
def test_right_side_is_left_alone(solver):
    A, b = system(4)
    given = split(b.clone())
    solver(Matrix(A), given)
    assert torch.equal(flat(given), b)


def test_cg_refuses_indefinite():
    A, b = system(5, low=-1.0, high=1.0)
    with pytest.raises(SolverError, match=r"conjugate gradients: p'A p is -.*raise damping.*gauss"):
        ConjugateGradient(50)(Matrix(A), split(b))


def test_neumann_refuses_too_large_a_scale():
    A, b = system(5)
    with pytest.raises(SolverError, match=r"Neumann: after 10 terms with scale 3 .*lower scale"):
        Neumann(10, scale=3.0)(Matrix(A), split(b))


@pytest.mark.parametrize("solver", [Neumann(), Neumann(scale=1.0), ConjugateGradient()])
def test_negative_definite_is_refused(solver):
    A, b = system(6)
    with pytest.raises(SolverError, match="raise damping"):
        solver(Matrix(-A), split(b))


@pytest.mark.parametrize("terms", [1, 2, 5, 20])
def test_neumann_chooses_the_scale_that_leaves_least(terms):
    A, b = system(3)
    x, left = torch.zeros_like(b), b
    for _ in range(terms):
        scales = torch.linspace(0.0, 2.0, 20001, dtype=torch.float64).unsqueeze(1)
        residuals = (left - scales * (A @ left)).norm(dim=1)
        scale = left @ A @ left / (A @ left).square().sum()
        assert (left - scale * (A @ left)).norm() <= residuals.min() + 1e-12
        x, left = x + scale * left, left - scale * (A @ left)
    found = Neumann(terms)(Matrix(A), split(b))
    assert torch.allclose(flat(found.x), x, rtol=1e-10, atol=1e-12)
    assert found.residual == pytest.approx(true_residual(A, b, found.x), rel=1e-8)


def test_neumann_on_a_matrix_of_zeros_leaves_everything():
    b = system(0)[1]
    found = Neumann()(Matrix(torch.zeros(N, N, dtype=torch.float64)), split(b))
    assert found.residual == 1.0
    assert not flat(found.x).any()


@pytest.mark.parametrize("solver", [Neumann(), Neumann(scale=1.0), ConjugateGradient()])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_numbers_not_finite(solver, value):
    A, b = system(0)
    with pytest.raises(SolverError, match=solver_name(solver)):
        solver(Matrix(A * value), split(b))
    b[3] = value
    with pytest.raises(SolverError, match="gradient of norm"):
        solver(Matrix(A), split(b))


def solver_name(solver):
    return "Neumann" if isinstance(solver, Neumann) else "conjugate gradients"


def test_cg_refuses_what_it_cannot_bring_down():
    # A non-symmetric product, as from a wrong matvec: every step enlarges the residual.
    A = torch.eye(N, dtype=torch.float64) + 1e4 * torch.ones(N, N, dtype=torch.float64).triu(1)
    A = A - 1e4 * torch.ones(N, N, dtype=torch.float64).tril(-1)
    with pytest.raises(SolverError, match="residual is"):
        ConjugateGradient(1)(Matrix(A), split(system(0)[1]))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Neumann(terms=0), "terms must be at least 1, got 0"),
        (lambda: Neumann(scale=0.0), "scale must be above 0 or None, got 0.0"),
        (lambda: Neumann(scale=float("nan")), "scale must be above 0 or None, got nan"),
        (lambda: ConjugateGradient(steps=0), "steps must be at least 1, got 0"),
        (lambda: ConjugateGradient(tolerance=0.0), "tolerance must be above 0, got 0.0"),
    ],
)
def test_bad_settings(build, message):
    with pytest.raises(SettingError, match=message):
        build()


def test_names_and_error_family():
    assert [kind_of(kind) for kind in (Neumann, ConjugateGradient)] == ["neumann", "cg"]
    assert issubclass(SolverError, TrainingError)
