"""The chain as a task-net, against enumeration of all tag sequences."""

import itertools

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.energies import ChainEnergy
from lossnet.nets import ChainTagger, JointNet, Tagger
from lossnet.objectives import Judge, Likelihood
from lossnet.proposals import NetOutput
from lossnet.spaces import Categorical
from lossnet.terms import CrossEntropy, Weighted


class Given(nn.Module):
    """Features that are the inputs."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.out_features = width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


def problem(lengths, tags, seed, scale=1.0):
    """A chain, a batch of that many tokens each, and which tags are known; float64."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        net = ChainTagger(Given(4), tags).double()
        nn.init.normal_(net.pairwise, std=scale)
        x = scale * torch.randn(len(lengths), max(lengths), 4, dtype=torch.float64)
        numbers = torch.randint(tags, x.shape[:2])
        known = torch.rand(x.shape[:2]) < 0.6
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    target = F.one_hot(numbers, tags).double() * mask.unsqueeze(-1)
    return net, Batch(x, target, mask), known


def every_path(net, x):
    """All tag sequences ``(N, T)`` of one sentence, and their log-probabilities, by loops."""
    scores, pairs = net(x.unsqueeze(0))[0], net.pairwise
    paths = Categorical().enumerate((len(x), len(pairs))).long().argmax(-1)
    totals = []
    for path in paths.tolist():
        total = sum(scores[t, tag] for t, tag in enumerate(path))
        totals.append(total + sum(pairs[a, b] for a, b in itertools.pairwise(path)))
    return paths, torch.stack(totals).log_softmax(0)


def context_of(net, batch, *, known=None, training=("task",)):
    batch = Batch(batch.x, batch.target, batch.mask, known=known)
    return Context({"task": net}, batch, Categorical(), training=frozenset(training))


def cross_entropy(context):
    return Judge((Weighted(1.0, CrossEntropy()),))(context)


sizes = {
    "lengths": st.lists(st.integers(1, 4), min_size=1, max_size=3),
    "tags": st.integers(2, 3),
    "seed": st.integers(0, 999),
}


@settings(max_examples=30, deadline=None)
@given(**sizes)
def test_output_and_likelihood_equal_enumeration(lengths, tags, seed) -> None:
    net, batch, known = problem(lengths, tags, seed)
    context = context_of(net, batch)
    y, losses = NetOutput()(context).y[0], cross_entropy(context)
    partial = cross_entropy(context_of(net, batch, known=known))
    for b, n in enumerate(lengths):
        paths, log_p = every_path(net, batch.x[b, :n])
        marginals = (F.one_hot(paths, tags) * log_p.exp().view(-1, 1, 1)).sum(0)
        torch.testing.assert_close(y[b, :n], marginals, atol=2e-6, rtol=0)
        same = paths == batch.target[b, :n].argmax(-1)
        torch.testing.assert_close(losses[b], -log_p[same.all(1)].squeeze(0))
        agrees = (same | ~known[b, :n]).all(1)
        torch.testing.assert_close(partial[b], -log_p[agrees].logsumexp(0))


@pytest.mark.parametrize("partly", [False, True])
def test_gradient_equals_that_of_enumeration(partly) -> None:
    net, batch, known = problem([3, 2, 1], 3, seed=4)
    known = known if partly else torch.ones_like(known)
    cross_entropy(context_of(net, batch, known=known if partly else None)).sum().backward()
    found = [p.grad.clone() for p in net.parameters()]
    net.zero_grad()
    for b, n in enumerate([3, 2, 1]):
        paths, log_p = every_path(net, batch.x[b, :n])
        same = paths == batch.target[b, :n].argmax(-1)
        (-log_p[(same | ~known[b, :n]).all(1)].logsumexp(0)).backward()
    torch.testing.assert_close(found, [p.grad for p in net.parameters()])


def test_marginals_are_differentiable() -> None:
    net, batch, _ = problem([3, 2], 2, seed=1)
    scores = net(batch.x).detach().requires_grad_()

    def of(scores, pairwise):
        with torch.no_grad():
            net.pairwise.copy_(pairwise)
        return torch.func.functional_call(
            _Marginals(net), {"net.pairwise": pairwise}, (scores, batch.mask)
        )

    assert torch.autograd.gradcheck(of, (scores, net.pairwise.detach().clone().requires_grad_()))


class _Marginals(nn.Module):
    def __init__(self, net: ChainTagger) -> None:
        super().__init__()
        self.net = net

    def forward(self, scores, mask):
        return self.net.marginal_logits(scores, mask)


def test_padding_changes_nothing() -> None:
    net, batch, known = problem([3, 1, 2], 3, seed=2)
    dirty = batch.x.masked_fill(~batch.mask.unsqueeze(-1), 50.0)
    for mine in (None, known):
        clean = cross_entropy(context_of(net, batch, known=mine))
        padded = context_of(net, Batch(dirty, batch.target, batch.mask), known=mine)
        torch.testing.assert_close(cross_entropy(padded), clean)
        alone = Batch(batch.x[1:2, :1], batch.target[1:2, :1], batch.mask[1:2, :1])
        own = None if mine is None else mine[1:2, :1]
        torch.testing.assert_close(cross_entropy(context_of(net, alone, known=own)), clean[1:2])


def test_without_pairs_it_is_a_plain_tagger() -> None:
    net, batch, known = problem([3, 1, 2], 3, seed=3)
    nn.init.zeros_(net.pairwise)
    plain = Tagger(net.features, 3).double()
    plain.load_state_dict({k: v for k, v in net.state_dict().items() if k != "pairwise"})
    for mine in (None, known):
        pair = [cross_entropy(context_of(one, batch, known=mine)) for one in (net, plain)]
        torch.testing.assert_close(*pair)
    chain, independent = (NetOutput()(context_of(one, batch)).y for one in (net, plain))
    kept = batch.mask.unsqueeze(-1)
    torch.testing.assert_close(chain * kept, independent * kept, atol=2e-6, rtol=0)


def test_cross_entropy_is_the_likelihood_of_crf() -> None:
    net, batch, _ = problem([3, 1, 2], 3, seed=5)
    energy = ChainEnergy(Given(4), 3).double()
    with torch.no_grad():
        energy.pairwise.copy_(-net.pairwise)
        energy.unary.weight.copy_(-net.output.weight)
        energy.unary.bias.copy_(-net.output.bias)
    context = Context({"energy": energy}, batch, Categorical(), training=frozenset({"energy"}))
    torch.testing.assert_close(Likelihood()(context), cross_entropy(context_of(net, batch)))


def test_what_is_a_joint_net() -> None:
    net, batch, _ = problem([2], 2, seed=0)
    assert isinstance(net, JointNet)
    assert not isinstance(Tagger(Given(4), 2), JointNet)
    logits = torch.zeros(1, 2, 2, dtype=torch.float64)
    given = Context({}, batch, Categorical(), given={"task": logits})
    assert given.logits() is logits
    assert NetOutput()(given).nll is None
