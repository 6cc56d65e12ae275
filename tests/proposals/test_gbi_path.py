"""Every point on the way of a descent is what a shorter descent gives."""

import itertools

import pytest
import torch
from torch import nn

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.costs import f1
from lossnet.energies import Energy
from lossnet.nets import LabelMLP
from lossnet.proposals import GBI, NetOutput, Random
from lossnet.spaces import Binary

B, D, L, STEPS = 5, 4, 6, 8


class Bowl(Energy):
    """Σ_i c_i (y_i - σ(w_i x))²: a minimum inside, flat one way and steep another."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.randn(D, L))
        self.curvature = nn.Parameter(torch.linspace(0.3, 3.0, L))

    def encode(self, x, mask=None):
        return torch.sigmoid(x @ self.weights)

    def forward(self, h, y, mask=None):
        return (self.curvature * (y - h).square()).sum(-1)

    def output_like(self, h):
        return h


def make_context() -> Context:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        nets = {"task": LabelMLP(D, L, hidden=(5,)).double(), "energy": Bowl().double()}
        x = torch.randn(B, D, dtype=torch.float64)
        target = (torch.rand(B, L) < 0.5).double()
    generator = torch.Generator().manual_seed(0)
    return Context(nets, Batch(x, target), Binary(), generator=generator)


KINDS = [
    *itertools.product(("best", "last"), ("projected", "entropic", "normalised"), (True, False))
]


@pytest.mark.parametrize(("keep", "step", "adam"), KINDS)
@pytest.mark.parametrize("start", [NetOutput(), Random(3)], ids=str)
def test_every_entry_is_a_shorter_descent(keep, step, adam, start) -> None:
    def descent(steps: int) -> GBI:
        return GBI(steps, 0.5, step=step, adam=adam, start=start, keep=keep)

    path = descent(STEPS).path(make_context())
    k = 1 if start == NetOutput() else 3
    assert path.shape == (STEPS + 1, k, B, L)
    assert not path.requires_grad
    for t in range(STEPS + 1):
        assert torch.equal(path[t], descent(t)(make_context()).y), t
    assert not torch.equal(path[0], path[STEPS])
    if keep == "last":
        assert all(not torch.equal(path[t], path[t + 1]) for t in range(STEPS))


def test_the_best_so_far_only_gets_better() -> None:
    """With steps so long that the last iterate does get worse."""
    energies = {}
    for keep in ("best", "last"):
        context = make_context()
        path = GBI(STEPS, 2.0, start=NetOutput(), step="normalised", adam=False, keep=keep).path(
            context
        )
        energies[keep] = torch.stack([context.energy(at)[0] for at in path]).detach()
    assert (energies["best"].diff(dim=0) <= 0).all()
    assert (energies["last"].diff(dim=0) > 0).any()
    torch.testing.assert_close(energies["best"], energies["last"].cummin(0).values)


def test_a_path_encodes_once_where_gradients_are_off_and_takes_a_cost() -> None:
    context = make_context()
    calls = []
    encode = context.nets["energy"].encode
    context.nets["energy"].encode = lambda *given: calls.append(1) or encode(*given)
    gbi = GBI(3, 0.2, start=NetOutput(), cost=f1)
    with torch.no_grad():
        path = gbi.path(context)
    assert len(calls) == 1
    assert torch.equal(path[-1], gbi(make_context()).y)
    assert not torch.equal(path[-1], GBI(3, 0.2, start=NetOutput())(make_context()).y)


def test_no_steps_is_the_start() -> None:
    context = make_context()
    path = GBI(0, start=NetOutput()).path(context)
    assert torch.equal(path, NetOutput()(context).y.unsqueeze(0))
