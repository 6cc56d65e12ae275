"""Entries of the truth that are not known: no loss, cost or contrast learns from them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts import NCE, LeastSquares, Margin, Ranking, Regression
from lossnet.costs import COSTS, f1, hamming
from lossnet.energies import LabelEnergy
from lossnet.errors import SettingError
from lossnet.nets import LabelMLP
from lossnet.objectives import Compare, Compound, Judge, Part
from lossnet.proposals import NetOutput, Perturbed, RelaxedSamples, Samples
from lossnet.proposals.samples import drawn_target
from lossnet.spaces import Binary, Categorical
from lossnet.terms import CrossEntropy, Violation, Weighted
from lossnet.training import Arrays

B, D, L = 30, 3, 4
XENT = Judge((Weighted(1.0, CrossEntropy()),))


def problem(fill: float = 0.0, *, seed: int = 7, **changes) -> Context:
    """Nets, and a batch with a third of the truth unknown, where the target holds ``fill``."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        nets = {
            "task": LabelMLP(D, L, hidden=(5,), dropout=0.0).double(),
            "energy": LabelEnergy(D, L, hidden=(5,), global_hidden=3, dropout=0.0).double(),
        }
        x = 3 * torch.randn(B, D, dtype=torch.float64)
        target, known = (torch.rand(B, L) < 0.5).double(), torch.rand(B, L) < 0.7
        known[0] = False
    batch = replace(Batch(x, torch.where(known, target, fill), known=known), **changes)
    generator = torch.Generator().manual_seed(seed)
    return Context(nets, batch, Binary(), generator=generator, training=frozenset(nets))


def loss_and_gradient(objective, context: Context, net: str):
    with context.updating([net]):
        losses = objective(context)
    parameters = list(context.nets[net].parameters())
    return losses, torch.autograd.grad(context.mean(losses), parameters, allow_unused=True)


def assert_same(left, right) -> None:
    torch.testing.assert_close(left[0], right[0])
    for one, other in zip(left[1], right[1], strict=True):
        assert (one is None) == (other is None)
        assert one is None or torch.equal(one, other) or torch.allclose(one, other, atol=1e-12)


def test_cross_entropy_is_that_of_the_known_entries() -> None:
    context = problem()
    losses, gradient = loss_and_gradient(XENT, context, "task")
    by_hand = []
    logits = context.nets["task"](context.batch.x)
    for b in range(B):
        kept = [i for i in range(L) if context.batch.known[b, i]]
        own = F.binary_cross_entropy_with_logits(
            logits[b, kept], context.batch.target[b, kept], reduction="sum"
        )
        by_hand.append(own)
    expected = torch.stack(by_hand)
    wanted = torch.autograd.grad(expected.mean(), list(context.nets["task"].parameters()))
    assert losses[0] == 0
    assert_same((losses, gradient), (expected, wanted))


def test_nan_in_the_targets_of_a_source_is_such_a_mask() -> None:
    context = problem()
    Y = context.batch.target.where(context.batch.known, torch.nan)
    batch = Arrays(context.batch.x.numpy(), Y.numpy()).double().batch(slice(None))
    assert torch.equal(batch.known, context.batch.known)
    assert torch.equal(batch.target, context.batch.target)
    complete = Arrays(context.batch.x.numpy(), context.batch.target.numpy())
    assert complete.batch(slice(None)).known is None


def test_padding_and_unknown_classes_are_both_left_out() -> None:
    torch.manual_seed(0)
    logits = torch.randn(2, 3, 4, dtype=torch.float64)
    classes = torch.randint(4, (2, 3))
    mask = torch.tensor([[True, True, True], [True, True, False]])
    known = torch.tensor([[True, False, True], [True, False, False]])
    target = F.one_hot(classes, 4).double()
    batch = Batch(None, target, mask, known=known)
    context = Context({}, batch, Categorical(), given={"task": logits})
    found = XENT(context)
    each = F.cross_entropy(logits.transpose(1, 2), classes, reduction="none")
    torch.testing.assert_close(found, torch.stack([each[0, 0] + each[0, 2], each[1, 0]]))
    filled = context.target
    assert torch.equal(filled[known], target[known])
    torch.testing.assert_close(filled[~known], logits.softmax(-1)[~known])


