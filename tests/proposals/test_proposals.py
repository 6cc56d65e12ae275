"""Proposals: what they give, and which gradients flow."""

import itertools
import math

import pytest
import torch
from torch import nn

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts import Regression
from lossnet.costs import f1
from lossnet.energies import Energy, LabelEnergy
from lossnet.errors import SettingError
from lossnet.nets import LabelMLP
from lossnet.proposals import (
    GBI,
    Candidates,
    Combined,
    Either,
    Exact,
    NetOutput,
    Perturbed,
    Random,
    Samples,
    Target,
    Zeros,
)
from lossnet.spaces import Binary, Categorical
from lossnet.spaces.sparse import dense
from lossnet.testing import check_proposal

B, L = 4, 3


def make_nets() -> dict[str, nn.Module]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return {
            "task": LabelMLP(5, L, hidden=(6,)).double(),
            "energy": LabelEnergy(5, L, hidden=(6,), global_hidden=4).double(),
        }


def make_batch(target: bool = True) -> Batch:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(B, 5, generator=generator, dtype=torch.float64)
    y = (torch.rand(B, L, generator=generator) < 0.4).double()
    return Batch(x, y if target else None)


def make_context(training=(), seed: int = 0, batch: Batch | None = None) -> Context:
    return Context(
        make_nets(),
        batch or make_batch(),
        Binary(),
        generator=torch.Generator().manual_seed(seed),
        training=frozenset(training),
    )


PROPOSALS = [
    NetOutput(),
    Samples(6),
    Samples(6, temperature=3.0),
    Perturbed(4, 0.5),
    Target(),
    Exact(),
    Zeros(),
    Random(3),
    Combined((NetOutput(), Samples(2), Target())),
    Combined((NetOutput(), Perturbed(2))),
    Either((NetOutput(), Target())),
    Either((Samples(2), Random(2))),
    GBI(3, 0.1),
    GBI(3, 0.1, start=NetOutput(), step="entropic", adam=False),
    GBI(3, 0.1, start=Samples(4), step="normalised"),
    GBI(3, 0.1, start=Random(2), cost=f1),
    GBI(3, 0.1, start=Random(2), cost=f1, contrast=Regression()),
]


@pytest.mark.parametrize("proposal", PROPOSALS, ids=lambda p: str(p)[:60])
def test_contract(proposal) -> None:
    check_proposal(proposal, make_nets(), make_batch(), Binary())


def test_net_output_is_the_relaxed_logits() -> None:
    context = make_context()
    drawn = NetOutput()(context)
    logits = context.nets["task"](context.batch.x)
    assert torch.equal(drawn.logits[0], logits)
    assert torch.equal(drawn.y[0], torch.sigmoid(logits))


def test_net_output_of_another_net() -> None:
    context = make_context()
    context.nets["noise"] = LabelMLP(5, L, hidden=()).double()
    proposal = NetOutput("noise")
    assert proposal.nets == {"noise"}
    assert torch.equal(proposal(context).logits[0], context.nets["noise"](context.batch.x))


def test_samples_come_with_their_log_probability() -> None:
    context = make_context()
    drawn = Samples(8)(context)
    y = dense(drawn.y, torch.float64)
    p = torch.sigmoid(context.logits()).detach()
    for k, b in itertools.product(range(8), range(B)):
        expected = sum(
            math.log(float(p[b, i]) if y[k, b, i] else 1 - float(p[b, i])) for i in range(L)
        )
        assert float(drawn.log_q[k, b]) == pytest.approx(expected, abs=1e-12)
    for b, truth in enumerate(context.target):
        expected = sum(
            math.log(float(p[b, i]) if truth[i] else 1 - float(p[b, i])) for i in range(L)
        )
        assert float(drawn.log_q_target[b]) == pytest.approx(expected, abs=1e-12)


def test_samples_follow_the_net() -> None:
    context = make_context()
    drawn = dense(Samples(20_000)(context).y, torch.float64)
    p = torch.sigmoid(context.logits()).detach()
    assert ((drawn.mean(0) - p).abs() <= 5 * (p * (1 - p) / 20_000).sqrt()).all()


def test_tempered_samples_have_the_tempered_log_probability() -> None:
    context = make_context()
    drawn = Samples(20_000, temperature=2.5)(context)
    logits = context.logits().detach() / 2.5
    p = torch.sigmoid(logits)
    y = dense(drawn.y, torch.float64)
    assert ((y.mean(0) - p).abs() <= 5 * (p * (1 - p) / 20_000).sqrt()).all()
    torch.testing.assert_close(drawn.log_q, Binary().log_prob(logits, drawn.y))
    target = context.target.unsqueeze(0)
    torch.testing.assert_close(drawn.log_q_target, Binary().log_prob(logits, target)[0])


