"""LearnedLoss: the drop-in criterion for anyone's own loop."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lossnet import LearnedLoss
from lossnet.context import Streams, stream_seed
from lossnet.contrasts import Regression
from lossnet.energies import LabelEnergy
from lossnet.errors import SettingError
from lossnet.gradients import Unrolled
from lossnet.method import Method, Phase, Update
from lossnet.nets import LabelMLP
from lossnet.objectives import Compare, Judge
from lossnet.proposals import GBI
from lossnet.recipes import RECIPES, build, defaults
from lossnet.spaces import Binary
from lossnet.terms import CrossEntropy, Weighted
from lossnet.training import Arrays, Trainer
from lossnet.training.step import build_optimiser

B, D, L = 12, 5, 4
DYNAMIC = [name for name in RECIPES if name.startswith("seal-") and "static" not in name]


def seeded(build_net, seed: int = 0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build_net()


def make_energy(seed: int = 0, dropout: float = 0.5) -> LabelEnergy:
    return seeded(lambda: LabelEnergy(D, L, hidden=(8, 8), dropout=dropout, global_hidden=5), seed)


def batch(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(B, D, generator=generator)
    y = (torch.rand(B, L, generator=generator) < 0.4).float()
    return x, torch.randn(B, L, generator=generator).requires_grad_(), y


def parameters(criterion: LearnedLoss) -> list[torch.Tensor]:
    return [p.detach().clone() for p in criterion.energy.parameters()]


def equal(left: list[torch.Tensor], right: list[torch.Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


# The value ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DYNAMIC)
@pytest.mark.parametrize("training", [True, False])
def test_the_loss_is_lambda1_energy_plus_lambda2_cross_entropy(name, training) -> None:
    """With the energy as its steps left it, in eval mode; less the entropy where asked for."""
    x, logits, y = batch()
    weights = {"energy_weight": 0.3, "xent_weight": 0.7}
    if entropic := "entropy_weight" in defaults(name):
        weights["entropy_weight"] = 0.2
    criterion = LearnedLoss(make_energy(), name, method_params=weights).train(training)
    loss = criterion(x, logits, y)
    energy = criterion.energy.eval()
    e = energy(energy.encode(x), torch.sigmoid(logits).unsqueeze(0))[0]
    link = -torch.sigmoid(-e) if "regression" in name else e
    xent = F.binary_cross_entropy_with_logits(logits, y, reduction="none").sum(-1)
    p = torch.sigmoid(logits)
    entropy = -(p * p.log() + (1 - p) * (1 - p).log()).sum(-1)
    expected = (0.3 * link + 0.7 * xent - (0.2 * entropy if entropic else 0.0)).mean()
    torch.testing.assert_close(loss, expected)
    (found,) = torch.autograd.grad(loss, logits)
    (right,) = torch.autograd.grad(expected, logits)
    torch.testing.assert_close(found, right)


def test_cross_entropy_needs_no_energy_step() -> None:
    x, logits, y = batch()
    criterion = LearnedLoss(make_energy(), "cross-entropy")
    before = parameters(criterion)
    expected = F.binary_cross_entropy_with_logits(logits, y, reduction="sum") / B
    torch.testing.assert_close(criterion(x, logits, y), expected)
    assert equal(before, parameters(criterion))
    assert criterion.energy_loss is None


def test_integer_and_bool_targets() -> None:
    x, logits, y = batch()
    values = [LearnedLoss(make_energy())(x, logits, form) for form in (y, y.bool(), y.long())]
    assert values[0] == values[1] == values[2]


def test_padding_changes_nothing() -> None:
    x, logits, y = batch()
    mask = torch.ones(B, L, dtype=torch.bool)
    mask[:, 2:] = False
    results = []
    for junk in (0.0, 5.0):
        criterion = LearnedLoss(make_energy(), "seal-margin")
        u = torch.where(mask, logits.detach(), junk).requires_grad_()
        loss = criterion(x, u, torch.where(mask, y, junk / 5), mask)
        loss.backward()
        assert (u.grad[~mask] == 0).all()
        assert (u.grad[mask] != 0).all()
        results.append((loss.detach(), parameters(criterion)))
    assert torch.equal(results[0][0], results[1][0])
    assert equal(results[0][1], results[1][1])


# Updates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DYNAMIC)
def test_training_mode_updates_the_energy_and_nothing_else(name) -> None:
    x, _, y = batch()
    model = seeded(lambda: LabelMLP(D, L, hidden=(8,)))
    criterion = LearnedLoss(make_energy(), name)
    before, of_model = parameters(criterion), [p.detach().clone() for p in model.parameters()]
    loss = criterion(x, model(x), y)
    assert not any(equal([a], [b]) for a, b in zip(before, parameters(criterion), strict=True))
    assert isinstance(criterion.energy_loss, float)
    updated = parameters(criterion)
    loss.backward()
    assert equal(updated, parameters(criterion))
    assert equal(of_model, [p.detach() for p in model.parameters()])
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("name", DYNAMIC)
def test_gradients_reach_the_logits_alone(name) -> None:
    x, logits, y = batch()
    x.requires_grad_()
    criterion = LearnedLoss(make_energy(), name)
    for _ in range(2):
        criterion(x, logits, y).backward()
        assert all(p.grad is None for p in criterion.parameters())
    assert x.grad is None
    assert logits.grad is not None
    assert all(p.requires_grad for p in criterion.parameters())  # still its own to train


@pytest.mark.parametrize("name", DYNAMIC)
def test_evaluation_mode_never_updates(name) -> None:
    x, logits, y = batch()
    criterion = LearnedLoss(make_energy(), name).eval()
    before, state = parameters(criterion), criterion.get_extra_state()
    first = criterion(x, logits, y)
    with torch.no_grad():
        second = criterion(x, logits, y)
    assert torch.equal(first, second)
    assert equal(before, parameters(criterion))
    assert torch.equal(state["proposals"], criterion.get_extra_state()["proposals"])
    assert criterion.energy_loss is None


def test_it_learns_where_gradients_are_off() -> None:
    """Its own steps need gradients, whatever the caller's loop does."""
    x, logits, y = batch()
    with torch.no_grad():
        off = LearnedLoss(make_energy())
        loss = off(x, logits, y)
    assert not loss.requires_grad
    on = LearnedLoss(make_energy())
    on(x, logits, y)
    assert equal(parameters(on), parameters(off))


