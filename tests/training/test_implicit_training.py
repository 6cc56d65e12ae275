"""The implicit gradient in training: against dense matrices, its two limits, and its failures."""

from dataclasses import dataclass, field, replace

import pytest
import torch
from small_runs import data, make_nets, make_trainer, same, weights
from torch import nn
from torch.func import functional_call

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts import NCE, Margin, Ranking, Regression
from lossnet.costs import f1
from lossnet.energies import LabelEnergy
from lossnet.errors import TrainingError
from lossnet.gradients import ConjugateGradient, Direct, Implicit, Neumann
from lossnet.gradients.solvers import Solution
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.nets import LabelMLP, SharedFeatures, WithFeatures
from lossnet.objectives import Compare, Judge
from lossnet.proposals import NetOutput, RelaxedSamples
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.streams import Streams
from lossnet.terms import CrossEntropy, EnergyTerm, Weighted
from lossnet.training import Callback, Checkpoint, resume

B, D, L = 6, 3, 2
EXACT = ConjugateGradient(steps=300, tolerance=1e-13)


def problem(
    dropout: float = 0.0, hidden: tuple[int, ...] = (3,), features: nn.Module | None = None
) -> Context:
    own = {"hidden": (2,), "dropout": dropout, "global_hidden": 2, "features": features}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        nets = {
            "task": LabelMLP(D, L, hidden=hidden, dropout=dropout).double(),
            "energy": LabelEnergy(D, L, **own).double(),
        }
        x = torch.randn(B, D, dtype=torch.float64)
        target = (torch.rand(B, L) < 0.5).double()
    return Context(
        nets,
        Batch(x, target),
        Binary(),
        generator=torch.Generator().manual_seed(0),
        training=frozenset(nets),
        streams=Streams(0, nets),
    )


def found_by(rule, objective, context: Context):
    return rule(objective, context, ("energy",), list(context.nets["energy"].parameters()))


def flat(values) -> torch.Tensor:
    return torch.cat([value.reshape(-1) for value in values])


# Against dense matrices --------------------------------------------------------------------------


class Judged(torch.nn.Module):
    """E(x, y) in one call."""

    def __init__(self, energy) -> None:
        super().__init__()
        self.energy = energy

    def forward(self, x, y):
        return self.energy(self.energy.encode(x, None), y, None)