def test_samples_and_the_task_loss_share_one_dropout_mask() -> None:
    """log q comes from the pass the samples were drawn from, in train mode too."""
    nets = {"task": LabelMLP(5, L, hidden=(64, 64), dropout=0.5).double()}
    context = Context(nets, make_batch(), Binary(), training=frozenset({"task"}))
    drawn = Samples(3)(context)
    logits = context.logits()
    torch.testing.assert_close(drawn.log_q, Binary().log_prob(logits, drawn.y).detach())
    assert not torch.equal(logits, nets["task"](context.batch.x))


def test_perturbed_keeps_the_clean_output_first() -> None:
    context = make_context()
    drawn = Perturbed(2_000, std=0.7)(context)
    clean = context.logits()
    assert torch.equal(drawn.logits[0], clean)
    assert torch.equal(drawn.y, torch.sigmoid(drawn.logits))
    noise = drawn.logits[1:] - clean
    n = noise.numel()
    assert abs(noise.mean().item()) < 5 * 0.7 / math.sqrt(n)
    assert abs(noise.std().item() - 0.7) < 5 * 0.7 / math.sqrt(2 * n)
    still = Perturbed(3, std=0.0)(context).logits
    assert torch.equal(still, clean.expand(3, -1, -1))


def test_target_and_exact() -> None:
    context = make_context()
    assert torch.equal(Target()(context).y[0], context.target)
    drawn = Exact()(context)
    assert drawn.y.shape == (8, B, L)
    for b in range(B):
        assert len(drawn.y[:, b].unique(dim=0)) == 8
    torch.testing.assert_close(
        drawn.log_q.exp().sum(0), torch.ones(B, dtype=torch.float64), rtol=1e-12, atol=0
    )
    assert torch.equal(drawn.log_q_target, drawn.log_q[0])


def test_zeros_and_random_without_targets() -> None:
    context = make_context(batch=make_batch(target=False))
    assert torch.equal(Zeros()(context).y, torch.zeros(1, B, L, dtype=torch.float64))
    y = Random(4)(context).y
    assert y.shape == (4, B, L)
    assert y.dtype == torch.float64
    assert len(y.unique()) == y.numel()


class TagScores(Energy):
    """A linear energy of tags: x itself is the energy of each, ``(B, T, C)``."""

    def encode(self, x, mask=None):
        return x

    def forward(self, h, y, mask=None):
        return (y * h).sum((-1, -2))

    def output_like(self, h):
        return h


def test_zeros_of_tags_are_an_output() -> None:
    """The all-zero point is no distribution over tags; the nearest one is uniform."""
    x = torch.rand(2, 3, 4)
    context = Context({"energy": TagScores()}, Batch(x), Categorical())
    torch.testing.assert_close(Zeros()(context).y, torch.full((1, 2, 3, 4), 0.25))


@pytest.mark.parametrize("proposal", [Zeros(energy="critic"), Random(2, energy="critic")])
def test_starts_of_an_energy_of_another_name(proposal) -> None:
    nets = {"critic": make_nets()["energy"]}
    context = Context(nets, make_batch(target=False), Binary())
    assert proposal.nets == {"critic"}
    assert proposal(context).y.shape[1:] == (B, L)
    assert GBI(2, start=proposal, energy="critic")(context).y.shape[1:] == (B, L)


def test_gbi_from_discrete_samples_takes_the_energy_of_its_name() -> None:
    nets = make_nets()
    nets["critic"] = nets.pop("energy")
    context = Context(nets, make_batch(), Binary())
    drawn = GBI(1, start=Samples(3), energy="critic")(context)
    assert drawn.y.dtype == torch.float64


def test_several_joins_in_order() -> None:
    context = make_context()
    drawn = Combined((NetOutput(), Target(), Exact()))(context)
    assert torch.equal(drawn.y[0], NetOutput()(context).y[0])
    assert torch.equal(drawn.y[1], context.target)
    assert torch.equal(drawn.y[2:], Exact()(context).y.double())
    assert drawn.log_q is None


def test_several_keeps_the_precision_where_there_is_no_target() -> None:
    context = make_context(batch=make_batch(target=False))
    drawn = Combined((NetOutput(), Samples(2)))(context)
    assert drawn.y.dtype == torch.float64
    assert torch.equal(drawn.y[0], NetOutput()(context).y[0])


