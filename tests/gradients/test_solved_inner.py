"""The complete gradient of paper 002's Eq. 3 where the inner problem is really solved.

Every recipe on nets of a few weights in double precision. Weight decay makes the inner problem
strongly convex near its minimum, and Newton's method solves it again for every change of the
energy: what is differentiated is φ -> L_Prim(θ*(φ), φ) itself. Samples have fixed noise.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from torch import Tensor

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.energies import LabelEnergy
from lossnet.gradients import ConjugateGradient, Direct, Implicit, Neumann
from lossnet.nets import LabelMLP
from lossnet.proposals import Candidates
from lossnet.proposals.proposal import LOG_Q, PATH, FromNet
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.streams import Streams
from lossnet.terms import Term, Weighted

B, D, L = 6, 3, 3
CG = ConjugateGradient(steps=100, tolerance=1e-12)
EXACT = Implicit(solver=CG, damping=0.0, curvature="hessian")
#: Relaxed samples are smooth in the task-net's weights; the rounded ones' gradient is biased.
RELAXED = {"k": 4, "straight_through": False}
RECIPES = {
    "implicit-ssvm": {},
    "implicit-dvn": {"energy_weight": 3.0},
    "implicit-cd": {"energy_weight": 1.0, "sampler": RELAXED},
    "implicit-nce": {"sampler": RELAXED},
}


class AllOutputs(FromNet):
    """Every output there is, with its log-probability, through which alone a path leads to F."""

    net = "task"
    provides = LOG_Q | PATH

    def __call__(self, context: Context, *, keep_graph: bool = False) -> Candidates:
        logits = self.logits(context, keep_graph)
        outputs = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=logits.dtype)] * L)
        y = outputs.unsqueeze(1).expand(-1, len(logits), -1)
        log_prob = context.space.log_prob
        return Candidates(y, log_prob(logits, y), log_prob(logits, context.target.unsqueeze(0))[0])


class WeightDecay(Term):
    """½ |θ|², the same for every example."""

    def __call__(self, context: Context, prediction: Candidates) -> Tensor:
        size = sum(p.square().sum() for p in context.nets["task"].parameters()) / 2
        return size.expand(prediction.y.shape[1])


class Bilevel:
    """A recipe's two losses and nets, and its inner problem's solution."""

    def __init__(self, name: str, rule=EXACT, *, proposal=None, **given) -> None:
        task, energy = build(name, RECIPES[name] | given).phases[0].updates
        terms = (*task.objective.terms, Weighted(0.2, WeightDecay()))
        self.trained_on, self.objective = replace(task.objective, terms=terms), energy.objective
        if proposal is not None:
            self.objective = replace(self.objective, proposal=proposal)
        self.rule = rule.through(self.trained_on)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            self.nets = {
                "task": LabelMLP(D, L, hidden=(), dropout=0.0).double(),
                "energy": LabelEnergy(D, L, hidden=(2,), dropout=0.0, global_hidden=2).double(),
            }
            self.batch = Batch(torch.randn(B, D).double(), (torch.rand(B, L) < 0.4).double())
        self.inner, self.outer = (list(net.parameters()) for net in self.nets.values())

    def context(self) -> Context:
        noise = torch.Generator().manual_seed(5)
        known = {"training": frozenset(self.nets), "streams": Streams(0, self.nets)}
        return Context(self.nets, self.batch, Binary(), generator=noise, **known)

    def auxiliary(self) -> Tensor:
        context = self.context()
        with context.updating(["task"]):
            return self.trained_on(context).mean()

    def solve(self) -> None:
        """θ*(φ) by Newton's method from the present θ, its steps halved until they descend."""
        for _ in range(100):
            loss = self.auxiliary()
            slope = flat(torch.autograd.grad(loss, self.inner, create_graph=True))
            if slope.detach().norm() < 1e-10:
                return
            rows = [torch.autograd.grad(one, self.inner, retain_graph=True) for one in slope]
            values, axes = torch.linalg.eigh(torch.stack([flat(row) for row in rows]))
            step = axes @ ((axes.T @ slope.detach()) / values.abs().clamp_min(1e-3))
            before, size = flat(self.inner).detach(), 1.0
            put(self.inner, before - step)
            while size > 1e-6 and self.auxiliary() > loss:
                size /= 2
                put(self.inner, before - size * step)
        raise AssertionError("Newton's method did not converge")

    def primary(self) -> float:
        """L_Prim at θ*(φ)."""
        self.solve()
        context = self.context()
        with context.updating(["energy"]):
            return float(self.objective(context, keep_graph=True).detach().mean())

    def gradient(self) -> Tensor:
        self.solve()
        return flat(self.rule(self.objective, self.context(), ("energy",), self.outer).values)

    def differences(self, step: float = 1e-5) -> Tensor:
        """dL_Prim/dφ by central differences, the inner problem solved anew for each."""
        self.solve()
        theta, phi = flat(self.inner).detach(), flat(self.outer).detach()
        found = []
        for unit in step * torch.eye(len(phi), dtype=phi.dtype):
            values = []
            for sign in (1, -1):
                put(self.inner, theta)
                put(self.outer, phi + sign * unit)
                values.append(self.primary())
            found.append((values[0] - values[1]) / (2 * step))
        put(self.inner, theta)
        put(self.outer, phi)
        return torch.tensor(found, dtype=phi.dtype)

    def descend(self, steps: int, lr: float) -> list[float]:
        """L_Prim after each step against the rule's gradient, the inner problem solved again."""
        values = [self.primary()]
        for _ in range(steps):
            put(self.outer, flat(self.outer).detach() - lr * self.gradient())
            values.append(self.primary())
        return values


