"""TagPairs: the contract, loops over pairs, and the mean over independent positions."""

import pytest
import torch
from torch import nn

from lossnet.energies import ChainEnergy, TagPairs, TotalEnergy
from lossnet.spaces import Categorical
from lossnet.testing import check_energy

TAGS, LENGTH, CHOSEN = 4, 4, [1, 3]


def small(chosen: list[int] | None = CHOSEN) -> TagPairs:
    energy = TagPairs(TAGS, chosen=chosen)
    nn.init.normal_(energy.pairs, generator=torch.Generator().manual_seed(0))
    return energy.double().requires_grad_(False)


def by_hand(energy: TagPairs, tags: list[int]) -> float:
    """W summed over pairs of positions."""
    W, place = energy.pairs + energy.pairs.T, {tag: k for k, tag in enumerate(energy.chosen)}
    return sum(
        float(W[place[tags[s]], place[tags[t]]])
        for t in range(len(tags))
        for s in range(t)
        if tags[s] in place and tags[t] in place
    )


@pytest.mark.parametrize("chosen", [CHOSEN, None])
def test_it_is_a_sum_over_pairs_of_positions(chosen) -> None:
    energy, every = small(chosen), Categorical().enumerate((LENGTH, TAGS))
    h = energy.encode(torch.zeros(1, LENGTH, 1))
    expected = [by_hand(energy, tags) for tags in every.long().argmax(-1).tolist()]
    torch.testing.assert_close(energy(h, every.unsqueeze(1))[:, 0], torch.tensor(expected).double())


def test_of_a_relaxed_output_it_is_the_mean() -> None:
    energy, space = small(), Categorical()
    y = space.random(torch.zeros(1, LENGTH, TAGS).double(), 3, torch.Generator().manual_seed(1))
    every = space.enumerate((LENGTH, TAGS))
    h = energy.encode(y[0])
    for relaxed, e in zip(y[:, 0], energy(h, y)[:, 0], strict=True):
        p = torch.stack([relaxed[one].prod() for one in every])
        torch.testing.assert_close(e, (p * energy(h, every.unsqueeze(1))[:, 0]).sum())


@pytest.mark.parametrize("local", [False, True])
def test_it_keeps_the_contract(local) -> None:
    """With a chain too."""
    energy = TotalEnergy([ChainEnergy(nn.Linear(5, 6), TAGS), small()]) if local else small()
    x = torch.randn(3, LENGTH, 5, generator=torch.Generator().manual_seed(1))
    check_energy(energy, x, Categorical(), (LENGTH, TAGS))


def test_padding_and_sparse_candidates_change_nothing() -> None:
    features = nn.Linear(5, 6)
    energy = TotalEnergy([ChainEnergy(features, TAGS), small()]).double()
    x = torch.randn(2, LENGTH, 5).double()
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]).bool()
    y = Categorical().sample(torch.zeros(2, LENGTH, TAGS), 6)
    e = energy(energy.encode(x, mask), y, mask)
    torch.testing.assert_close(energy(energy.encode(x, mask), y.to_sparse(), mask), e)
    alone = energy(energy.encode(x[1:, :2]), y[:, 1:, :2])
    torch.testing.assert_close(alone, e[:, 1:])