def test_either_takes_one_proposal_for_each_example() -> None:
    """And about as often the one as the other."""
    context = make_context()
    net, truth = NetOutput()(context).y[0], context.target
    from_net, draws = 0, 60
    for _ in range(draws):
        (y,) = Either((NetOutput(), Target()))(context).y
        for row in range(len(truth)):
            assert torch.equal(y[row], net[row]) or torch.equal(y[row], truth[row])
            from_net += torch.equal(y[row], net[row])
    assert 0.35 < from_net / (draws * len(truth)) < 0.65


def test_what_several_says_of_itself() -> None:
    mixed = Combined((NetOutput(), Samples(2), Target()))
    assert mixed.provides == frozenset()
    assert mixed.nets == {"task"}
    assert mixed.needs == {"target"}
    assert Combined((Samples(2), Samples(3))).provides == frozenset()  # no log q of a mixture
    paths = Combined((NetOutput(), Perturbed(2)))
    assert paths.provides == {"path"}
    assert not paths.needs


class Faulty:
    """The net's output with one promise broken."""

    needs = frozenset()

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.provides = frozenset({"log_q"} if fault == "log_q" else {"path"})
        self.nets = frozenset() if fault == "nets" else frozenset({"task"})

    def __call__(self, context, *, keep_graph=False):
        drawn = NetOutput()(context, keep_graph=keep_graph)
        y, log_q = drawn.y, None
        if self.fault == "outside":
            y = y + 1
        if self.fault == "global generator":
            y = y * torch.rand(())
        if self.fault == "shape":
            y = y[0]
        if self.fault == "no path":
            y = y.detach()
        if self.fault == "target":
            y = y * (1 - 0 * context.target)
        if self.fault == "unsaid":
            log_q = y.sum(-1)
        return Candidates(y, log_q=log_q)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("outside", "no output of the space"),
        ("global generator", "global generator was used"),
        ("shape", "candidates are"),
        ("no path", "provides a path and keeps none"),
        ("target", "needs targets"),
        ("nets", "task"),
        ("log_q", "provides log_q and gives none"),
        ("unsaid", "does not say so in provides"),
    ],
)
def test_contract_finds_faults(fault, message) -> None:
    check_proposal(Faulty(), make_nets(), make_batch(), Binary())
    with pytest.raises((AssertionError, TypeError, KeyError), match=message):
        check_proposal(Faulty(fault), make_nets(), make_batch(), Binary())


# Gradients ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("proposal", [NetOutput(), Perturbed(3)], ids=str)
def test_a_kept_path_has_the_nets_gradient(proposal) -> None:
    context = make_context(training=["task"])
    y = proposal(context, keep_graph=True).y
    parameters = list(context.nets["task"].parameters())
    found = torch.autograd.grad(y[0].sum(), parameters, retain_graph=True)
    direct = torch.sigmoid(context.nets["task"](context.batch.x)).sum()
    for left, right in zip(found, torch.autograd.grad(direct, parameters), strict=True):
        torch.testing.assert_close(left, right)
    assert not proposal(context).y.requires_grad
    assert not proposal(context).logits.requires_grad


@pytest.mark.parametrize("proposal", [NetOutput(), Perturbed(3)], ids=str)
def test_no_path_to_a_frozen_net(proposal) -> None:
    context = make_context(training=["energy"])
    assert not proposal(context, keep_graph=True).y.requires_grad


def test_samples_never_have_a_path() -> None:
    drawn = Samples(3)(make_context(training=["task"]), keep_graph=True)
    assert not drawn.y.requires_grad
    assert not drawn.log_q.requires_grad
    assert not drawn.log_q_target.requires_grad


# Settings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Samples(3, temperature=0.0), "temperature must be above 0, got 0.0"),
        (lambda: Samples(0), "k must be at least 1, got 0"),
        (lambda: Perturbed(0), "k must be at least 1, got 0"),
        (lambda: Perturbed(3, std=-1.0), "std must be at least 0, got -1.0"),
        (lambda: Perturbed(3, std=math.nan), "std must be at least 0, got nan"),
        (lambda: Random(0), "k must be at least 1, got 0"),
        (lambda: Combined(()), "needs at least one proposal, got none"),
    ],
)
def test_settings_that_cannot_work(build, message) -> None:
    with pytest.raises(SettingError, match=message):
        build()
