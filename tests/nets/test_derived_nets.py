"""Nets derived from another's pass: a second head, or an affine map of its output."""

import pytest
import torch
from torch import nn

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.costs import l1
from lossnet.energies import LabelEnergy
from lossnet.errors import SettingError
from lossnet.nets import LabelMLP, SharedHead, Stacked
from lossnet.objectives import Judge
from lossnet.proposals import NetOutput
from lossnet.spaces import Binary, Categorical
from lossnet.terms import CrossEntropy, Violation, Weighted

B, D, L = 6, 5, 4


def problem(kind, *, training=("task", "augmented"), dropout: float = 0.0, target: bool = True):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        task = LabelMLP(D, L, hidden=(7, 6), dropout=dropout).double()
        nets = {
            "task": task,
            "augmented": kind.build("task", task, (L,), Binary()).double(),
            "energy": LabelEnergy(D, L, hidden=(5,), global_hidden=3).double(),
        }
        x = torch.randn(B, D, dtype=torch.float64)
        y = (torch.rand(B, L) < 0.5).double()
    batch = Batch(x, y if target else None)
    return Context(nets, batch, Binary(), training=frozenset(training))


def counted_passes(context: Context) -> list[int]:
    """A list that grows by the number of rows with every pass of the task-net's features."""
    passes: list[int] = []
    features = context.nets["task"].features
    features.register_forward_hook(lambda module, inputs, output: passes.append(len(output)))
    return passes


@pytest.mark.parametrize("kind", [SharedHead, Stacked])
@pytest.mark.parametrize("order", [("task", "augmented"), ("augmented", "task")])
@pytest.mark.parametrize("training", [("task", "augmented"), ()])
def test_features_are_computed_once_for_both_heads(kind, order, training) -> None:
    context = problem(kind, training=training)
    passes = counted_passes(context)
    for name in (*order, *order):
        assert context.logits(name).shape == (B, L)
    assert passes == [B]
    context.invalidate(["task"])  # the net below has moved, so both must be computed anew
    for name in order:
        context.logits(name)
    assert passes == [B, B]
    context.invalidate(["augmented"])
    for name in order:
        context.logits(name)
    assert passes == [B, B]


@pytest.mark.parametrize("kind", [SharedHead, Stacked])
def test_a_derived_net_follows_the_net_it_stands_on(kind) -> None:
    context = problem(kind)
    before = context.logits("augmented")
    with torch.no_grad():
        for parameter in context.nets["task"].parameters():
            parameter.mul_(1.5)
    context.invalidate(["task"])
    after = context.logits("augmented")
    assert (after != before).all()
    torch.testing.assert_close(after, context.nets["augmented"].logits(context))


def test_a_shared_head_reads_the_features_of_the_same_dropout_mask() -> None:
    context = problem(SharedHead, dropout=0.5)
    context.nets["augmented"].own_head.load_state_dict(
        {"label_embeddings": context.nets["task"].label_embeddings.detach()}
    )
    torch.testing.assert_close(context.logits("augmented"), context.logits("task"))


def gradients(context: Context, of: str) -> list[torch.Tensor | None]:
    """Of the cost-augmented part alone, in the parameters of a net."""
    terms = (Weighted(1.0, Violation(l1)), Weighted(1.0, CrossEntropy()))
    with context.updating(["task", "augmented"]):
        loss = Judge(terms, NetOutput("augmented"))(context).mean()
    parameters = list(context.nets[of].parameters())
    return list(torch.autograd.grad(loss, parameters, allow_unused=True))


def test_no_gradient_reaches_the_net_below_a_stacked_one() -> None:
    for gradient in gradients(problem(Stacked), "task"):
        assert gradient is None or not gradient.any()
    for gradient in gradients(problem(Stacked), "augmented"):
        assert gradient is not None
        assert gradient.any()


