"""Energies that read another net's features: the contract, and what each of them reads."""

import pytest
import torch

from lossnet import LearnedLoss
from lossnet.energies import (
    ChainEnergy,
    ConvolutionalCritic,
    Energy,
    LabelEnergy,
    TagAttention,
    TagLanguageModel,
    TotalEnergy,
)
from lossnet.errors import SettingError
from lossnet.nets import SharedFeatures, Tokens, WithFeatures
from lossnet.spaces import Binary, Categorical
from lossnet.testing import check_energy

B, T, C, D = 3, 4, 3, 5
TOKENS = Tokens(torch.arange(B * T).view(B, T), torch.ones(B, T, dtype=torch.bool))


def given(x, *shape: int) -> WithFeatures:
    torch.manual_seed(0)
    return WithFeatures(x, torch.randn(*shape, dtype=torch.float64))


def take(x: WithFeatures, rows: slice) -> WithFeatures:
    inner = x.x
    if isinstance(inner, Tokens):
        inner = Tokens(inner.words[rows], inner.mask[rows])
    return WithFeatures(inner, x.features[rows])


def total(*more: Energy) -> TotalEnergy:
    table = torch.randn(B * T, 6)
    models = TagLanguageModel(C, hidden=4, backward=True), TagLanguageModel(C, words=table)
    return TotalEnergy([ChainEnergy(SharedFeatures(D), C), *models, *more])


CASES = {
    "labels": (
        lambda: LabelEnergy(9, C, global_hidden=4, features=SharedFeatures(D)),
        given(None, B, D),
        Binary(),
        (C,),
    ),
    "tags": (total, given(TOKENS, B, T, D), Categorical(), (T, C)),
    "image": (
        lambda: ConvolutionalCritic(
            2, 1, size=(4, 6), width=3, hidden=(4,), features=SharedFeatures(D)
        ),
        given(None, B, D, 4, 6),
        Binary(),
        (4, 6),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_energies_keep_the_contract(name) -> None:
    make, x, space, shape = CASES[name]
    torch.manual_seed(1)
    energy = make()
    assert energy.reads == "task"
    check_energy(energy, x, space, shape, masks=name != "tags", take=take)


def test_attention_that_reads_words() -> None:
    torch.manual_seed(1)
    energy = total(TagAttention(C, width=8, heads=2, words=SharedFeatures(D))).double()
    x, y = given(TOKENS, B, T, D), torch.rand(2, B, T, C, dtype=torch.float64)
    assert energy(energy.encode(x, TOKENS.mask), y, TOKENS.mask).shape == (2, B)


def test_labels_are_scored_by_one_embedding_each() -> None:
    energy, x = CASES["labels"][0]().double(), CASES["labels"][1]
    torch.testing.assert_close(energy.encode(x), x.features @ energy.label_embeddings.T)


def test_the_critic_takes_the_finest_of_several_maps() -> None:
    energy, x = CASES["image"][0]().double(), CASES["image"][1]
    several = WithFeatures(None, (x.features, x.features[..., :2, :3]))
    assert torch.equal(energy.encode(several), energy.encode(x))


def test_the_parts_of_a_sum_read_one_net() -> None:
    other = ChainEnergy(SharedFeatures(D, "noise"), C)
    with pytest.raises(SettingError, match=r"one net, got \['noise', 'task'\]"):
        total(other)


def test_a_loop_of_your_own_passes_the_features_itself() -> None:
    with pytest.raises(SettingError, match="pass the features as x"):
        LearnedLoss(CASES["labels"][0]())
    criterion = LearnedLoss(LabelEnergy(D, C, hidden=()), auto=True)
    features = torch.randn(B, D, requires_grad=True)
    weight = torch.randn(D, C, requires_grad=True)
    criterion(features.detach(), features @ weight, torch.ones(B, C)).backward()
    assert features.grad is not None
    assert criterion.last_energy_loss is not None
