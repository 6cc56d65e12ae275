"""TagAttention: the contract, naive loops, and what it can tell apart."""

import math

import pytest
import torch
from torch import nn

from lossnet.energies import ChainEnergy, TagAttention, TotalEnergy
from lossnet.errors import SettingError
from lossnet.spaces import Categorical
from lossnet.testing import check_energy

TAGS, LENGTH = 3, 4


class Features(nn.Linear):
    """Features of vectors in place of words."""


def small(words: bool = False) -> TagAttention:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return TagAttention(TAGS, width=8, heads=2, words=Features(5, 6) if words else None)


def inputs(rows: int = 3) -> torch.Tensor:
    return torch.randn(rows, LENGTH, 5, generator=torch.Generator().manual_seed(1))


def naive(energy: TagAttention, x: torch.Tensor, y: torch.Tensor) -> float:
    """One output of one input, head by head and position by position."""
    width, heads = energy.of_tags.out_features, energy.heads
    z = []
    for t, tag in enumerate(y):
        rates = [1e4 ** (-i / (width // 2)) for i in range(width // 2)]
        place = [math.sin(t * r) for r in rates] + [math.cos(t * r) for r in rates]
        z.append(energy.of_tags(tag) + torch.tensor(place, dtype=y.dtype))
        if energy.words is not None:
            z[-1] = z[-1] + energy.of_words(energy.words(x[t]))
    parts = [energy.projections(one).split(width) for one in z]
    total = 0.0
    for t in range(len(y)):
        attended = []
        for head in range(heads):
            own = slice(head * width // heads, (head + 1) * width // heads)
            scores = [parts[t][0][own] @ parts[s][1][own] for s in range(len(y))]
            shares = (torch.stack(scores) / math.sqrt(width // heads)).softmax(0)
            values = (share * parts[s][2][own] for s, share in enumerate(shares))
            attended.append(sum(values, torch.zeros(width // heads, dtype=y.dtype)))
        total += energy.output(z[t] + torch.cat(attended)).max().item()
    return total


@pytest.mark.parametrize("words", [False, True])
def test_it_is_attention_by_hand(words) -> None:
    energy, x = small(words).double(), inputs().double()
    y = Categorical().random(torch.zeros(3, LENGTH, TAGS).double(), 2)
    e = energy(energy.encode(x), y).detach()
    for k in range(2):
        for b in range(3):
            assert float(e[k, b]) == pytest.approx(naive(energy, x[b], y[k, b]), abs=1e-10)


@pytest.mark.parametrize("words", [False, True])
def test_it_keeps_the_contract(words) -> None:
    check_energy(small(words), inputs(), Categorical(), (LENGTH, TAGS))


def test_with_a_chain_it_keeps_the_contract() -> None:
    total = TotalEnergy([ChainEnergy(Features(5, 6), TAGS), small(words=True)])
    for part in total.parts[0].parameters():
        nn.init.normal_(part)
    check_energy(total, inputs(), Categorical(), (LENGTH, TAGS))


def test_padding_and_sparse_candidates_change_nothing() -> None:
    energy, x = small(words=True).double(), inputs().double()
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0], [1, 0, 0, 0]]).bool()
    y = Categorical().sample(torch.zeros(3, LENGTH, TAGS), 4)
    e = energy(energy.encode(x, mask), y, mask)
    torch.testing.assert_close(energy(energy.encode(x, mask), y.to_sparse(), mask), e)
    for row, length in enumerate(mask.sum(1).tolist()):
        rows = slice(row, row + 1)
        alone = energy(energy.encode(x[rows, :length]), y[:, rows, :length])
        torch.testing.assert_close(alone, e[:, rows])


def test_it_learns_that_a_tag_occurs_once() -> None:
    """A chain cannot: the two occurrences are never neighbours."""
    torch.manual_seed(0)
    energy = TagAttention(2, width=16, heads=2)
    y = Categorical().enumerate((5, 2))
    tags = y.long().argmax(-1)
    y = y[(tags[:, 1:] + tags[:, :-1] < 2).all(1)].unsqueeze(1)
    once = (y.long().argmax(-1).sum(-1) <= 1).float()
    h = energy.encode(torch.zeros(1, 5, 1))
    optimiser = torch.optim.Adam(energy.parameters(), lr=1e-2)
    for _ in range(300):
        loss = nn.functional.binary_cross_entropy_with_logits(-energy(h, y), once)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert ((energy(h, y) < 0) == once.bool()).all()


def test_sums_keep_their_digits_in_bfloat16() -> None:
    torch.manual_seed(0)
    energy = TagAttention(5, width=8, heads=2)
    nn.init.constant_(energy.output.bias, 5.0)
    y = Categorical().sample(torch.zeros(2, 40, 5), 8)
    with torch.no_grad():
        exact = energy(energy.encode(torch.zeros(2, 40, 1)), y)
        with torch.autocast("cpu", torch.bfloat16):
            found = energy(energy.encode(torch.zeros(2, 40, 1)), y)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, exact, rtol=0.0, atol=0.2)


def test_widths_that_do_not_divide_are_refused() -> None:
    with pytest.raises(SettingError, match="a multiple of twice the heads, got 10 and 4 heads"):
        TagAttention(3, width=10, heads=4)
