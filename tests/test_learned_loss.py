"""LearnedLoss: the drop-in criterion for anyone's own loop."""

import pytest
import torch
import torch.nn.functional as F
from small_losses import (
    DYNAMIC,
    NAMES,
    B,
    D,
    L,
    batch,
    equal,
    make_energy,
    parameters,
    seeded,
    tensors,
    visible,
)

from lossnet import LearnedLoss
from lossnet.contrasts import Regression
from lossnet.errors import SettingError
from lossnet.gradients import Unrolled
from lossnet.method import Method, Phase, Update
from lossnet.nets import LabelMLP
from lossnet.objectives import Compare, Judge
from lossnet.proposals import GBI
from lossnet.recipes import build, defaults
from lossnet.terms import CrossEntropy, Weighted

# The value ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DYNAMIC)
@pytest.mark.parametrize("training", [True, False])
def test_the_loss_is_lambda1_energy_plus_lambda2_cross_entropy(name, training) -> None:
    """With the energy in eval mode, whatever the criterion's; less the entropy where asked for."""
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
    assert criterion.step(x, logits, y) is None
    assert criterion.optimizer is None
    assert equal(before, parameters(criterion))
    with pytest.raises(SettingError, match="'cross-entropy' with frozen=False trains none"):
        criterion.energy_loss(x, logits, y)


def test_padding_changes_nothing() -> None:
    x, logits, y = batch()
    mask = torch.ones(B, L, dtype=torch.bool)
    mask[:, 2:] = False
    results = []
    for junk in (0.0, 5.0):
        criterion = LearnedLoss(make_energy(), "seal-margin")
        u = torch.where(mask, logits.detach(), junk).requires_grad_()
        target = torch.where(mask, y, junk / 5)
        criterion.step(x, u, target, mask)
        loss = criterion(x, u, target, mask.long())  # any type that says true and false
        loss.backward()
        assert (u.grad[~mask] == 0).all()
        assert (u.grad[mask] != 0).all()
        results.append((loss.detach(), parameters(criterion)))
    assert torch.equal(results[0][0], results[1][0])
    assert equal(results[0][1], results[1][1])


# Nothing changes --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DYNAMIC)
@pytest.mark.parametrize("training", [True, False])
def test_calling_it_changes_nothing(name, training) -> None:
    x, logits, y = batch()
    criterion = LearnedLoss(make_energy(), name)
    criterion.step(x, logits, y)
    criterion.train(training)
    criterion.energy.features.train(not training)  # a mode of its own
    before, seen = tensors(criterion), visible(criterion)
    first = criterion(x, logits, y)
    first.backward()
    assert torch.equal(first, criterion(x, logits, y))
    with torch.no_grad():
        assert torch.equal(first, criterion(x, logits, y))
    with torch.inference_mode():
        assert torch.equal(first, criterion(x, logits, y))
    assert equal(before, tensors(criterion))
    assert seen == visible(criterion)


@pytest.mark.parametrize("name", DYNAMIC)
@pytest.mark.parametrize("auto", [False, True])
def test_validation_never_trains(name, auto) -> None:
    """In eval mode, without gradients, or with logits that need none."""
    x, logits, y = batch()
    criterion = LearnedLoss(make_energy(), name, auto=auto)
    before, seen = tensors(criterion), visible(criterion)

    def validate(u: torch.Tensor) -> None:
        assert criterion.step(x, u, y) is None
        criterion(x, u, y)

    validate(logits.detach())
    with torch.no_grad():
        validate(logits)
        criterion.energy_loss(x, logits, y)
    with torch.inference_mode():
        validate(logits * 1)
    assert seen == visible(criterion)
    criterion.eval()
    validate(logits)
    assert not criterion.energy_loss(x, logits, y).requires_grad
    criterion.train()
    assert equal(before, tensors(criterion))
    assert seen == visible(criterion)


# Steps -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DYNAMIC)
def test_a_step_trains_the_energy_and_nothing_else(name) -> None:
    x, _, y = batch()
    model = seeded(lambda: LabelMLP(D, L, hidden=(8,)))
    criterion = LearnedLoss(make_energy(), name)
    before, of_model = parameters(criterion), [p.detach().clone() for p in model.parameters()]
    logits = model(x)
    found = criterion.step(x, logits, y)
    assert isinstance(found, float)
    assert found == criterion.last_energy_loss
    assert not any(equal([a], [b]) for a, b in zip(before, parameters(criterion), strict=True))
    assert all(p.grad is None for p in [*model.parameters(), *criterion.parameters()])
    updated = parameters(criterion)
    criterion(x, logits, y).backward()
    assert equal(updated, parameters(criterion))
    assert equal(of_model, [p.detach() for p in model.parameters()])
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("name", DYNAMIC)
def test_gradients_reach_the_logits_alone(name) -> None:
    x, logits, y = batch()
    x.requires_grad_()
    criterion = LearnedLoss(make_energy(), name)
    for _ in range(2):
        criterion.step(x, logits, y)
        criterion(x, logits, y).backward()
        assert all(p.grad is None for p in criterion.parameters())
    assert x.grad is None
    assert logits.grad is not None
    assert all(p.requires_grad for p in criterion.parameters())  # still its own to train