class Losses:
    """L_Prim and L_Aux as plain functions of two flat vectors, θ and φ."""

    def __init__(self, context: Context, contrast, energy_weight: float) -> None:
        self.task, self.energy = context.nets["task"], Judged(context.nets["energy"])
        self.x, self.target = context.batch.x, context.target
        self.read = self.x
        if context.reads:  # as constants
            self.read = WithFeatures(self.x, self.task.features(self.x).detach())
        self.contrast, self.energy_weight = contrast, energy_weight
        self.theta, self.phi = (
            flat(p.detach() for p in net.parameters()) for net in (self.task, self.energy)
        )

    def call(self, net, vector, *given):
        shaped, first = {}, 0
        for name, parameter in net.named_parameters():
            shaped[name] = vector[first : first + parameter.numel()].view_as(parameter)
            first += parameter.numel()
        return functional_call(net, shaped, given)

    def logits(self, theta):
        return self.call(self.task, theta, self.x)

    def primary(self, theta, phi):
        y = torch.sigmoid(self.logits(theta))
        e = self.call(self.energy, phi, self.read, y.unsqueeze(0))[0]
        cost = f1(y.unsqueeze(0), self.target, None)[0]
        if isinstance(self.contrast, Margin):
            e_target = self.call(self.energy, phi, self.read, self.target.unsqueeze(0))[0]
            return (cost - e + e_target).clamp_min(0).mean()
        value = torch.sigmoid(-e)
        return (-(1 - cost) * value.log() - cost * (1 - value).log()).mean()

    def cross_entropy(self, z):
        p = torch.sigmoid(z)
        each = self.target * p.log() + (1 - self.target) * (1 - p).log()
        return -each.sum(-1).mean()

    def auxiliary(self, theta, phi):
        z = self.logits(theta)
        e = self.call(self.energy, phi, self.read, torch.sigmoid(z).unsqueeze(0))[0]
        linked = e if isinstance(self.contrast, Margin) else -torch.sigmoid(-e)
        return self.energy_weight * linked.mean() + self.cross_entropy(z)

    def curvature(self, kind: str) -> torch.Tensor:
        dense = torch.autograd.functional
        if kind == "hessian":
            return dense.hessian(lambda theta: self.auxiliary(theta, self.phi), self.theta)
        jacobian = dense.jacobian(lambda theta: self.logits(theta).reshape(-1), self.theta)
        shape = self.target.shape
        z = self.logits(self.theta).detach().reshape(-1)
        hessian = dense.hessian(lambda z: self.cross_entropy(z.view(shape)), z)
        return jacobian.T @ hessian @ jacobian

    def slope(self, phi) -> torch.Tensor:
        """∂L_Aux/∂θ, differentiable in φ."""
        theta = self.theta.clone().requires_grad_()
        return torch.autograd.grad(self.auxiliary(theta, phi), theta, create_graph=True)[0]

    def parts(self, kind: str, damping: float) -> tuple[torch.Tensor, torch.Tensor]:
        """The explicit and the implicit part of paper 002's Eq. 3."""
        theta, phi = self.theta.clone().requires_grad_(), self.phi.clone().requires_grad_()
        b, explicit = torch.autograd.grad(self.primary(theta, phi), (theta, phi))
        matrix = self.curvature(kind) + damping * torch.eye(len(theta), dtype=b.dtype)
        assert torch.linalg.eigvalsh(matrix).min() > 0.05  # what conjugate gradients need
        cross = torch.autograd.functional.jacobian(self.slope, self.phi)
        return explicit, -cross.T @ torch.linalg.solve(matrix, b)


@pytest.mark.parametrize("contrast", [Margin(), Regression()], ids=str)
@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
@pytest.mark.parametrize("product", ["double-backward", "finite-differences"])
@pytest.mark.parametrize("features", [None, SharedFeatures(3)], ids=["own", "shared"])
def test_against_dense_matrices(contrast, curvature, product, features) -> None:
    context = problem(features=features)
    inner = Judge((Weighted(0.7, EnergyTerm(contrast)), Weighted(1.0, CrossEntropy())))
    rule = Implicit(inner, EXACT, damping=0.5, curvature=curvature, product=product)
    losses = Losses(context, contrast, 0.7)
    explicit, implicit = losses.parts(curvature, 0.5)
    assert implicit.norm() > 0.005 * explicit.norm() > 0
    found = found_by(rule, Compare(contrast, NetOutput(), f1), context)
    expected_loss = float(losses.primary(losses.theta, losses.phi).detach())
    assert float(found.loss) == pytest.approx(expected_loss, abs=1e-12)
    close = {"rtol": 1e-5, "atol": 1e-7} if product == "finite-differences" else {}
    torch.testing.assert_close(flat(found.values), explicit + implicit, **close)
    assert found.measures["explicit norm"] == pytest.approx(float(explicit.norm()))
    assert found.measures["implicit norm"] == pytest.approx(float(implicit.norm()), rel=1e-5)
    assert found.measures["solver residual"] < 1e-6


def test_the_two_curvatures_differ() -> None:
    losses = Losses(problem(), Margin(), 0.7)
    _, exact = losses.parts("hessian", 0.5)
    _, gauss_newton = losses.parts("gauss-newton", 0.5)
    assert (exact - gauss_newton).norm() > 0.01 * exact.norm()


