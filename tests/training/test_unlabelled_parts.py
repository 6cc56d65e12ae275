"""Parts of an objective on unlabelled rows: one loss, one step, one loop."""

from dataclasses import replace

import pytest
import torch
from small_runs import data, make_nets, make_trainer, rows, same, weights

from lossnet.context import Context
from lossnet.contrasts import Margin, Regression
from lossnet.costs import ByReward, f1
from lossnet.errors import SettingError
from lossnet.gradients import ConjugateGradient, Implicit
from lossnet.method import Method, Phase, Update
from lossnet.nets import Derivation, Stacked
from lossnet.objectives import Compare, Compound, Judge, Part
from lossnet.proposals import NetOutput, Perturbed
from lossnet.spaces import Binary
from lossnet.terms import CostTerm, CrossEntropy, EnergyTerm, Weighted
from lossnet.training import Arrays, save_checkpoint
from lossnet.training.checkpoint import resume

REGRESSION = Compare(Regression(), Perturbed(3), f1)
REWARDED = Compare(Regression(), Perturbed(3), ByReward())
TASK = Judge((Weighted(0.5, EnergyTerm(Regression())), Weighted(1.0, CrossEntropy())))
FOLLOW = Judge((Weighted(2.0, EnergyTerm(Regression())),))


class Judged(Arrays):
    """Rows without labels, whose reward is the share of labels that are off."""

    def batch(self, rows):
        return replace(super().batch(rows), reward=lambda y: 1.0 - y.mean(-1))


def unlabelled(n: int) -> Judged:
    return Judged(rows(n, seed=5)[0])


def compound(own, beside, weight: float = 0.7) -> Compound:
    return Compound((Part("own", 1.0, own), Part("beside", weight, beside, rows="unlabelled")))


def semi(weight: float = 0.7, **gradient) -> Method:
    updates = (
        Update("energy", compound(REGRESSION, REWARDED, weight), **gradient),
        Update("task", compound(TASK, FOLLOW, weight)),
    )
    return Method("semi", (Phase(updates),))


def test_the_loss_is_labelled_plus_weighted_unlabelled() -> None:
    method = semi()
    nets = {name: net.eval() for name, net in make_nets(method).items()}
    own, spare = data(20).batch(slice(0, 20)), unlabelled(12).batch(slice(0, 12))

    def context(batch, **more) -> Context:
        generator = torch.Generator().manual_seed(3)
        return Context(nets, batch, Binary(), generator=generator, **more)

    both = context(own, unlabelled=spare)
    loss = compound(REGRESSION, REWARDED)(both).mean()
    generator = torch.Generator().manual_seed(3)
    apart = [Context(nets, batch, Binary(), generator=generator) for batch in (own, spare)]
    expected = [REGRESSION(apart[0]).mean(), REWARDED(apart[1]).mean()]
    torch.testing.assert_close(loss, expected[0] + 0.7 * expected[1])
    torch.testing.assert_close(both.reports["beside"][0], expected[1].detach())
    loss = compound(TASK, FOLLOW)(context(own, unlabelled=spare)).mean()
    torch.testing.assert_close(
        loss, TASK(context(own)).mean() + 0.7 * FOLLOW(context(spare)).mean()
    )


def test_the_reward_is_what_the_energy_regresses_to() -> None:
    nets = make_nets(semi())
    batch = unlabelled(12).batch(slice(0, 12))
    context = Context(nets, batch, Binary(), generator=torch.Generator().manual_seed(3))
    drawn = Perturbed(3)(Context(nets, batch, Binary(), generator=context.generator.clone_state()))
    quality = 1.0 - drawn.y.mean(-1)
    value = torch.sigmoid(-context.energy(drawn.y))
    by_hand = -(quality * value.log() + (1 - quality) * (1 - value).log()).sum(0)
    torch.testing.assert_close(REWARDED(context), by_hand)
    prediction = NetOutput()(context)
    cost = CostTerm(ByReward())(context, prediction)
    torch.testing.assert_close(cost, prediction.y[0].mean(-1))