def test_a_frozen_loss_net_is_never_updated() -> None:
    x, logits, y = batch()
    criterion = LearnedLoss(make_energy(), "seal-regression", frozen=True)
    before = parameters(criterion)
    criterion.train()
    criterion(x, logits, y).backward()
    assert equal(before, parameters(criterion))
    assert logits.grad is not None
    assert not any(p.requires_grad for p in criterion.parameters())
    energy = criterion.energy
    e = energy(energy.encode(x), torch.sigmoid(logits).unsqueeze(0))[0]
    terms = criterion.method.phases[0].updates[1].objective.terms
    weights = [term.weight for term in terms if term.weight]
    xent = F.binary_cross_entropy_with_logits(logits, y, reduction="none").sum(-1)
    expected = (weights[0] * Regression().link(e) + weights[1] * xent).mean()
    torch.testing.assert_close(criterion(x, logits, y), expected)


def test_steps_go_down_hill() -> None:
    x, logits, y = batch()
    params = {"energy_lr": 0.01, "energy_steps": 5}
    criterion = LearnedLoss(make_energy(dropout=0.0), "seal-margin", method_params=params)
    losses = []
    for _ in range(20):
        criterion(x, logits, y)
        losses.append(criterion.energy_loss)
    assert losses[-1] < 0.5 * losses[0]


# Randomness --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DYNAMIC)
def test_the_global_generator_is_left_alone_and_does_not_matter(name) -> None:
    x, logits, y = batch()
    runs = []
    for noise in (1, 2):
        torch.manual_seed(noise)
        criterion = LearnedLoss(make_energy(), name, seed=3)
        state = torch.get_rng_state()
        for _ in range(2):
            criterion(x, logits, y)
        assert torch.equal(state, torch.get_rng_state())
        runs.append(parameters(criterion))
    assert equal(*runs)
    other = LearnedLoss(make_energy(), name, seed=4)
    for _ in range(2):
        other(x, logits, y)
    assert not equal(runs[0], parameters(other))


# State -------------------------------------------------------------------------------------------


def test_a_loop_goes_on_from_the_state_dict(tmp_path) -> None:
    x, logits, y = batch()
    whole, first = LearnedLoss(make_energy()), LearnedLoss(make_energy())
    for _ in range(3):
        whole(x, logits, y)
        first(x, logits, y)
    torch.save(first.state_dict(), tmp_path / "state.pt")
    second = LearnedLoss(make_energy(seed=8), seed=9)
    second.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    for criterion in (whole, second):
        for _ in range(3):
            loss = criterion(x, logits, y)
    assert equal(parameters(whole), parameters(second))
    assert torch.equal(loss, whole.eval()(x, logits, y))


def test_a_copy_goes_on_by_itself() -> None:
    x, logits, y = batch()
    first = LearnedLoss(make_energy())
    first(x, logits, y)
    second = copy.deepcopy(first)
    first(x, logits, y)
    assert not equal(parameters(first), parameters(second))
    second(x, logits, y)
    assert equal(parameters(first), parameters(second))


def test_a_trained_loss_net_is_loaded_into_a_frozen_one() -> None:
    x, logits, y = batch()
    trained = LearnedLoss(make_energy())
    trained(x, logits, y)
    frozen = LearnedLoss(make_energy(seed=5), frozen=True)
    frozen.load_state_dict(trained.state_dict())
    assert equal(parameters(trained), parameters(frozen))
    assert torch.equal(frozen(x, logits, y), trained.eval()(x, logits, y))