INNER = Judge((Weighted(1.0, EnergyTerm()), Weighted(1.0, CrossEntropy())))
OBJECTIVES = [
    Compare(Margin(), NetOutput()),
    Compare(Ranking(1.0), RelaxedSamples(4)),
    Compare(NCE(1.0), RelaxedSamples(4, path_through_log_q=True)),
    Compare(Margin(), NetOutput(), path="cost"),
]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=range(4))
@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
def test_finite_differences_keep_the_dropout_masks(objective, curvature) -> None:
    """On nets with dropout they agree with double backward, which is given one pass alone."""
    found, states = [], []
    for product in ("double-backward", "finite-differences"):
        context = problem(dropout=0.5, hidden=(6, 6))
        before = {
            name: [p.detach().clone() for p in net.parameters()]
            for name, net in context.nets.items()
        }
        rule = Implicit(INNER, Neumann(3), damping=2.0, curvature=curvature, product=product)
        found.append(found_by(rule, objective, context))
        states.append(context.streams.states["task"])
        for name, net in context.nets.items():
            for kept, parameter in zip(before[name], net.parameters(), strict=True):
                assert torch.equal(kept, parameter)
    twice, differences = found
    assert twice.measures["implicit norm"] > 1e-4
    assert differences.measures["implicit norm"] == pytest.approx(
        twice.measures["implicit norm"], rel=1e-5
    )
    torch.testing.assert_close(flat(twice.values), flat(differences.values), rtol=1e-5, atol=1e-7)
    assert torch.equal(*states)  # the stream goes on from where one pass leaves it


@pytest.mark.parametrize("objective", OBJECTIVES, ids=range(4))
@pytest.mark.parametrize("curvature", ["hessian", "gauss-newton"])
def test_a_huge_damping_leaves_the_direct_gradient(objective, curvature) -> None:
    rule = Implicit(INNER, Neumann(3), damping=1e9, curvature=curvature)
    damped = found_by(rule, objective, problem(dropout=0.5, hidden=(6, 6)))
    direct = found_by(Direct(), objective, problem(dropout=0.5, hidden=(6, 6)))
    assert torch.equal(damped.loss, direct.loss)
    torch.testing.assert_close(flat(damped.values), flat(direct.values), rtol=1e-7, atol=1e-8)
    light = found_by(replace(rule, damping=2.0), objective, problem(dropout=0.5, hidden=(6, 6)))
    assert (flat(light.values) - flat(direct.values)).norm() > 1e-4


def test_a_path_through_the_cost_alone_is_another_gradient() -> None:
    rule = Implicit(INNER, Neumann(3))
    both, cost = (found_by(rule, OBJECTIVES[index], problem()) for index in (0, 3))
    assert torch.equal(both.loss, cost.loss)
    assert both.measures["explicit norm"] == cost.measures["explicit norm"]
    assert not torch.allclose(flat(both.values), flat(cost.values))


# In the training loop ----------------------------------------------------------------------------

RECIPES = ["implicit-ssvm", "implicit-dvn", "implicit-cd", "implicit-nce"]


def with_direct(method: Method) -> Method:
    (phase,) = method.phases
    task, energy = phase.updates
    assert isinstance(energy.gradient, Implicit)
    updates = (task, replace(energy, gradient=Direct()))
    return replace(method, phases=(replace(phase, updates=updates),))


@pytest.mark.parametrize("name", RECIPES)
def test_the_direct_recipe_is_the_same_method_with_another_rule(name) -> None:
    small = {"energy_optimiser": {"lr": 0.01}, "task_optimiser": {"lr": 0.02}}
    direct = build(name, {**small, "gradient": "direct"})
    runs = []
    for method in (direct, with_direct(build(name, small)), build(name, small)):
        trainer = make_trainer(method, max_epochs=2)
        trainer.run()
        runs.append(weights(trainer))
    for net in ("task", "energy"):
        assert same(runs[0][net], runs[1][net])
        assert not same(runs[0][net], runs[2][net])


