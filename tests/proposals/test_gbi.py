"""Gradient-based inference against solvers, enumeration and finite differences."""

import itertools

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from torch import nn

from lossnet import costs
from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts import Compared, Margin, Regression
from lossnet.energies import Energy, LabelEnergy
from lossnet.errors import SettingError
from lossnet.gradients import Unrolled
from lossnet.nets import LabelMLP
from lossnet.objectives import Judge
from lossnet.proposals import (
    GBI,
    Candidates,
    Combined,
    Exact,
    NetOutput,
    Random,
    Samples,
    Target,
    Zeros,
)
from lossnet.spaces import Binary, Categorical
from lossnet.terms import CrossEntropy, Weighted

B, L = 5, 6


class Quadratic(Energy):
    """E(x, y) = ½ y·A y + x·y, with x the linear term; it counts and records its passes."""

    def __init__(self, A: torch.Tensor) -> None:
        super().__init__()
        self.A = nn.Parameter(A)
        self.encodings = 0
        self.judged: list[torch.Tensor] = []

    def encode(self, x, mask=None):
        self.encodings += 1
        return x * self.A.new_ones(())

    def forward(self, h, y, mask=None):
        e = (y * h).sum(-1) + 0.5 * torch.einsum("kbi,ij,kbj->kb", y, self.A, y)
        self.judged.append(e.detach())
        return e

    def output_like(self, h):
        return h


def convex(seed: int, spread: float = 2.0) -> tuple[Quadratic, torch.Tensor]:
    """A random strongly convex energy with eigenvalues in [1, 1 + spread], and linear terms."""
    generator = torch.Generator().manual_seed(seed)
    raw = torch.randn(L, L, generator=generator, dtype=torch.float64)
    basis = torch.linalg.qr(raw).Q
    eigenvalues = 1 + spread * torch.rand(L, generator=generator, dtype=torch.float64)
    x = 1.5 * torch.randn(B, L, generator=generator, dtype=torch.float64)
    return Quadratic(basis @ torch.diag(eigenvalues) @ basis.T), x


def linear(seed: int) -> tuple[Quadratic, torch.Tensor]:
    _, x = convex(seed)
    return Quadratic(torch.zeros(L, L, dtype=torch.float64)), x


def context_of(energy: Energy, x: torch.Tensor, target=None, space=None, seed=0) -> Context:
    return Context(
        {"energy": energy},
        Batch(x, target),
        space or Binary(),
        generator=torch.Generator().manual_seed(seed),
    )