def test_the_state_of_another_kind_of_method_is_refused() -> None:
    state = LearnedLoss(make_energy(), "cross-entropy").state_dict()
    with pytest.raises(SettingError, match=r"holds 0 optimisers .* 'seal-nce' has 1"):
        LearnedLoss(make_energy()).load_state_dict(state)


def test_partly_frozen_energies_keep_what_is_frozen() -> None:
    x, logits, y = batch()
    energy = make_energy()
    energy.features.requires_grad_(False)
    criterion = LearnedLoss(energy, "seal-ranking")
    before = [p.detach().clone() for p in energy.features.parameters()]
    embeddings = energy.label_embeddings.detach().clone()
    criterion(x, logits, y)
    assert equal(before, [p.detach() for p in energy.features.parameters()])
    assert not torch.equal(embeddings, energy.label_embeddings)
    assert not any(p.requires_grad for p in energy.features.parameters())


# The same as the Trainer -------------------------------------------------------------------------


@pytest.mark.parametrize("name", DYNAMIC)
def test_a_users_loop_gets_the_trainers_weights(name) -> None:
    """Same seed, same order of rows, the user's model run from the task-net's random stream."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, D)).astype(np.float32)
    Y = (X[:, :L] > 0.3).astype(np.float32)
    method = build(name, {"energy_steps": 2, "task_lr": 5e-3})

    def make_model() -> LabelMLP:
        return LabelMLP(D, L, hidden=(8, 8), dropout=0.5)

    nets = {"task": seeded(make_model, 1), "energy": make_energy(2)}
    Trainer(method, nets, Binary(), Arrays(X, Y), batch_size=20, max_epochs=3, seed=7).run()

    model = seeded(make_model, 1)
    criterion = LearnedLoss(make_energy(2), method, seed=7)
    (settings,) = (u.optimiser for u in method.phases[0].updates if u.trains == "task")
    optimiser = build_optimiser(list(model.parameters()), settings)
    streams = Streams(7, ["task"])
    order = torch.Generator().manual_seed(stream_seed(7, "order"))
    torch.set_flush_denormal(True)  # as the Trainer does
    for _ in range(3):
        for rows in torch.randperm(50, generator=order).split(20):
            x, y = torch.from_numpy(X)[rows], torch.from_numpy(Y)[rows]
            with streams.of("task"):
                logits = model(x)
            criterion(x, logits, y).backward()
            optimiser.step()
            optimiser.zero_grad()
    torch.set_flush_denormal(False)

    for ours, theirs in ((nets["task"], model), (nets["energy"], criterion.energy)):
        for left, right in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert torch.equal(left, right)


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in RECIPES if n not in [*DYNAMIC, "cross-entropy"]])
def test_methods_that_need_more_are_refused(name) -> None:
    message = (
        rf"LearnedLoss needs only \(x, logits, y\), and '{name}' needs more: take "
        "MultiLabelClassifier, or a Method with its Trainer. .*frozen=True"
    )
    with pytest.raises(SettingError, match=message):
        LearnedLoss(make_energy(), name)


def test_a_method_of_ones_own() -> None:
    x, logits, y = batch()
    task = Update("task", Judge((Weighted(2.0, CrossEntropy()),)))
    energy = Update("energy", Compare(Regression(), GBI(2)))
    method = Method("mine", (Phase((energy, task)),))
    criterion = LearnedLoss(make_energy(), method)
    before = parameters(criterion)
    expected = 2 * F.binary_cross_entropy_with_logits(logits, y, reduction="sum") / B
    torch.testing.assert_close(criterion(x, logits, y), expected)
    assert not equal(before, parameters(criterion))


def test_bad_input_is_refused() -> None:
    x, logits, y = batch()
    with pytest.raises(SettingError, match=r"logits have shape \(12, 4\) and y has \(12, 3\)"):
        LearnedLoss(make_energy())(x, logits, y[:, :3])
    with pytest.raises(SettingError, match="did you mean 'samples'"):
        LearnedLoss(make_energy(), method_params={"sample": 3})
    with pytest.raises(SettingError, match="no parameter that requires a gradient"):
        LearnedLoss(make_energy().requires_grad_(False))


def test_parameters_go_with_a_name() -> None:
    with pytest.raises(SettingError, match="method_params go with a method's name"):
        LearnedLoss(make_energy(), build("seal-nce"), method_params={"samples": 3})


def test_an_energy_may_be_trained_through_its_own_inference() -> None:
    x, logits, y = batch()
    xent = Weighted(1.0, CrossEntropy())
    energy = Update("energy", Judge((xent,), GBI(2, adam=False)), gradient=Unrolled())
    method = Method("mine", (Phase((energy, Update("task", Judge((xent,))))),))
    criterion = LearnedLoss(make_energy(), method)
    before = parameters(criterion)
    criterion(x, logits, y).backward()
    assert not equal(before, parameters(criterion))