def test_gradients_reach_the_features_below_a_shared_head() -> None:
    context = problem(SharedHead)
    found = dict(
        zip(dict(context.nets["task"].named_parameters()), gradients(context, "task"), strict=True)
    )
    own = found.pop("label_embeddings")
    assert own is None or not own.any()  # the other head is not on the way
    assert len(found) == 4
    for name, gradient in found.items():
        assert gradient is not None, name
        assert gradient.any(), name


@pytest.mark.parametrize("coupled", [False, True])
def test_a_stacked_net_starts_as_a_sharper_one_blind_to_the_truth(coupled) -> None:
    space = Categorical() if coupled else Binary()
    net = Stacked("task", L, coupled=coupled).double()
    logits = torch.randn(50, L, generator=torch.Generator().manual_seed(0)).double()
    output = space.relax(logits)
    target = space.decode(torch.rand(50, L, generator=torch.Generator().manual_seed(1))).double()
    stacked = space.relax(net(output, target)).detach()
    assert torch.equal(net(output, target), net(output, 1 - target))
    assert torch.equal(space.decode(stacked), space.decode(output))
    if coupled:
        assert (stacked.max(-1).values > output.max(-1).values).all()
    else:
        sure = (output - 0.5).abs() > 1e-3
        closer = (stacked - space.decode(output).double()).abs()
        assert (closer <= (output - space.decode(output).double()).abs())[sure].all()
        torch.testing.assert_close(stacked, torch.sigmoid(10 * output - 5))


def test_on_labels_three_numbers_each() -> None:
    for labels in (1, 4, 159):
        net = Stacked.build("task", nn.Linear(2, labels), (labels,), Binary())
        assert sum(p.numel() for p in net.parameters()) == 3 * labels
    net = Stacked.build("task", nn.Linear(2, 4), (4,), Categorical())
    assert sum(p.numel() for p in net.parameters()) == 2 * 4 * 4 + 4


@pytest.mark.parametrize("coupled", [False, True])
def test_the_stacked_map_against_a_loop(coupled) -> None:
    """W [A(x); y*] + b   (paper 003, section 3.1).

    On labels W has two diagonals; on classes the net holds a tenth of W and b.
    """
    generator = torch.Generator().manual_seed(0)
    net = Stacked("task", 3, coupled=coupled).double()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    shape = (2, 5, 3)  # five positions
    output, target = torch.rand(2, *shape, generator=generator).double()
    found = net(output, target).detach()
    diagonal = (lambda w: w) if coupled else torch.diag
    w, v = diagonal(net.on_output.detach()), diagonal(net.on_target.detach())
    for b in range(2):
        for t in range(5):
            for c in range(3):
                expected = float(net.bias[c].detach())
                for d in range(3):
                    expected += float(output[b, t, d] * w[d, c] + target[b, t, d] * v[d, c])
                expected *= 10.0 if coupled else 1.0
                assert float(found[b, t, c]) == pytest.approx(expected, abs=1e-12)


def test_a_stacked_net_reads_the_relaxed_output_and_the_truth() -> None:
    context = problem(Stacked)
    net = context.nets["augmented"]
    with torch.no_grad():
        net.on_target.copy_(torch.tensor([1.0, -2.0, 3.0, 0.5]))
    output = torch.sigmoid(context.logits("task")).detach()
    torch.testing.assert_close(context.logits("augmented"), net(output, context.target))
    with pytest.raises(TypeError, match="this step needs targets"):
        problem(Stacked, target=False).logits("augmented")


def test_a_net_without_features_cannot_be_shared() -> None:
    message = "the net 'task' is a Linear, which has no features to share; derive it from .*Headed"
    with pytest.raises(SettingError, match=message):
        SharedHead.build("task", nn.Linear(3, 2), (2,), Binary())


def test_a_second_head_has_weights_of_its_own() -> None:
    context = problem(SharedHead)
    own, other = context.nets["augmented"].own_head, context.nets["task"]
    assert own.label_embeddings.shape == other.label_embeddings.shape
    assert not torch.equal(own.label_embeddings, other.label_embeddings)
    expected = other.features(context.batch.x) @ own.label_embeddings.T
    torch.testing.assert_close(context.logits("augmented"), expected)