CONTRASTS = [
    Compare(Margin(1.0), NetOutput(), f1),
    Compare(Margin(1.0), Perturbed(4), hamming),
    Compare(Regression(), Perturbed(4), f1),
    Compare(LeastSquares(), NetOutput(), f1),
    Compare(NCE(), Samples(5)),
    Compare(NCE(scale=1.0), RelaxedSamples(5), hamming),
    Compare(Ranking(), Samples(5)),
    Compound(
        (Part("a", 1.0, Compare(NCE(), Samples(5))), Part("b", 1.0, Compare(Ranking(), Samples(3))))
    ),
]


@pytest.mark.parametrize("objective", [*CONTRASTS, XENT])
def test_what_stands_in_the_target_does_not_matter(objective) -> None:
    net = "task" if objective is XENT else "energy"
    left, right = (loss_and_gradient(objective, problem(fill), net) for fill in (0.0, 1.0))
    assert_same(left, right)


@pytest.mark.parametrize("cost", ["hamming", "f1", "iou", "l1"])
def test_costs_count_the_known_entries(cost) -> None:
    context = problem()
    y = torch.rand(2, B, L, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = context.cost(COSTS[cost], y)
    for b in range(1, B):
        kept = context.batch.known[b]
        if kept.any():
            own = COSTS[cost](y[:, b : b + 1, kept], context.batch.target[b : b + 1, kept])
            torch.testing.assert_close(found[:, b : b + 1], own)
    assert (found[:, 0] == 0).all()


@pytest.mark.parametrize("contrast", [NCE(), Ranking()])
def test_a_sampled_contrast_is_that_with_the_truth_it_drew(contrast) -> None:
    """NCE with unknown entries is NCE with the completion fixed to what was drawn."""
    objective = Compare(contrast, Samples(5))
    drawn = Samples(5)(problem())
    complete = problem(target=drawn.truth, known=None)
    assert_same(
        loss_and_gradient(objective, problem(), "energy"),
        loss_and_gradient(objective, complete, "energy"),
    )


def test_the_truth_is_a_draw_of_the_task_net_where_it_is_unknown() -> None:
    context = problem()
    known, draws = context.batch.known, 4000
    sums = torch.zeros(B, L, dtype=torch.float64)
    for _ in range(draws):
        truth = drawn_target(context, context.logits())
        assert set(truth.unique().tolist()) <= {0.0, 1.0}
        sums += truth
    p = torch.sigmoid(context.logits().detach())
    assert torch.equal(sums[known] / draws, context.batch.target[known])
    off = (sums / draws - p)[~known].abs()
    assert (off < 5 * (p * (1 - p) / draws).sqrt()[~known] + 1e-9).all()


@pytest.mark.parametrize("proposal", [NetOutput(), Perturbed(4)])
def test_relaxed_candidates_agree_with_the_truth_where_it_is_unknown(proposal) -> None:
    """A margin by hand: the unknown entries are the task-net's output in truth and candidates."""
    context = problem()
    drawn = proposal(problem())
    found, _ = loss_and_gradient(Compare(Margin(2.0), proposal, f1), context, "energy")
    energy = context.nets["energy"].eval()
    h, known = energy.encode(context.batch.x), context.batch.known
    output = torch.sigmoid(context.logits()).detach()
    truth = torch.where(known, context.batch.target, output)
    y = torch.where(known, drawn.y, output)
    cost = f1(drawn.y, context.batch.target, known)
    violation = 2.0 * cost - energy(h, y) + energy(h, truth.unsqueeze(0))
    torch.testing.assert_close(found, violation.amax(0).clamp_min(0.0))
    torch.testing.assert_close(context.target, truth)


def test_the_violation_counts_known_entries() -> None:
    context = problem()
    drawn = NetOutput()(context)
    found = Violation(hamming, 1.0)(context, drawn)
    cost = hamming(drawn.y, context.batch.target, context.batch.known)[0]
    torch.testing.assert_close(found, context.energy(drawn.y)[0] - cost)


def test_without_a_task_net_nothing_fills_them_in() -> None:
    context = problem()
    del context.nets["task"]
    with pytest.raises(SettingError, match="no net 'task' to fill them in"):
        assert context.target is None