@pytest.mark.parametrize(("labelled", "spare"), [(50, 90), (50, 10)])
def test_an_epoch_is_a_round_of_the_longer_rows(labelled, spare) -> None:
    seen: dict[str, list[int]] = {"own": [], "spare": []}

    class Recorded(Judged):
        def __init__(self, name, *arrays) -> None:
            super().__init__(*arrays)
            self.name = name

        def batch(self, rows):
            if not isinstance(rows, slice):  # that one is only measured
                seen[self.name] += rows.tolist()
            return super().batch(rows)

    own = Recorded("own", *rows(labelled))
    trainer = make_trainer(
        semi(), data=own, unlabelled=Recorded("spare", rows(spare)[0]), max_epochs=1
    )
    trainer.run()
    batches = max(-(-labelled // 20), -(-spare // 20))
    assert set(seen["own"]) == set(range(labelled))
    assert set(seen["spare"]) == set(range(spare))
    longer = "own" if labelled > spare else "spare"
    assert len(seen[longer]) == max(labelled, spare)
    row = trainer.history[-1]
    assert {"own", "beside", "loss/task", "loss/energy"} <= row.keys()
    assert batches == 5 if spare == 90 else batches == 3


def test_weight_0_is_the_supervised_method_weight_for_weight() -> None:
    plain = Method("plain", (Phase((Update("energy", REGRESSION), Update("task", TASK))),))
    left = make_trainer(plain)
    right = make_trainer(semi(weight=0.0), unlabelled=unlabelled(90))
    left.run()
    right.run()
    for name in left.nets:
        assert same(left.nets[name].state_dict(), right.nets[name].state_dict())


def test_unlabelled_rows_reach_both_nets() -> None:
    found = [make_trainer(semi(), unlabelled=unlabelled(n)) for n in (40, 41)]
    for trainer in found:
        trainer.run()
    for name in ("task", "energy"):
        assert not same(found[0].nets[name].state_dict(), found[1].nets[name].state_dict())


IMPLICIT = {"gradient": Implicit(compound(TASK, FOLLOW))}


@pytest.mark.parametrize("method", [semi(), semi(**IMPLICIT)], ids=["direct", "implicit"])
def test_resuming_goes_on_to_the_same_weights(method, tmp_path) -> None:
    whole = make_trainer(method, unlabelled=unlabelled(70), max_epochs=4)
    whole.run()
    half = make_trainer(method, unlabelled=unlabelled(70), max_epochs=2)
    half.run()
    save_checkpoint(tmp_path / "c", half, {})
    other = make_trainer(method, unlabelled=unlabelled(70), max_epochs=4, seed=0)
    resume(tmp_path / "c", other, {})
    other.run()
    for name, found in weights(other).items():
        assert same(found, weights(whole)[name])
    assert len(other.history) == 4


@pytest.mark.parametrize("curvature", ["gauss-newton", "hessian"])
def test_the_implicit_gradient_counts_both_batches(curvature) -> None:
    """Against the dense formula, with A the curvature of the whole inner loss."""
    nets = {name: net.double().eval() for name, net in make_nets(semi(), dropout=0.0).items()}

    def double(batch):
        target = None if batch.target is None else batch.target.double()
        return replace(batch, x=batch.x.double(), target=target)

    own, spare = double(data(8).batch(slice(0, 8))), double(unlabelled(5).batch(slice(0, 5)))
    inner, objective = (
        compound(TASK, FOLLOW),
        compound(
            Compare(Regression(), NetOutput(), f1, path="cost"),
            Compare(Regression(), NetOutput(), ByReward(), path="cost"),
        ),
    )
    theta = list(nets["task"].parameters())
    phi = list(nets["energy"].parameters())

    def context() -> Context:
        return Context(nets, own, Binary(), training=frozenset(nets), unlabelled=spare)

    rule = Implicit(inner, ConjugateGradient(400, 1e-13), damping=5.0, curvature=curvature)
    made = context()
    found = rule(objective, made, ("energy",), phi)
    assert set(made.reports) == {"own", "beside"}
    assert all(count == 1 for _, count in made.reports.values())

    live = context()
    with live.updating(["energy"]):
        primary = objective(live, keep_graph=True).mean()
    b = torch.cat([g.flatten() for g in torch.autograd.grad(primary, theta, retain_graph=True)])
    explicit = torch.autograd.grad(primary, phi, retain_graph=True, allow_unused=True)
    with live.updating(["task"], attached=["energy"]):
        slope = torch.autograd.grad(inner(live).mean(), theta, create_graph=True)
    flat = torch.cat([g.flatten() for g in slope])
    if curvature == "hessian":
        A = torch.stack(
            [
                torch.cat([h.flatten() for h in torch.autograd.grad(one, theta, retain_graph=True)])
                for one in flat
            ]
        )
    else:
        z = live.logits("task")
        convex = torch.autograd.grad(inner.convex_part(live).mean(), z, create_graph=True)[0]
        J = torch.stack(
            [
                torch.cat([g.flatten() for g in torch.autograd.grad(one, theta, retain_graph=True)])
                for one in z.flatten()
            ]
        )
        H = torch.stack(
            [
                torch.autograd.grad(one, z, retain_graph=True)[0].flatten()
                for one in convex.flatten()
            ]
        )
        A = J.T @ H @ J
    v = torch.linalg.solve(A + 5.0 * torch.eye(len(b), dtype=b.dtype), b)
    implicit = torch.autograd.grad(flat @ v, phi, allow_unused=True)
    for value, one, other in zip(found.values, explicit, implicit, strict=True):
        expected = (0 if one is None else one) - (0 if other is None else other)
        torch.testing.assert_close(value, expected, rtol=1e-5, atol=1e-9)


def test_a_context_without_what_a_part_needs_says_so() -> None:
    nets = make_nets(semi())
    context = Context(nets, data(8).batch(slice(0, 8)), Binary())
    with pytest.raises(TypeError, match="needs unlabelled rows, and the context has none"):
        compound(TASK, FOLLOW)(context)
    with pytest.raises(TypeError, match="needs a reward, and the batch has none"):
        REWARDED(context)


def test_what_objectives_say_of_themselves() -> None:
    assert REWARDED.needs == {"reward"}
    assert REGRESSION.needs == {"target"}
    assert "target" not in Compare(Regression(), NetOutput(), ByReward()).needs
    assert "target" in Compare(Margin(), NetOutput(), ByReward()).needs
    method = semi()
    assert method.needs >= {"unlabelled rows", "reward"}
    assert semi(weight=0.0).needs == {"target"}
    assert compound(TASK, FOLLOW).convex_part.parts[0].objective.terms == (
        Weighted(1.0, CrossEntropy()),
    )
    assert Compound((Part("a", 1.0, FOLLOW),)).convex_part is None


def test_what_is_refused() -> None:
    with pytest.raises(SettingError, match="the objective of 'b' needs the truth"):
        Part("b", 1.0, TASK, rows="unlabelled")
    with pytest.raises(SettingError, match="unknown rows 'unlabeled': did you mean"):
        Part("b", 1.0, FOLLOW, rows="unlabeled")
    with pytest.raises(SettingError, match="trains on unlabelled rows, and none are given"):
        make_trainer(semi())
    with pytest.raises(SettingError, match="monitors a loss on unlabelled rows"):
        Phase(semi().phases[0].updates, monitor="loss")
    stacked = Judge((Weighted(1.0, EnergyTerm()),), NetOutput("augmented"))
    updates = (
        Update("energy", REGRESSION),
        Update("augmented", Compound((Part("a", 1.0, stacked, rows="unlabelled"),))),
        Update("task", TASK),
    )
    with pytest.raises(SettingError, match="runs 'augmented' on unlabelled rows"):
        Method("m", (Phase(updates),), derived={"augmented": Derivation(Stacked, base="task")})