def random_target(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (torch.rand(B, L, generator=generator) < 0.4).double()


def box_minimum(energy: Quadratic, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The minimiser over the box and its energy, by L-BFGS-B."""
    A = energy.A.detach().numpy()
    points, values = [], []
    for b in x.numpy():
        found = minimize(
            lambda y, b=b: (0.5 * y @ A @ y + b @ y, A @ y + b),
            np.full(L, 0.5),
            jac=True,
            bounds=[(0, 1)] * L,
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-12},
        )
        points.append(found.x)
        values.append(found.fun)
    return torch.tensor(np.array(points)), torch.tensor(values, dtype=torch.float64)


class Exactly:
    """A given start: a proposal as a user may write one."""

    provides = frozenset()
    nets = frozenset()
    needs = frozenset()

    def __init__(self, y: torch.Tensor) -> None:
        self.y = y

    def __call__(self, context, *, keep_graph=False):
        return Candidates(self.y.unsqueeze(0))


# Each kind of step with settings that let it converge, and how near it then comes. A normalised
# step has always the same length, so it may end about that length away from the minimum.
CONVEX = {
    "projected": (GBI(200, 0.3, adam=False), 1e-7),
    "projected, Adam": (GBI(1000, 0.01), 1e-4),
    "projected, Adam, random starts": (GBI(1000, 0.01, start=Random(3)), 1e-4),
    "entropic": (GBI(1500, 1.0, step="entropic", adam=False, start=Random(1)), 5e-3),
    "entropic, Adam": (GBI(1500, 0.05, step="entropic", start=Random(1)), 5e-3),
    "normalised": (GBI(2000, 0.01, step="normalised", adam=False), 2e-2),
}


@pytest.mark.parametrize(("gbi", "tolerance"), CONVEX.values(), ids=CONVEX)
def test_reaches_the_box_minimum_of_convex_energies(gbi, tolerance) -> None:
    energy, x = convex(seed=0)
    point, value = box_minimum(energy, x)
    inside = (point > 0.01) & (point < 0.99)
    assert inside.any()
    assert not inside.all()  # some coordinates are held by the box
    context = context_of(energy, x)
    y = gbi(context).y
    torch.testing.assert_close(y, point.expand_as(y), rtol=0, atol=tolerance)
    e = energy(x, y)
    assert (e >= value - 1e-9).all()
    assert (e - value).max() < 4 * tolerance


def enumerated_minimum(objective, outputs: torch.Tensor) -> torch.Tensor:
    """Of outputs (N, B, *S) the one with the lowest objective, for each example."""
    return outputs[objective(outputs).argmin(0), torch.arange(outputs.shape[1])]


LINEAR = {
    "projected": (GBI(100, 0.5, adam=False), 1e-12),
    "projected, Adam": (GBI(100, 0.05), 1e-12),
    "entropic": (GBI(400, 2.0, step="entropic", adam=False, start=Random(1)), 1e-3),
    "entropic, Adam": (GBI(400, 0.1, step="entropic", start=Random(1)), 1e-3),
    "normalised": (GBI(400, 0.5, step="normalised", adam=False), 1e-12),
}


@pytest.mark.parametrize(("gbi", "tolerance"), LINEAR.values(), ids=LINEAR)
@pytest.mark.parametrize("seed", [0, 1])
def test_reaches_the_enumerated_minimum_of_linear_energies(gbi, tolerance, seed) -> None:
    energy, x = linear(seed)
    states = Binary().enumerate((L,)).double().unsqueeze(1).expand(-1, B, L)
    best = enumerated_minimum(lambda y: energy(x, y), states)
    y = gbi(context_of(energy, x)).y[0]
    assert torch.equal(Binary().decode(y).double(), best)
    assert (energy(x, y[None]) - energy(x, best[None])).max() < tolerance * L * 4


class TagScores(Energy):
    """A linear energy of tags: x itself is the energy of each, ``(B, T, C)``."""

    def encode(self, x, mask=None):
        return x

    def forward(self, h, y, mask=None):
        return (y * h).sum((-1, -2))

    def output_like(self, h):
        return h


@pytest.mark.parametrize(("gbi", "tolerance"), LINEAR.values(), ids=LINEAR)
def test_reaches_the_enumerated_minimum_over_tags(gbi, tolerance) -> None:
    """All energies are positive, so the all-zero point, no output, would beat every output."""
    x = 1 + torch.rand(B, 2, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    energy, space = TagScores(), Categorical()
    states = space.enumerate((2, 3)).double().unsqueeze(1).expand(-1, B, 2, 3)
    best = enumerated_minimum(lambda y: energy(x, y), states)
    y = gbi(context_of(energy, x, space=space)).y[0]
    assert torch.equal(space.decode(y).double(), best)
    torch.testing.assert_close(y.sum(-1), torch.ones(B, 2, dtype=torch.float64))
    assert (energy(x, y[None]) - energy(x, best[None])).max() < tolerance * 2 + 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cost_augmented_finds_the_most_violating_output(seed) -> None:
    """Hamming cost is linear in y where the target is 0/1: E - cost has its minimum at a corner.

    Started from inside the box: where y equals the target, |y - target| has no slope to follow.
    """
    energy, x = linear(seed)
    x = x * 0.2  # of the cost's size, so that it changes the answer
    target = random_target(seed)
    states = Binary().enumerate((L,)).double().unsqueeze(1).expand(-1, B, L)
    worst = enumerated_minimum(lambda y: energy(x, y) - costs.hamming(y, target), states)
    lowest = enumerated_minimum(lambda y: energy(x, y), states)
    assert not torch.equal(worst, lowest)
    gbi = GBI(300, 1.0, adam=False, start=Random(1), cost=costs.hamming)
    found = gbi(context_of(energy, x, target)).y[0]
    torch.testing.assert_close(found, worst, rtol=0, atol=1e-9)
    violation = Margin()(
        Compared(
            energy(x, found[None]), energy(x, target[None])[0], costs.hamming(found[None], target)
        )
    )
    exact = Margin()(
        Compared(energy(x, states), energy(x, target[None])[0], costs.hamming(states, target))
    )
    torch.testing.assert_close(violation, exact)


def test_adversarial_raises_the_contrast_loss() -> None:
    energy, x = convex(seed=3)
    target = random_target(3)
    start = Random(4)
    gbi = GBI(30, 0.05, start=start, cost=costs.f1, contrast=Regression())

    def loss(y: torch.Tensor) -> torch.Tensor:
        return torch.stack(
            [
                Regression()(Compared(energy(x, one[None]), cost=costs.f1(one[None], target)))
                for one in y
            ]
        )

    before = loss(start(context_of(energy, x, target)).y)
    after = loss(gbi(context_of(energy, x, target)).y)
    assert (after >= before).all()
    assert (after > before + 0.1).any()


STEPS = ["projected", "entropic", "normalised"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("adam", [True, False])
def test_the_best_iterate_is_kept(step, adam) -> None:
    """Steps far too long, so that the last iterate is not the best."""
    energy, x = convex(seed=1, spread=20.0)
    gbi = GBI(15, 0.7, step=step, adam=adam, start=Random(3))
    y = gbi(context_of(energy, x)).y
    iterates = torch.stack(energy.judged)
    assert len(iterates) == 16  # the start, and one after each step
    lowest = iterates.min(0).values
    torch.testing.assert_close(energy(x, y), lowest, rtol=0, atol=1e-12)
    last = GBI(15, 0.7, step=step, adam=adam, start=Random(3), keep="last")
    torch.testing.assert_close(energy(x, last(context_of(energy, x)).y), iterates[-1])
    assert (iterates[-1] > lowest).any()


def test_a_start_at_the_minimum_is_returned() -> None:
    energy, x = convex(seed=2)
    point, _ = box_minimum(energy, x)
    context = context_of(energy, x, target=point)
    y = GBI(5, 0.5, start=Target())(context).y
    torch.testing.assert_close(y[0], point, rtol=0, atol=1e-9)


@pytest.mark.parametrize("step", STEPS)
def test_no_step_returns_the_start(step) -> None:
    energy, x = convex(seed=0)
    gbi = GBI(0, step=step, start=Random(3))
    start = Random(3)(context_of(energy, x)).y
    torch.testing.assert_close(gbi(context_of(energy, x)).y, start, rtol=0, atol=1e-12)
    if step != "entropic":
        assert torch.equal(gbi(context_of(energy, x)).y, start)


@pytest.mark.parametrize("step", STEPS)
def test_starts_do_not_touch_each_other(step) -> None:
    energy, x = convex(seed=4)
    target = random_target(4)
    together = GBI(10, 0.1, step=step, start=Combined((Zeros(), Target(), Exact())))
    y = together(context_of(energy, x, target)).y
    for index, start in enumerate((Zeros(), Target())):
        alone = GBI(10, 0.1, step=step, start=start)(context_of(energy, x, target)).y
        torch.testing.assert_close(y[index : index + 1], alone)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("adam", [True, False])
def test_examples_do_not_touch_each_other(step, adam) -> None:
    energy, x = convex(seed=4)
    gbi = GBI(10, 0.1, step=step, adam=adam)
    y = gbi(context_of(energy, x)).y
    for b in range(B):
        alone = gbi(context_of(energy, x[b : b + 1])).y
        torch.testing.assert_close(y[:, b : b + 1], alone)


def test_adam_takes_torchs_steps() -> None:
    energy, x = convex(seed=5)
    y = torch.full((B, L), 0.5, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([y], lr=0.001)
    for _ in range(7):
        (y.grad,) = torch.autograd.grad(energy(x, y[None]).sum(), y)
        optimiser.step()
    middle = torch.full((B, L), 0.5, dtype=torch.float64)
    gbi = GBI(7, 0.001, start=Target(), keep="last")
    torch.testing.assert_close(gbi(context_of(energy, x, middle)).y[0], y.detach())


# What it costs and what it leaves alone ----------------------------------------------------------


@pytest.mark.parametrize("focus", [(), ("energy",)])
def test_inputs_are_encoded_once_and_weights_left_alone(focus) -> None:
    energy, x = convex(seed=0)
    context = context_of(energy, x, random_target(0))
    weights = energy.A.detach().clone()
    gbi = GBI(7, 0.1, start=Zeros())
    with context.updating(focus):
        y = gbi(context).y
        GBI(7, 0.1, cost=costs.f1, contrast=Regression())(context)
    assert energy.encodings == 1
    assert energy.A.grad is None
    assert torch.equal(energy.A, weights)
    assert not y.requires_grad


def test_works_where_gradients_are_off() -> None:
    energy, x = convex(seed=0)
    gbi = GBI(20, 0.1)
    on = gbi(context_of(energy, x)).y
    with torch.no_grad():
        off = gbi(context_of(energy, x)).y
        assert not torch.is_grad_enabled()
    assert torch.equal(on, off)
    assert (off != 0).any()


def test_padding_is_neither_moved_nor_counted() -> None:
    energy = LabelEnergy(5, L, hidden=(4,), global_hidden=3).double()
    x = torch.randn(B, 5, dtype=torch.float64)
    mask = torch.ones(B, L, dtype=torch.bool)
    mask[:, 4:] = False
    start = torch.full((B, L), 0.5, dtype=torch.float64)
    gbi = GBI(5, 0.1, start=Exactly(start), cost=costs.f1, step="normalised")
    found = []
    for junk in (0.0, 1.0):
        target = torch.where(mask, random_target(1), junk)
        context = Context({"energy": energy}, Batch(x, target, mask), Binary())
        found.append(gbi(context).y[0])
    assert torch.equal(*found)
    assert torch.equal(found[0][:, 4:], start[:, 4:])
    assert (found[0][:, :4] != 0.5).all()


# Unrolled ----------------------------------------------------------------------------------------


def unrolled_problem() -> Context:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        nets = {
            "task": LabelMLP(2, 3, hidden=()).double(),
            "energy": LabelEnergy(2, 3, hidden=(2,), global_hidden=2).double(),
        }
        x = torch.randn(4, 2, dtype=torch.float64)
    target = torch.tensor([[1, 0, 0], [0, 1, 1], [0, 0, 0], [1, 1, 0]]).double()
    return Context(nets, Batch(x, target), Binary(), training=frozenset(nets))


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("step", STEPS)
def test_unrolled_gradient_equals_finite_differences(step, steps) -> None:
    """Of the final output's cross-entropy, in every weight of the energy and of the start's net."""
    inference = GBI(steps, 0.05, step=step, adam=False, start=NetOutput(), keep="last")
    objective = Judge((Weighted(1.0, CrossEntropy()),), inference)
    context = unrolled_problem()
    parameters = [p for net in context.nets.values() for p in net.parameters()]

    def loss() -> torch.Tensor:
        context.invalidate(["energy", "task"])
        with context.updating(["energy", "task"]):
            return objective(context, keep_graph=True).mean()

    found = Unrolled()(objective, context, ("energy", "task"), parameters)
    gradients = found.values
    assert found.loss.item() == pytest.approx(loss().item(), abs=1e-15)
    h = 1e-6
    for parameter, gradient in zip(parameters, gradients, strict=True):
        assert gradient is not None
        assert (gradient != 0).any()
        for index in itertools.product(*(range(n) for n in parameter.shape)):
            with torch.no_grad():
                parameter[index] += h
                up = loss().item()
                parameter[index] -= 2 * h
                down = loss().item()
                parameter[index] += h
            assert gradient[index].item() == pytest.approx((up - down) / (2 * h), abs=1e-7)


def test_unrolled_and_plain_descent_end_at_the_same_output() -> None:
    for step in STEPS:
        gbi = GBI(4, 0.05, step=step, adam=False, start=NetOutput(), keep="last")
        context = unrolled_problem()
        kept = gbi(context, keep_graph=True)
        torch.testing.assert_close(kept.y.detach(), gbi(context).y)
        assert kept.y.requires_grad
        assert not gbi(context).y.requires_grad


# Settings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": -1}, "steps must be at least 0, got -1"),
        ({"lr": 0.0}, "lr must be above 0, got 0.0"),
        ({"lr": float("nan")}, "lr must be above 0, got nan"),
        ({"step": "projcted"}, "did you mean 'projected'"),
        ({"keep": "bst"}, "did you mean 'best'"),
        ({"contrast": Regression()}, "needs a cost, got cost=None"),
        ({"contrast": Margin(), "cost": costs.f1}, "by itself, got Margin"),
    ],
)
def test_settings_that_cannot_work(settings, message) -> None:
    with pytest.raises(SettingError, match=message):
        GBI(**settings)


def test_adam_is_not_unrolled() -> None:
    assert "path" not in GBI(adam=True).provides
    with pytest.raises(SettingError, match="only with adam=False"):
        GBI(2, start=NetOutput())(unrolled_problem(), keep_graph=True)


def test_what_it_says_of_itself() -> None:
    assert GBI(start=NetOutput()).nets == {"task", "energy"}
    assert GBI(start=Samples(2, "noise"), energy="critic").nets == {"noise", "critic"}
    assert not GBI().needs
    assert GBI(cost=costs.f1).needs == {"target"}
    assert GBI(start=Target()).needs == {"target"}