def test_the_direct_recipe_assembled_by_hand() -> None:
    optimiser = {"weight_decay": 1e-5, "plateau": 5}
    terms = (Weighted(0.1, EnergyTerm(Margin())), Weighted(1.0, CrossEntropy()))
    task = Update("task", Judge(terms), optimiser=Optimiser(lr=0.02, **optimiser))
    energy = Update(
        "energy",
        Compare(Margin(), NetOutput(), f1),
        optimiser=Optimiser(lr=0.01, **optimiser),
        gradient=Direct(),
    )
    given = {
        "gradient": "direct",
        "energy_weight": 0.1,
        "energy_optimiser": {"lr": 0.01},
        "task_optimiser": {"lr": 0.02},
    }
    runs = []
    for method in (Method("mine", (Phase((task, energy)),)), build("implicit-ssvm", given)):
        trainer = make_trainer(method, max_epochs=2)
        trainer.run()
        runs.append(weights(trainer))
    for net in ("task", "energy"):
        assert same(runs[0][net], runs[1][net])


@dataclass(frozen=True)
class Breaks:
    """A series that converges until the call number ``at``, and diverges from then on."""

    at: int
    calls: list[int] = field(default_factory=list, compare=False)

    def __call__(self, matvec, b) -> Solution:
        self.calls.append(1)
        scale = 1e4 if len(self.calls) >= self.at else None
        return Neumann(3, scale)(matvec, b)


def with_solver(solver) -> Method:
    (phase,) = build("implicit-ssvm", {"task_optimiser": {"lr": 0.02}}).phases
    task, energy = phase.updates
    energy = replace(energy, gradient=replace(energy.gradient, solver=solver))
    return Method("mine", (replace(phase, updates=(task, energy)),))


def test_a_diverging_solver_stops_training_and_spoils_nothing(tmp_path) -> None:
    path = tmp_path / "checkpoint"
    kept = []

    class After(Callback):
        def on_batch(self, trainer, losses) -> None:
            kept.append(weights(trainer))

    def trainer_with(solver, callbacks=()):
        return make_trainer(
            with_solver(solver), data=data(40), batch_size=10, max_epochs=3, callbacks=callbacks
        )

    callbacks = [Checkpoint(path, {"run": 1}, seconds=0.0), After()]
    broken = trainer_with(Breaks(at=6), callbacks)  # four batches an epoch
    with pytest.raises(TrainingError) as caught:
        broken.run()
    message = str(caught.value)
    assert "the gradient of the 'energy' update could not be found" in message
    assert "(phase 'implicit-ssvm', epoch 2, batch 2)" in message
    assert "Neumann: after 3 terms with scale 1e+04" in message
    assert "so the series diverges; lower scale or set it to None, raise damping" in message
    assert same(weights(broken)["energy"], kept[-1]["energy"])
    assert len(kept) == 5

    whole = trainer_with(Neumann(3))
    whole.run()
    resumed = trainer_with(Neumann(3))
    resume(path, resumed, {"run": 1})
    assert resumed.epoch == 1
    resumed.run()
    for net in ("task", "energy"):
        assert same(weights(resumed)[net], weights(whole)[net])


def test_a_large_fixed_scale_diverges_on_the_first_batch() -> None:
    trainer = make_trainer(with_solver(Neumann(3, scale=1e4)))
    before = weights(trainer)["energy"]
    with pytest.raises(TrainingError, match=r"'energy' update .*epoch 1, batch 1.*lower scale"):
        trainer.run()
    assert same(weights(trainer)["energy"], before)


def test_nets_are_named_by_the_rule() -> None:
    rule = Implicit(INNER)
    assert rule.nets == {"task", "energy"}
    update = Update("energy", Compare(Margin(), NetOutput()), gradient=rule)
    assert update.nets == {"task", "energy"}
    assert set(make_nets(Method("mine", (Phase((Update("task", INNER), update)),)))) == rule.nets