def test_auto_is_a_step_and_the_loss_in_one_call() -> None:
    x, logits, y = batch()
    auto, by_hand = LearnedLoss(make_energy(), auto=True), LearnedLoss(make_energy())
    for _ in range(2):
        by_hand.step(x, logits, y)
        assert torch.equal(auto(x, logits, y), by_hand(x, logits, y))
    assert auto.last_energy_loss == by_hand.last_energy_loss
    assert equal(tensors(auto), tensors(by_hand))


def test_a_frozen_loss_net_is_never_updated() -> None:
    x, logits, y = batch()
    criterion = LearnedLoss(make_energy(), "seal-regression", frozen=True)
    before = parameters(criterion)
    criterion.train()
    assert criterion.step(x, logits, y) is None
    criterion(x, logits, y).backward()
    assert equal(before, parameters(criterion))
    assert logits.grad is not None
    assert not any(p.requires_grad for p in criterion.parameters())
    energy = criterion.energy.eval()
    e = energy(energy.encode(x), torch.sigmoid(logits).unsqueeze(0))[0]
    terms = criterion.method.phases[0].updates[1].objective.terms
    weights = [term.weight for term in terms if term.weight]
    xent = F.binary_cross_entropy_with_logits(logits, y, reduction="none").sum(-1)
    expected = (weights[0] * Regression().link(e) + weights[1] * xent).mean()
    torch.testing.assert_close(criterion(x, logits, y), expected)


def test_steps_go_down_hill() -> None:
    x, logits, y = batch()
    params = {"energy_optimiser": {"lr": 0.01}, "energy_steps": 5}
    criterion = LearnedLoss(make_energy(dropout=0.0), "seal-margin", method_params=params)
    losses = [criterion.step(x, logits, y) for _ in range(20)]
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
            criterion.step(x, logits, y)
            criterion(x, logits, y)
        assert torch.equal(state, torch.get_rng_state())
        runs.append(parameters(criterion))
    assert equal(*runs)
    other = LearnedLoss(make_energy(), name, seed=4)
    for _ in range(2):
        other.step(x, logits, y)
    assert not equal(runs[0], parameters(other))


def test_partly_frozen_energies_keep_what_is_frozen() -> None:
    x, logits, y = batch()
    energy = make_energy()
    energy.features.requires_grad_(False)
    criterion = LearnedLoss(energy, "seal-ranking")
    before = [p.detach().clone() for p in energy.features.parameters()]
    embeddings = energy.label_embeddings.detach().clone()
    criterion.step(x, logits, y)
    criterion(x, logits, y)
    assert equal(before, [p.detach() for p in energy.features.parameters()])
    assert not torch.equal(embeddings, energy.label_embeddings)
    assert not any(p.requires_grad for p in energy.features.parameters())


# Errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in NAMES if n not in [*DYNAMIC, "cross-entropy"]])
def test_methods_that_need_more_are_refused(name) -> None:
    message = rf"'{name}' needs more than \(x, logits, y\): use an estimator, .*frozen=True"
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
    criterion.step(x, logits, y)
    assert not equal(before, parameters(criterion))


def test_bad_settings_are_refused() -> None:
    with pytest.raises(SettingError, match="did you mean 'samples'"):
        LearnedLoss(make_energy(), method_params={"sample": 3})
    with pytest.raises(SettingError, match="no parameter that requires a gradient"):
        LearnedLoss(make_energy().requires_grad_(False))
    for wrong in (torch.optim.SGD(make_energy().parameters()), lambda parameters: None):
        with pytest.raises(SettingError, match="optimizer must be a function of parameters"):
            LearnedLoss(make_energy(), optimizer=wrong)
    with pytest.raises(SettingError, match="method_params go with a method's name"):
        LearnedLoss(make_energy(), build("seal-nce"), method_params={"samples": 3})


def test_an_energy_may_be_trained_through_its_own_inference() -> None:
    x, logits, y = batch()
    xent = Weighted(1.0, CrossEntropy())
    energy = Update("energy", Judge((xent,), GBI(2, adam=False)), gradient=Unrolled())
    method = Method("mine", (Phase((energy, Update("task", Judge((xent,))))),))
    criterion = LearnedLoss(make_energy(), method)
    before = parameters(criterion)
    criterion.step(x, logits, y)
    assert not equal(before, parameters(criterion))
    stepped = parameters(criterion)
    criterion.energy_loss(x, logits, y).backward()
    assert equal(stepped, parameters(criterion))
    assert any(p.grad is not None for p in criterion.parameters())
