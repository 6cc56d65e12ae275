"""The implicit gradient against closed forms, finite differences, TorchOpt and dense solves."""

import pytest
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits

from lossnet.energies import LabelEnergy
from lossnet.errors import SettingError
from lossnet.gradients import ConjugateGradient, Neumann, SolverError, hypergradient
from lossnet.nets import LabelMLP

PRODUCTS = ("double-backward", "finite-differences")
EXACT_CG = ConjugateGradient(steps=50, tolerance=1e-12)
DAMPING = 0.3
CURVED_CG = ConjugateGradient(steps=50, tolerance=1e-10)


def flat(vector):
    return torch.cat([part.detach().reshape(-1) for part in vector])


def cosine(a, b):
    return float(a @ b / (a.norm() * b.norm()))


def random(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


class Quadratic:
    """L_Aux = ½ t'A t - t'B p, L_Prim = ½ |t - c|² + ½ |p|² + p'D t at t = A⁻¹ B p.

    A = X'X and B = X'C, so that up to a constant L_Aux is the squared loss ½ |X t - C p|² of a
    linear model, whose Gauss-Newton matrix is the Hessian.
    """

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        Q, _ = torch.linalg.qr(random(generator, 8, 5))
        self.X = Q * torch.linspace(0.8, 1.4, 5, dtype=torch.float64)
        self.C = random(generator, 8, 3)
        self.c, self.D = random(generator, 5), random(generator, 3, 5)
        self.A, self.B = self.X.T @ self.X, self.X.T @ self.C
        self.p = random(generator, 3).requires_grad_()
        solved = torch.linalg.solve(self.A, self.B @ self.p.detach())
        self.inner = [solved[:2].clone().requires_grad_(), solved[2:].clone().requires_grad_()]

    @property
    def t(self):
        return torch.cat(self.inner)

    def auxiliary(self):
        return 0.5 * self.t @ self.A @ self.t - self.t @ self.B @ self.p

    def outputs(self):
        z = self.X @ self.t
        loss = 0.5 * (z - self.C @ self.p).square().sum()
        return z, loss, loss

    def primary(self):
        t, p = self.t, self.p
        return 0.5 * (t - self.c).square().sum() + 0.5 * p.square().sum() + p @ self.D @ t

    def closed_form(self, damping):
        t, p = self.t.detach(), self.p.detach()
        A = self.A + damping * torch.eye(5, dtype=torch.float64)
        implicit = self.B.T @ torch.linalg.solve(A, t - self.c + self.D.T @ p)
        return p + self.D @ t, implicit

    def hypergradient(self, **settings):
        return hypergradient(self.primary(), self.auxiliary, self.inner, [self.p], **settings)


@pytest.mark.parametrize("damping", [0.0, 0.3])
@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("solver", [Neumann(200, scale=0.6), EXACT_CG])
def test_quadratic_closed_form(solver, product, curvature, damping):
    problem = Quadratic(0)
    found = problem.hypergradient(
        solver=solver,
        damping=damping,
        curvature=curvature,
        product=product,
        outputs=problem.outputs,
    )
    explicit, implicit = problem.closed_form(damping)
    assert torch.allclose(flat(found.explicit), explicit, rtol=0.0, atol=1e-6)
    assert torch.allclose(flat(found.implicit), implicit, rtol=0.0, atol=1e-6)
    assert found.residual < 1e-8


def test_implicit_part_falls_with_damping():
    # Here the explicit gradient is what Direct computes, so the implicit part is the difference.
    problem = Quadratic(1)
    sizes = [
        flat(problem.hypergradient(solver=EXACT_CG, damping=damping).implicit).norm()
        for damping in (1e4, 1e5)
    ]
    assert sizes[0] / sizes[1] == pytest.approx(10.0, rel=0.01)


class Logistic:
    """Logistic regression; φ weighs its examples and, by exp, its ridge on each coefficient."""

    def __init__(self):
        generator = torch.Generator().manual_seed(2)
        self.X, self.X_new = random(generator, 30, 4), random(generator, 20, 4)
        truth = random(generator, 4)
        self.y = torch.sigmoid(self.X @ truth).bernoulli(generator=generator)
        self.y_new = torch.sigmoid(self.X_new @ truth).bernoulli(generator=generator)
        self.weights = (0.3 * random(generator, 30)).requires_grad_()
        self.ridge = (0.3 * random(generator, 4) - 1.0).requires_grad_()

    def auxiliary(self, w, weights, ridge):
        losses = F.binary_cross_entropy_with_logits(self.X @ w, self.y, reduction="none")
        return (weights.exp() * losses).mean() + 0.5 * (ridge.exp() * w.square()).sum()

    def primary(self, w, weights, ridge):
        loss = F.binary_cross_entropy_with_logits(self.X_new @ w, self.y_new)
        return loss + 0.1 * ridge.square().sum() + 0.01 * (weights.mean() * w).sum()

    def solve(self, weights, ridge):
        """θ*(φ) by Newton's method."""
        weights, ridge = weights.detach(), ridge.detach()
        w = torch.zeros(4, dtype=torch.float64)
        for _ in range(30):
            slope = torch.func.grad(self.auxiliary)(w, weights, ridge)
            w = w - torch.linalg.solve(torch.func.hessian(self.auxiliary)(w, weights, ridge), slope)
            if slope.norm() < 1e-10:
                return w
        raise AssertionError("Newton's method did not converge")

    def hypergradient(self, product="double-backward"):
        outer = [self.weights, self.ridge]
        w = self.solve(*outer).requires_grad_()
        found = hypergradient(
            self.primary(w, *outer),
            lambda: self.auxiliary(w, *outer),
            [w],
            outer,
            solver=CURVED_CG,
            product=product,
        )
        return flat(found.explicit) + flat(found.implicit)


def test_gradient_of_the_outer_objective():
    problem = Logistic()
    point = flat([problem.weights, problem.ridge])

    def outer_objective(phi):
        weights, ridge = phi[:30], phi[30:]
        return float(problem.primary(problem.solve(weights, ridge), weights, ridge))

    step = 1e-5
    units = step * torch.eye(34, dtype=torch.float64)
    differences = torch.tensor(
        [(outer_objective(point + u) - outer_objective(point - u)) / (2 * step) for u in units],
        dtype=torch.float64,
    )
    for product in PRODUCTS:
        found = problem.hypergradient(product)
        assert torch.allclose(found, differences, rtol=0.0, atol=1e-8)


def test_agrees_with_torchopt():
    torchopt = pytest.importorskip("torchopt")
    problem = Logistic()
    root = torchopt.diff.implicit.custom_root(
        torch.func.grad(problem.auxiliary),
        argnums=(1, 2),
        solve=torchopt.linear_solve.solve_normal_cg(rtol=1e-12, maxiter=100),
    )
    solve = root(lambda w, weights, ridge: problem.solve(weights, ridge))
    outer = (problem.weights, problem.ridge)
    loss = problem.primary(solve(torch.zeros(4, dtype=torch.float64), *outer), *outer)
    theirs = flat(torch.autograd.grad(loss, outer))
    assert torch.allclose(problem.hypergradient(), theirs, rtol=1e-7, atol=1e-10)


class Digits:
    """A task-net of 1,920 parameters trained on cross-entropy and an energy; labels are digits."""

    def __init__(self):
        images, digits = load_digits(return_X_y=True)
        pooled = F.avg_pool2d(torch.tensor(images[:60]).reshape(-1, 8, 8), 2).flatten(1)
        self.x = pooled / 16.0
        self.y = F.one_hot(torch.tensor(digits[:60]), 10).double()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            net = LabelMLP(16, 10, hidden=(32, 32), dropout=0.0)
            energy = LabelEnergy(16, 10, hidden=(16,), dropout=0.0, global_hidden=8)
        self.net, self.energy = net.double(), energy.double()
        self.inner, self.outer = list(self.net.parameters()), list(self.energy.parameters())
        optimiser = torch.optim.Adam(self.inner, lr=1e-2)
        for _ in range(200):
            optimiser.zero_grad()
            self.auxiliary().backward()
            optimiser.step()

    def energies(self, *candidates):
        return self.energy(self.energy.encode(self.x), torch.stack(candidates))

    def outputs(self):
        z = self.net(self.x)
        convex = F.binary_cross_entropy_with_logits(z, self.y, reduction="sum") / len(z)
        return z, convex, convex + 0.1 * self.energies(torch.sigmoid(z)).mean()

    def auxiliary(self):
        return self.outputs()[2]

    def primary(self):
        e = self.energies(self.y, torch.sigmoid(self.net(self.x)))
        return F.softplus(e[0] - e[1] + 1.0).mean()

    def matrix(self, curvature):
        """The dense Hessian of L_Aux, or the dense Gauss-Newton matrix of cross-entropy."""
        if curvature == "hessian":
            slope = torch.autograd.grad(self.auxiliary(), self.inner, create_graph=True)
            return self.jacobian(torch.cat([part.reshape(-1) for part in slope]))
        z = self.net(self.x).flatten()
        J, p = self.jacobian(z), torch.sigmoid(z.detach())
        return J.T @ ((p * (1.0 - p) / len(self.x)).unsqueeze(1) * J)

    def jacobian(self, values):
        """The rows ∂values_i/∂θ, many backward passes at a time."""
        units = torch.eye(len(values), dtype=torch.float64)
        rows = [
            torch.autograd.grad(values, self.inner, chunk, retain_graph=True, is_grads_batched=True)
            for chunk in units.split(240)
        ]
        return torch.cat([torch.cat([part.flatten(1) for part in row], 1) for row in rows])

    def exact(self, matrix, damping):
        b = flat(torch.autograd.grad(self.primary(), self.inner))
        v = torch.linalg.solve(matrix + damping * torch.eye(len(b), dtype=torch.float64), b)
        slope = torch.autograd.grad(self.auxiliary(), self.inner, create_graph=True)
        along = torch.cat([part.reshape(-1) for part in slope]) @ v
        return -flat(torch.autograd.grad(along, self.outer, materialize_grads=True))


@pytest.fixture(scope="module")
def digits():
    return Digits()


@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
def test_small_budgets_on_a_net(digits, curvature):
    expected = digits.exact(digits.matrix(curvature), DAMPING)

    def agreement(solver):
        found = hypergradient(
            digits.primary(),
            digits.auxiliary,
            digits.inner,
            digits.outer,
            solver=solver,
            damping=DAMPING,
            curvature=curvature,
            outputs=digits.outputs,
        )
        return cosine(flat(found.implicit), expected)

    without_curvature = agreement(Neumann(terms=1))
    for solver in (Neumann(terms=5), ConjugateGradient(steps=5)):
        assert agreement(solver) > max(0.97, without_curvature)


@pytest.mark.parametrize("solver", [Neumann(), ConjugateGradient()])
def test_indefinite_hessian_is_refused_and_damping_mends_it(solver):
    t = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    p = torch.tensor([1.0, 1.0], dtype=torch.float64, requires_grad=True)

    def find(damping):
        return hypergradient(
            t.sum(),
            lambda: (p * t).sum() - t.square().sum(),
            [t],
            [p],
            solver=solver,
            damping=damping,
        )

    with pytest.raises(SolverError, match="raise damping"):
        find(0.0)
    assert torch.allclose(flat(find(6.0).implicit), torch.full((2,), -0.25, dtype=torch.float64))


def test_parameters_without_a_path_give_zeros():
    one = torch.ones(2, dtype=torch.float64)
    used, linear, unused = (one.clone().requires_grad_() for _ in range(3))
    p, aside = (one.clone().requires_grad_() for _ in range(2))
    inner = [used, linear, unused]
    for product in PRODUCTS:
        found = hypergradient(
            (used + linear + unused).sum(),
            lambda: (used.square() / 2 - used * p + linear).sum(),
            inner,
            [p, aside],
            solver=EXACT_CG,
            damping=1.0,
            product=product,
        )
        assert not flat(found.explicit).any()
        assert torch.allclose(found.implicit[0], one / 2)
        assert not found.implicit[1].any()


@pytest.mark.parametrize("product", PRODUCTS)
def test_auxiliary_without_outer_gives_zeros(product):
    problem = Quadratic(4)
    found = hypergradient(
        problem.primary(),
        lambda: problem.t.square().sum(),
        problem.inner,
        [problem.p],
        solver=EXACT_CG,
        product=product,
    )
    assert not flat(found.implicit).any()


@pytest.mark.parametrize("path", ["none", "zero"])
def test_primary_without_inner_needs_no_product(path):
    problem = Quadratic(3)
    loss = problem.p.square().sum()
    if path == "zero":
        loss = loss + 0.0 * problem.t.sum()

    def never(*_):
        raise AssertionError("called")

    found = hypergradient(loss, never, problem.inner, [problem.p], solver=never)
    assert torch.equal(flat(found.explicit), 2 * problem.p.detach())
    assert not flat(found.implicit).any()
    assert found.residual == 0.0


def test_number_of_passes():
    problem = Quadratic(3)
    calls = []

    def auxiliary():
        calls.append(1)
        return problem.auxiliary()

    def passes(product):
        calls.clear()
        hypergradient(
            problem.primary(),
            auxiliary,
            problem.inner,
            [problem.p],
            solver=Neumann(4, scale=0.5),
            product=product,
        )
        return len(calls)

    assert passes("double-backward") == 1
    assert passes("finite-differences") == 2 * 4 + 2


def test_losses_may_share_a_graph():
    problem = Quadratic(5)
    t = problem.t
    shared = problem.X @ t
    aux = 0.5 * (shared - problem.C @ problem.p).square().sum()
    primary = (shared.square().sum() + problem.p.sum()) / 2
    found = hypergradient(primary, lambda: aux, problem.inner, [problem.p], solver=EXACT_CG)
    expected = problem.B.T @ torch.linalg.solve(problem.A, problem.X.T @ shared.detach())
    assert torch.allclose(flat(found.implicit), expected)
    primary.backward()
    assert problem.inner[0].grad is not None


def test_finite_differences_put_parameters_back(digits):
    before = [parameter.detach().clone() for parameter in digits.inner]
    calls = []

    def fails_at_the_fourth():
        calls.append([parameter.detach().clone() for parameter in digits.inner])
        if len(calls) == 4:
            raise ArithmeticError("the fourth call")
        return digits.auxiliary()

    def find(auxiliary):
        hypergradient(
            digits.primary(),
            auxiliary,
            digits.inner,
            digits.outer,
            solver=Neumann(terms=2),
            damping=5.0,
            product="finite-differences",
        )

    def unchanged():
        return all(torch.equal(a, b) for a, b in zip(before, digits.inner, strict=True))

    find(digits.auxiliary)
    assert unchanged()
    with pytest.raises(ArithmeticError, match="the fourth call"):
        find(fails_at_the_fourth)
    assert not any(torch.equal(a, b) for a, b in zip(before, calls[-1], strict=True))
    assert unchanged()


def test_bad_settings_are_named():
    problem = Quadratic(0)
    for settings, message in (
        ({"damping": -1.0}, "damping must be at least 0, got -1.0"),
        ({"curvature": "gauss-newton"}, "needs outputs, a function"),
        ({"curvature": "hesian"}, "unknown curvature 'hesian': did you mean 'hessian'"),
        ({"product": "double"}, "unknown product 'double'"),
        (
            {
                "curvature": "gauss-newton",
                "outputs": lambda: (problem.X @ problem.t, *problem.outputs()[1:]),
            },
            "must return the very z",
        ),
    ):
        with pytest.raises(SettingError, match=message):
            problem.hypergradient(solver=EXACT_CG, **settings)