def flat(values) -> Tensor:
    return torch.cat([value.reshape(-1) for value in values])


def put(parameters, vector: Tensor) -> None:
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(vector, parameters)


@pytest.fixture(scope="module", params=RECIPES)
def solved(request) -> tuple[Bilevel, Tensor]:
    """A problem with the complete gradient, and the gradient by differences."""
    problem = Bilevel(request.param, path="all")
    return problem, problem.differences()


@pytest.mark.parametrize("solver", [CG, Neumann(terms=500)], ids=["cg", "neumann"])
def test_complete_gradient_is_that_of_the_solved_problem(solved, solver) -> None:
    problem, expected = solved
    problem.rule = replace(problem.rule, solver=solver)
    torch.testing.assert_close(problem.gradient(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("rule", [EXACT, Direct()], ids=["cost", "direct"])
def test_other_gradients_are_not(name, rule) -> None:
    complete = Bilevel(name, path="all").gradient()
    other = Bilevel(name, rule, path="cost").gradient()
    assert (other - complete).norm() > 0.1 * complete.norm()


def test_log_q_belongs_to_the_complete_gradient_of_nce() -> None:
    """Over all outputs, which do not move, log q is the only path to the task-net."""
    problem = Bilevel("implicit-nce", proposal=AllOutputs(), path="all")
    expected = problem.differences()
    torch.testing.assert_close(problem.gradient(), expected, rtol=1e-5, atol=1e-7)
    problem.rule = Direct()
    assert (problem.gradient() - expected).norm() > 0.01 * expected.norm()
    constant = Bilevel("implicit-nce", path="all", sampler=RELAXED | {"path_through_log_q": False})
    complete = Bilevel("implicit-nce", path="all").gradient()
    assert (constant.gradient() - complete).norm() > 0.1 * complete.norm()


@pytest.mark.parametrize("name", RECIPES)
def test_steps_along_the_complete_gradient_lower_the_primary_loss(name) -> None:
    values = Bilevel(name, path="all").descend(8, lr=0.3)
    assert all(after < before for before, after in pairwise(values))
    assert values[-1] < 0.9 * values[0]


@pytest.mark.parametrize("name", ["implicit-cd", "implicit-nce"])
def test_complete_gradient_descends_where_the_direct_one_has_come_to_rest(name) -> None:
    start = Bilevel(name, Direct())
    start.descend(50, lr=1.0)

    def after(rule, path: str) -> list[float]:
        problem = Bilevel(name, rule, path=path)
        for own, kept in ((problem.inner, start.inner), (problem.outer, start.outer)):
            put(own, flat(kept).detach())
        return problem.descend(6, lr=0.05)

    complete, direct, cost = after(EXACT, "all"), after(Direct(), "all"), after(EXACT, "cost")
    assert all(after < before for before, after in pairwise(complete))
    assert complete[-1] < complete[0] - 0.1
    assert abs(direct[-1] - direct[0]) < 0.001
    assert cost[-1] > cost[0] - 0.01  # with NCE it even rises
