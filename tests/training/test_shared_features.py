"""Loss-nets that read the task-net's features: one pass for both, never stale, no gradient back."""

import pytest
import torch
from small_runs import FEATURES, LABELS, data, make_trainer, same, weights

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.energies import LabelEnergy
from lossnet.errors import SettingError
from lossnet.method import Method
from lossnet.nets import FeatureMLP, Headed, LabelMLP, SharedFeatures
from lossnet.recipes import build
from lossnet.spaces import Binary
from lossnet.streams import Streams
from lossnet.tasks.networks import build_nets

METHODS = [
    "seal-nce",
    "seal-regression",
    "seal-margin",
    "infnet",
    "infnet-plus",
    "implicit-nce",
    "implicit-ssvm",
    "alen",
    "spen",
    "spen-e2e",
    "nce-energy",
]


class CountingMLP(FeatureMLP):
    calls = 0

    def forward(self, x):
        CountingMLP.calls += 1
        return super().forward(x)


def shared_nets(method: Method, base: str = "task", dropout: float = 0.5):
    def make(name: str, features=None):
        if name == "energy":
            return LabelEnergy(FEATURES, LABELS, global_hidden=5, features=features)
        net = LabelMLP(FEATURES, LABELS, hidden=(8, 8), dropout=dropout)
        net.features = CountingMLP(FEATURES, (8, 8), dropout)
        return net

    return build_nets(method.nets, make, method.derived, (LABELS,), Binary(), shared=base)


def run(name: str, **params):
    base = "augmented" if name == "infnet" else "task"
    method = build(name, params)
    trainer = make_trainer(method, nets=shared_nets(method, base), max_epochs=1)
    CountingMLP.calls = 0
    trainer.run()
    return trainer


def context_of(nets, **options) -> Context:
    rows = data(12).batch(slice(0, 12))
    streams = Streams(0, nets)
    return Context(nets, rows, Binary(), training=frozenset(nets), streams=streams, **options)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_trains_both_nets(name) -> None:
    method = build(name)
    base = "augmented" if name == "infnet" else "task"
    trainer = make_trainer(method, nets=shared_nets(method, base), max_epochs=1)
    before = weights(trainer)
    trainer.run()
    for net in ("energy", base):
        assert not same(weights(trainer)[net], before[net])


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_features_are_computed_once_for_samples_energy_and_task_loss(steps) -> None:
    trainer = run("seal-nce", energy_steps=steps)
    assert CountingMLP.calls == trainer.batches_per_epoch


@pytest.mark.parametrize(("name", "passes"), [("alen", 1), ("infnet-plus", 1), ("implicit-nce", 2)])
def test_passes_of_other_methods(name, passes) -> None:
    # An implicit method takes the task step first, after which the features are others.
    trainer = run(name)
    assert CountingMLP.calls == passes * trainer.batches_per_epoch


def test_no_gradient_reaches_the_task_net_through_the_features() -> None:
    nets = shared_nets(build("seal-nce"))
    context = context_of(nets)
    y = torch.rand(2, 12, LABELS)
    with context.updating(["energy"], attached=["task"]):
        energies = context.energy(y)
    own = torch.autograd.grad(
        energies.sum(),
        [*nets["task"].parameters(), *nets["energy"].parameters()],
        allow_unused=True,
    )
    tasks = len(list(nets["task"].parameters()))
    assert all(gradient is None for gradient in own[:tasks])
    assert all(gradient is not None for gradient in own[tasks:])


def test_the_encoding_is_forgotten_with_the_features() -> None:
    nets = shared_nets(build("seal-nce"))
    context = context_of(nets)
    first = context.encoded()
    assert context.encoded() is first
    with torch.no_grad():
        for parameter in nets["task"].parameters():
            parameter.add_(0.1)
    context.invalidate(["task"])
    second = context.encoded()
    assert not torch.allclose(first, second)
    context.invalidate(["energy"])
    assert torch.equal(context.encoded(), second)  # the same features, encoded again


def test_features_read_without_gradients_do_not_cut_off_the_task_loss() -> None:
    context = context_of(shared_nets(build("seal-nce")))
    with torch.no_grad():
        context.encoded()
    assert context.logits().requires_grad


def test_without_the_energys_weight_it_is_cross_entropy_weight_for_weight() -> None:
    plain = make_trainer(build("cross-entropy"), nets=shared_nets(build("cross-entropy")))
    seal = build("seal-nce", {"energy_weight": 0.0})
    shared = make_trainer(seal, nets=shared_nets(seal))
    plain.run(), shared.run()
    assert same(weights(plain)["task"], weights(shared)["task"])


def test_frozen_nets_are_read_in_eval_mode() -> None:
    nets = shared_nets(build("spen"))
    batch = Batch(torch.randn(3, FEATURES))
    context = Context(nets, batch, Binary(), training=frozenset({"energy"}))
    expected = nets["task"].eval().features(batch.x) @ nets["energy"].label_embeddings.T
    with context.updating(["energy"]):
        torch.testing.assert_close(context.encoded(), expected)


def test_a_net_without_features_is_refused() -> None:
    nets = {"task": torch.nn.Linear(FEATURES, LABELS)}
    nets["energy"] = LabelEnergy(FEATURES, LABELS, features=SharedFeatures(8))
    with pytest.raises(SettingError, match=r"'task', which is a Linear, .* lossnet.nets.Headed"):
        context_of(nets).encoded()
    with pytest.raises(SettingError, match="'task', which is missing"):
        context_of({"energy": nets["energy"]}).encoded()


def test_features_without_a_width_are_refused() -> None:
    class Mine(Headed):
        def __init__(self) -> None:
            super().__init__()
            self.features = torch.nn.Identity()

    with pytest.raises(SettingError, match="out_features"):
        build_nets(["task", "energy"], lambda *_: Mine(), {}, (2,), Binary(), shared="task")
