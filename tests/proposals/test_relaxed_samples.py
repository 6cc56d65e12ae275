"""Relaxed samples: exact once rounded, with a path to their net."""

import math

import pytest
import torch
from torch import nn

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.errors import SettingError
from lossnet.nets import LabelMLP
from lossnet.proposals import RelaxedSamples
from lossnet.spaces import Binary, Categorical
from lossnet.testing import check_proposal

B, L = 4, 3


class Classes(nn.Module):
    """Logits of two positions with three classes each."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(5, 6)

    def forward(self, x):
        return 2.0 * self.linear(x).unflatten(-1, (2, 3))


def context_of(space, *, training: bool = False, seed: int = 0, mask=None) -> Context:
    generator = torch.Generator().manual_seed(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        net = LabelMLP(5, L, hidden=(6,)) if isinstance(space, Binary) else Classes()
    x = torch.randn(B, 5, generator=generator, dtype=torch.float64)
    shape = (B, L) if isinstance(space, Binary) else (B, 2, 3)
    target = space.decode(torch.rand(shape, generator=generator)).double()
    return Context(
        {"task": net.double()},
        Batch(x, target, mask),
        space,
        generator=torch.Generator().manual_seed(seed),
        training=frozenset({"task"} if training else ()),
    )


@pytest.mark.parametrize("space", [Binary(), Categorical()], ids=str)
@pytest.mark.parametrize("straight_through", [True, False])
@pytest.mark.parametrize("path_through_log_q", [True, False])
def test_contract(space, straight_through, path_through_log_q) -> None:
    context = context_of(space)
    proposal = RelaxedSamples(6, 0.7, straight_through, path_through_log_q)
    check_proposal(proposal, context.nets, context.batch, space)


@pytest.mark.parametrize("space", [Binary(), Categorical()], ids=str)
@pytest.mark.parametrize("straight_through", [True, False])
def test_rounded_samples_have_the_nets_probabilities(space, straight_through) -> None:
    context = context_of(space)
    n = 20_000
    y = RelaxedSamples(n, 0.5, straight_through)(context).y
    rounded = space.decode(y).double()
    assert torch.equal(rounded, y) == straight_through
    p = space.relax(context.logits()).detach()
    assert p.min() < 0.3 < 0.6 < p.max()
    assert ((rounded.mean(0) - p).abs() <= 5 * (p * (1 - p) / n).sqrt()).all()


@pytest.mark.parametrize("space", [Binary(), Categorical()], ids=str)
def test_a_low_temperature_is_close_to_rounding(space) -> None:
    cold, warm = (RelaxedSamples(200, t, False)(context_of(space)).y for t in (0.01, 2.0))
    assert torch.equal(space.decode(cold), space.decode(warm))  # the same noise, the same samples
    rounded = space.decode(cold).double()
    assert (cold - rounded).abs().mean() < 0.02 < 0.1 < (warm - rounded).abs().mean()


@pytest.mark.parametrize("space", [Binary(), Categorical()], ids=str)
def test_the_gradient_is_the_relaxed_samples(space) -> None:
    """Straight-through candidates are rounded, and answer to the net as relaxed ones do."""
    found = []
    for straight_through in (True, False):
        context = context_of(space, training=True)
        y = RelaxedSamples(5, 0.7, straight_through)(context, keep_graph=True).y
        assert y.requires_grad
        weights = torch.randn(y.shape, generator=torch.Generator().manual_seed(3)).double()
        parameters = list(context.nets["task"].parameters())
        found.append(torch.autograd.grad((weights * y).sum(), parameters))
        if straight_through:
            torch.testing.assert_close(y.detach(), space.decode(y).double())
    for left, right in zip(*found, strict=True):
        assert (left != 0).any()
        torch.testing.assert_close(left, right)


@pytest.mark.parametrize("straight_through", [True, False])
def test_log_q_is_constant_unless_asked(straight_through) -> None:
    for path_through_log_q in (False, True):
        context = context_of(Binary(), training=True)
        proposal = RelaxedSamples(5, 0.7, straight_through, path_through_log_q)
        drawn = proposal(context, keep_graph=True)
        assert drawn.y.requires_grad
        assert drawn.log_q.requires_grad == path_through_log_q
        assert drawn.log_q_target.requires_grad == path_through_log_q
        detached = proposal(context)
        assert not detached.y.requires_grad
        assert not detached.log_q.requires_grad
        assert not detached.log_q_target.requires_grad


@pytest.mark.parametrize("space", [Binary(), Categorical()], ids=str)
@pytest.mark.parametrize("straight_through", [True, False])
@pytest.mark.parametrize("masked", [False, True])
def test_log_q_is_the_spaces_log_probability(space, straight_through, masked) -> None:
    positions = (B, L) if isinstance(space, Binary) else (B, 2)
    mask = torch.ones(positions, dtype=torch.bool)
    mask[1:, -1] = False
    context = context_of(space, mask=mask if masked else None)
    drawn = RelaxedSamples(5, 0.7, straight_through)(context)
    logits, mask = context.logits().detach(), context.batch.mask
    torch.testing.assert_close(drawn.log_q, space.log_prob(logits, drawn.y, mask))
    truth = space.log_prob(logits, context.target.unsqueeze(0), mask)[0]
    torch.testing.assert_close(drawn.log_q_target, truth)
    p = space.relax(logits)
    if isinstance(space, Binary) and straight_through and not masked:
        for k in range(5):
            for b in range(B):
                chosen = [
                    float(p[b, i]) if drawn.y[k, b, i] else 1 - float(p[b, i]) for i in range(L)
                ]
                assert float(drawn.log_q[k, b]) == pytest.approx(math.log(math.prod(chosen)))


def test_no_target_no_log_q_of_it() -> None:
    context = context_of(Binary())
    bare = Context(context.nets, Batch(context.batch.x), Binary())
    drawn = RelaxedSamples(2)(bare)
    assert drawn.log_q is not None
    assert drawn.log_q_target is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"k": 0}, "k must be at least 1, got 0"),
        ({"temperature": 0.0}, "temperature must be above 0, got 0.0"),
        ({"temperature": -1.0}, "temperature must be above 0, got -1.0"),
        ({"temperature": math.nan}, "temperature must be above 0, got nan"),
    ],
)
def test_settings_that_cannot_work(settings, message) -> None:
    with pytest.raises(SettingError, match=message):
        RelaxedSamples(**settings)
