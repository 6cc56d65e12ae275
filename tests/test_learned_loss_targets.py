"""LearnedLoss with class indices, as CrossEntropyLoss takes them, and with wrong shapes."""

import pytest
import torch
import torch.nn.functional as F
from small_losses import DYNAMIC, B, D, L, batch, equal, make_energy, seeded, tensors
from torch import nn

from lossnet import LearnedLoss
from lossnet.energies import ChainEnergy
from lossnet.errors import DataError, SettingError
from lossnet.spaces import Categorical

T, C = 6, 3


def test_integer_and_bool_targets() -> None:
    x, logits, y = batch()
    values = [LearnedLoss(make_energy())(x, logits, form) for form in (y, y.bool(), y.long())]
    assert values[0] == values[1] == values[2]


def make_chain(method: str = "seal-nce") -> LearnedLoss:
    energy = seeded(lambda: ChainEnergy(nn.Linear(D, 4), C))
    return LearnedLoss(energy, method, space=Categorical())


def tagged() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(B, T, D, generator=generator)
    logits = torch.randn(B, T, C, generator=generator).requires_grad_()
    return x, logits, torch.randint(C, (B, T), generator=generator)


@pytest.mark.parametrize("name", DYNAMIC)
def test_class_indices_are_taken_as_cross_entropy_takes_them(name) -> None:
    x, logits, y = tagged()
    indices, one_hot = make_chain(name), make_chain(name)
    assert indices.step(x, logits, y) == one_hot.step(x, logits, nn.functional.one_hot(y, C))
    loss = indices(x, logits, y.int())
    assert torch.equal(loss, one_hot(x, logits, nn.functional.one_hot(y, C).float()))
    plain = LearnedLoss(indices.energy, "cross-entropy", space=Categorical())
    expected = nn.CrossEntropyLoss(reduction="sum")(logits.movedim(-1, 1), y) / B
    torch.testing.assert_close(plain(x, logits, y), expected)


@pytest.mark.parametrize("name", DYNAMIC)
def test_masked_indices_do_not_matter(name) -> None:
    x, logits, y = tagged()
    ignored = y.clone()
    ignored[:, 4:] = -100
    mask = ignored != -100
    ours, theirs = make_chain(name), make_chain(name)
    assert ours.step(x, logits, ignored, mask) == theirs.step(x, logits, y, mask)
    assert torch.equal(ours(x, logits, ignored, mask), theirs(x, logits, y, mask))
    plain = LearnedLoss(ours.energy, "cross-entropy", space=Categorical())
    expected = nn.CrossEntropyLoss(reduction="sum")(logits.movedim(-1, 1), ignored) / B
    torch.testing.assert_close(plain(x, logits, ignored, mask), expected)


def test_one_class_a_row_and_one_a_pixel() -> None:
    x, logits, _ = batch()
    criterion = LearnedLoss(make_energy(), "seal-nce", space=Categorical())
    assert criterion.step(x, logits, torch.arange(B) % L) is not None
    pixels, classes = torch.randn(2, 4, 5, C), torch.zeros(2, 4, 5, dtype=torch.long)
    plain = LearnedLoss(make_energy(), "cross-entropy", space=Categorical())
    expected = nn.CrossEntropyLoss(reduction="sum")(pixels.movedim(-1, 1), classes) / 2
    torch.testing.assert_close(plain(None, pixels, classes), expected)


def test_wrong_shapes_and_classes_are_refused() -> None:
    x, logits, y = tagged()
    chain, labels = make_chain(), LearnedLoss(make_energy())
    with pytest.raises(DataError, match=r"y must have the same, or \(12, 6\) for class indices"):
        chain(x, logits, y[:, :5])
    with pytest.raises(DataError, match=r"classes must be on the last axis: .*movedim\(1, -1\)"):
        chain(x, logits.movedim(-1, 1), y)
    with pytest.raises(DataError, match=r"class 3, and .* 0 to 2; .*mask=\(y != -100\)"):
        chain(x, logits, y + 1)
    with pytest.raises(DataError, match=r"class indices must be integers, got torch.float32"):
        chain.step(x, logits, y.float())
    with pytest.raises(DataError, match=r"mask has shape \(12, 6, 3\) and must have \(12, 6\)"):
        chain(x, logits, y, torch.ones(B, T, C))
    with pytest.raises(DataError, match=r"logits have shape \(12, 4\) and y has \(12, 3\)"):
        labels(*batch()[:2], torch.zeros(B, 3))
    with pytest.raises(DataError, match=r"for class indices take space=Categorical\(\)"):
        labels(*batch()[:2], torch.zeros(B, dtype=torch.long))


def test_values_that_are_no_targets_are_refused() -> None:
    x, logits, y = batch()
    with pytest.raises(DataError, match=r"y must be between 0 and 1, got 3"):
        LearnedLoss(make_energy())(x, logits, 3 * torch.ones_like(y))
    with pytest.raises(DataError, match="the batch is empty"):
        LearnedLoss(make_energy())(x[:0], logits[:0], y[:0])
    with pytest.raises(
        SettingError, match=r"energy must be a lossnet.energies.Energy .* got Linear"
    ):
        LearnedLoss(nn.Linear(D, L))


@pytest.mark.parametrize("call", ["__call__", "step", "energy_loss"])
def test_inputs_that_do_not_fit_the_logits_are_refused(call) -> None:
    x, logits, y = batch()
    criterion = LearnedLoss(make_energy())
    before = tensors(criterion)
    loss = getattr(criterion, call)
    with pytest.raises(DataError, match=r"x has shape \(9, 5\) and logits have \(12, 4\); they m"):
        loss(x[:9], logits, y)
    with pytest.raises(DataError, match=r"must have the same number of rows"):
        loss(x[0], logits, y)
    x[3, 1] = torch.nan
    for form in (x, [x], {"features": (x,)}):
        with pytest.raises(DataError, match="x is NaN in row 3 of the batch; replace"):
            loss(form, logits, y)
    assert equal(before, tensors(criterion))


def test_a_diverged_model_is_not_taken_for_a_diverged_loss_net() -> None:
    x, logits, y = batch()
    with pytest.raises(DataError, match=r"logits are NaN in row 0 .* of your model"):
        LearnedLoss(make_energy()).step(x, logits * torch.nan, y)


def test_nan_is_an_entry_that_is_not_known() -> None:
    x, logits, y = batch()
    unknown = torch.rand(B, L, generator=torch.Generator().manual_seed(1)) < 0.4
    loss = LearnedLoss(make_energy(), "cross-entropy")(x, logits, y.masked_fill(unknown, torch.nan))
    each = F.binary_cross_entropy_with_logits(logits, y, reduction="none")
    torch.testing.assert_close(loss, (each * ~unknown).sum() / B)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert (gradient[unknown] == 0).all()
    assert (gradient[~unknown] != 0).all()


@pytest.mark.parametrize("name", DYNAMIC)
def test_loss_nets_learn_from_targets_with_nan(name) -> None:
    x, logits, y = batch()
    criterion = LearnedLoss(make_energy(), name)
    before, partial = tensors(criterion), y.masked_fill(y.cumsum(0) % 3 == 0, torch.nan)
    assert criterion.step(x, logits, partial) > 0
    assert not equal(before, tensors(criterion))
    assert criterion(x, logits, partial).isfinite()
