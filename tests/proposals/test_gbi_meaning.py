"""Descents on what an energy means, against closed forms, finite differences and enumeration."""

import pytest
import torch
from torch import nn

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts import Regression
from lossnet.costs import f1
from lossnet.energies import Energy, LabelEnergy
from lossnet.nets import LabelMLP
from lossnet.proposals import GBI, NetOutput, Random, Samples, Target, Zeros
from lossnet.spaces import Binary, Categorical
from lossnet.training.predict import best_output

B, L = 5, 6


class Quadratic(Energy):
    """E(x, y) = x·y - ½ y·A y over all entries of an output."""

    def __init__(self, A: torch.Tensor) -> None:
        super().__init__()
        self.A = nn.Parameter(A)

    def encode(self, x, mask=None):
        return x

    def forward(self, h, y, mask=None):
        y, h = y.flatten(2), h.flatten(1)
        return (y * h).sum(-1) - 0.5 * torch.einsum("kbi,ij,kbj->kb", y, self.A, y)

    def output_like(self, h):
        return h


class Given(nn.Module):
    """A task-net with these logits."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, x):
        return self.logits


def problem(seed: int, curvature: float = 0.0, shape=(L,), space=None, target=None) -> Context:
    """A random energy and a random task-net; curved energies have their minima at corners."""
    generator = torch.Generator().manual_seed(seed)
    x, logits = torch.randn(2, B, *shape, generator=generator, dtype=torch.float64)
    size = x[0].numel()
    raw = torch.randn(size, size, generator=generator, dtype=torch.float64)
    nets = {"energy": Quadratic(curvature * raw @ raw.T / size), "task": Given(2 * logits)}
    return Context(nets, Batch(x, target), space or Binary(), generator=generator)


def joint(context: Context, y: torch.Tensor) -> torch.Tensor:
    """E - log q, each factor of q by itself."""
    p = context.space.relax(context.logits().detach()).expand_as(y)
    on = (y * p.log()).flatten(2).sum(-1)
    off = ((1 - y) * (1 - p).log()).flatten(2).sum(-1)
    return context.energy(y) - on - (0.0 if context.space.coupled else off)


def lowest(context: Context, judged) -> torch.Tensor:
    """The enumerated output of each example that is judged lowest."""
    shape = tuple(context.batch.x.shape)
    states = context.space.enumerate(shape[1:]).double().unsqueeze(1)
    states = states.expand(-1, *shape)
    return states[judged(states).argmin(0), torch.arange(B)]


# The value ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["zeros", "truth"])
def test_plain_steps_on_the_value_are_those_of_the_formula(start) -> None:
    """y <- clip(y - lr σ(v) (1 - σ(v)) dE/dy), v = -E, one step after the other."""
    truth = (torch.rand(B, L, generator=torch.Generator().manual_seed(1)) < 0.4).double()
    context = problem(0, curvature=1.0, target=truth)
    first = Zeros() if start == "zeros" else Target()
    gbi = GBI(20, 0.5, adam=False, start=first, keep="last", on="value")
    A, x = context.nets["energy"].A.detach(), context.batch.x
    y = torch.zeros(B, L, dtype=torch.float64) if start == "zeros" else truth.clone()
    for _ in range(20):
        e = (x * y).sum(-1) - 0.5 * torch.einsum("bi,ij,bj->b", y, A, y)
        slope = torch.sigmoid(-e) * torch.sigmoid(e)
        y = (y - 0.5 * slope.unsqueeze(-1) * (x - y @ A)).clamp(0, 1)
    torch.testing.assert_close(gbi(context).y[0], y)


@pytest.mark.parametrize("on", ["energy", "value", "joint"])
def test_the_descended_objective_has_the_slope_of_finite_differences(on) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        nets = {
            "energy": LabelEnergy(4, L, hidden=(3,), global_hidden=5).double(),
            "task": LabelMLP(4, L, hidden=()).double(),
        }
        x = torch.randn(B, 4, dtype=torch.float64)
        y = torch.rand(2, B, L, dtype=torch.float64, requires_grad=True)
    context = Context(nets, Batch(x), Binary())
    gbi = GBI(on=on)
    assert torch.autograd.gradcheck(lambda y: gbi.judge(context, y), y)
    e = context.energy(y).detach()
    expected = {"energy": e, "value": -torch.sigmoid(-e), "joint": joint(context, y.detach())}
    torch.testing.assert_close(gbi.judge(context, y).detach(), expected[on])


def test_the_value_has_the_lowest_output_of_the_energy() -> None:
    """The sigmoid changes the path, not the order: the best iterate of a long descent is the same.

    The adversarial output stays that of the contrast, whatever inference descends on.
    """
    context = problem(2, target=torch.ones(B, L, dtype=torch.float64))
    best = lowest(context, context.energy)
    found = GBI(1000, 2.0, adam=False, on="value")(context).y[0]
    torch.testing.assert_close(found, best, rtol=0, atol=1e-9)
    worst = [GBI(9, cost=f1, contrast=Regression(), on=on)(context).y for on in ("value", "energy")]
    assert torch.equal(*worst)


# The joint ---------------------------------------------------------------------------------------

SPACES = {"labels": (Binary(), (L,)), "tags": (Categorical(), (2, 3))}


@pytest.mark.parametrize(("space", "shape"), SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("start", [Zeros(), NetOutput()], ids=["zeros", "net"])
@pytest.mark.parametrize("adam", [True, False])
def test_reaches_the_enumerated_minimum_of_the_joint(space, shape, start, adam) -> None:
    context = problem(3, shape=shape, space=space)
    best = lowest(context, lambda y: joint(context, y))
    assert not torch.equal(best, lowest(context, context.energy))
    gbi = GBI(600, 0.05 if adam else 0.5, adam=adam, start=start, on="joint")
    assert gbi.nets == {"energy", "task"}
    torch.testing.assert_close(gbi(context).y[0], best, rtol=0, atol=1e-9)


@pytest.mark.parametrize("start", [Random(60), Samples(60)], ids=str)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_of_many_descents_the_lowest_joint_is_predicted(start, seed) -> None:
    """A concave energy: many local minima, the lowest of which is the most probable output."""
    context = problem(seed, curvature=4.0)
    best = lowest(context, lambda y: joint(context, y))
    gbi = GBI(100, 0.1, adam=False, start=start, on="joint")
    found = best_output(gbi, context.nets)(context)
    torch.testing.assert_close(found, best, rtol=0, atol=1e-9)
    by_energy = GBI(100, 0.1, adam=False, start=start)
    other = best_output(by_energy, context.nets)(context)
    assert (joint(context, other[None]) > joint(context, best[None]) + 0.1).any()


def test_masked_positions_are_not_counted() -> None:
    mask = torch.ones(B, L, dtype=torch.bool)
    mask[:, 4:] = False
    context = problem(4)
    context.batch = Batch(context.batch.x, None, mask)
    y = torch.full((1, B, L), 0.3, dtype=torch.float64)
    other = torch.where(mask, y, 1.0)
    gbi = GBI(on="joint")
    e = context.energy(y), context.energy(other)
    judged = gbi.judge(context, y), gbi.judge(context, other)
    torch.testing.assert_close(judged[0] - e[0], judged[1] - e[1])
