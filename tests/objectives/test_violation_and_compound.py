"""What inference networks minimise, and sums of objectives."""

import pytest
import torch

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts import Margin, Perceptron
from lossnet.costs import f1, l1
from lossnet.energies import LabelEnergy
from lossnet.errors import SettingError
from lossnet.nets import LabelMLP
from lossnet.objectives import Compare, Compound, Judge, Part
from lossnet.proposals import NetOutput
from lossnet.spaces import Binary
from lossnet.terms import CrossEntropy, EnergyTerm, Violation, Weighted

B, D, L = 40, 3, 4


def problem() -> Context:
    """Energies on both sides of the margin."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        nets = {
            "task": LabelMLP(D, L, hidden=(5,)).double(),
            "energy": LabelEnergy(D, L, hidden=(5,), global_hidden=3).double(),
        }
        x = 3 * torch.randn(B, D, dtype=torch.float64)
        target = (torch.rand(B, L) < 0.5).double()
    return Context(nets, Batch(x, target), Binary(), training=frozenset(nets))


def parts(context: Context):
    """The prediction, its energy, the truth's energy and the L1 cost, each by its definition."""
    drawn = NetOutput()(context, keep_graph=True)
    net = context.nets["energy"].eval()
    h = net.encode(context.batch.x)
    e = net(h, drawn.y)[0].detach()
    e_target = net(h, context.target.unsqueeze(0))[0].detach()
    return drawn, e, e_target, (drawn.y[0] - context.target).abs().sum(-1).detach()


@pytest.mark.parametrize("margin", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("cost", [None, l1])
@pytest.mark.parametrize("truncate", [False, True])
def test_the_violation_is_its_formula(cost, margin, truncate) -> None:
    """E - margin Δ, or -[margin Δ - E + E*]_+   (paper 003, Eq. 3 and section 4.1)."""
    context = problem()
    drawn, e, e_target, delta = parts(context)
    found = Violation(cost, margin, truncate)(context, drawn)
    assert found.shape == (B,)
    for b in range(B):
        augmented = (margin * float(delta[b]) if cost else 0.0) - float(e[b])
        expected = -max(0.0, augmented + float(e_target[b])) if truncate else -augmented
        assert float(found[b].detach()) == pytest.approx(expected, abs=1e-10)


def test_truncation_stops_where_the_margin_holds() -> None:
    context = problem()
    drawn, e, e_target, delta = parts(context)
    holds = delta - e + e_target < 0
    assert 5 < holds.sum() < B - 5
    gradient = {}
    for truncate in (True, False):
        y = drawn.y.detach().requires_grad_()
        loss = Violation(l1, truncate=truncate)(context, type(drawn)(y)).sum()
        gradient[truncate] = torch.autograd.grad(loss, y)[0][0]
    assert not gradient[True][holds].any()
    assert gradient[False][holds].any(-1).all()
    assert torch.equal(gradient[True][~holds], gradient[False][~holds])


def test_the_history_holds_the_cost_augmented_loss() -> None:
    context = problem()
    drawn, e, _, delta = parts(context)
    Violation(l1, 2.0, truncate=True)(context, drawn)
    total, count = context.reports["cost-augmented loss"]
    assert count == 1
    assert float(total) == pytest.approx(float((2 * delta - e).mean()), abs=1e-10)
    plain = problem()
    Violation()(plain, NetOutput()(plain, keep_graph=True))
    assert plain.reports == {}


def test_what_a_violation_says_of_itself() -> None:
    assert Violation(l1).cost_augmented
    assert Violation(l1).needs == {"target"}
    assert not Violation(l1, margin=0.0).cost_augmented
    assert not Violation(l1, margin=0.0).needs
    assert Violation(truncate=True).needs == {"target"}
    assert not Violation(truncate=True).cost_augmented
    assert not Violation().needs
    assert Violation(energy="critic").nets == {"critic"}
    with pytest.raises(SettingError, match=r"margin must be at least 0, got -1\.0"):
        Violation(l1, -1.0)


HINGE = Compare(Margin(), NetOutput(), f1)
PERCEPTRON = Compare(Perceptron(), NetOutput())
FOLLOW = Judge((Weighted(1.0, EnergyTerm()), Weighted(2.0, CrossEntropy())))


def test_a_compound_is_the_weighted_sum_of_its_parts() -> None:
    context = problem()
    compound = Compound(
        (Part("a", 1.0, HINGE), Part("b", 0.25, PERCEPTRON), Part("c", 3.0, FOLLOW))
    )
    loss = compound(context).detach()
    a, b, c = (objective(problem()).detach() for objective in (HINGE, PERCEPTRON, FOLLOW))
    torch.testing.assert_close(loss, a + 0.25 * b + 3 * c)
    assert loss.shape == (B,)
    for name, value in zip("abc", (a, b, c), strict=True):  # each before its weight
        assert float(context.reports[name][0]) == pytest.approx(float(value.mean()), abs=1e-12)
    assert compound.nets == {"task", "energy"}
    assert "target" in compound.needs
    assert compound.proposals == (NetOutput(), NetOutput(), NetOutput())


def test_notes_are_sums_over_the_steps() -> None:
    context = problem()
    for values in (torch.tensor([1.0, 3.0]), torch.tensor([5.0, 7.0])):
        context.report("loss", values.requires_grad_())
    total, count = context.reports["loss"]
    assert (float(total), count) == (8.0, 2)
    assert not total.requires_grad


def test_a_part_of_weight_0_is_not_computed() -> None:
    """A stand-in that fails where it is run, and asks for a net that is not there."""
    context = problem()
    broken = Judge((Weighted(1.0, EnergyTerm(energy="critic")),), NetOutput("absent"))
    compound = Compound((Part("a", 1.0, FOLLOW), Part("never", 0.0, broken)))
    torch.testing.assert_close(compound(context), FOLLOW(problem()))
    assert set(context.reports) == {"a"}
    assert compound.nets == {"task", "energy"}
    compound.check(keep_graph=False, trains=("task",))
    with pytest.raises(KeyError):
        Compound((Part("now", 1.0, broken),))(context)


def test_compounds_that_cannot_work() -> None:
    with pytest.raises(SettingError, match="every part has weight 0, so there is nothing"):
        Compound((Part("a", 0.0, FOLLOW),))
    with pytest.raises(SettingError, match="every part has weight 0"):
        Compound(())
    with pytest.raises(SettingError, match=r"the weight of 'a' must be at least 0, got -1\.0"):
        Part("a", -1.0, FOLLOW)
    both = Compound((Part("a", 1.0, FOLLOW), Part("b", 1.0, HINGE)))
    with pytest.raises(SettingError, match="an update of 'task' compares energies of 'energy'"):
        both.check(keep_graph=False, trains=("task",))
