"""Samples of valid sequences against enumeration."""

from itertools import pairwise

import torch

from lossnet.spaces import Categorical, Sequences

#: O, B, I, and E, which must end a span that B begins.
FOLLOWS = torch.tensor([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0]]).bool()
BEGINS = torch.tensor([1, 1, 0, 0]).bool()
ENDS = torch.tensor([1, 0, 0, 1]).bool()
SPACE = Sequences(follows=FOLLOWS, begins=BEGINS, ends=ENDS)


def valid(tags: list[int]) -> bool:
    inner = all(FOLLOWS[a, b] for a, b in pairwise(tags))
    return bool(BEGINS[tags[0]] and ENDS[tags[-1]] and inner)


def expected(logits: torch.Tensor) -> dict[tuple[int, ...], float]:
    """The probability of every valid sequence, by enumeration."""
    every = Categorical().enumerate(tuple(logits.shape)).long().argmax(-1).tolist()
    p = {tuple(tags): float(logits.softmax(-1)[range(len(tags)), tags].prod()) for tags in every}
    p = {tags: value for tags, value in p.items() if valid(list(tags))}
    return {tags: value / sum(p.values()) for tags, value in p.items()}


def test_samples_have_the_right_frequencies_with_and_without_padding() -> None:
    logits = 2 * torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]]).bool()
    y = SPACE.sample(logits, 40_000, torch.Generator().manual_seed(1), mask=mask)
    assert y.shape == (40_000, 2, 4, 4)
    assert (y.sum(-1) == 1).all()
    for row, length in enumerate((4, 2)):
        found = y[:, row, :length].long().argmax(-1)
        sequences, counts = found.unique(dim=0, return_counts=True)
        p = expected(logits[row, :length])
        for tags, count in zip(sequences.tolist(), counts.tolist(), strict=True):
            assert abs(count / 40_000 - p.pop(tuple(tags))) < 0.01
        assert sum(p.values()) < 0.01


def test_a_net_that_is_sure_of_an_invalid_sequence_is_sampled_all_the_same() -> None:
    logits = torch.full((1, 30, 4), -1e4)
    logits[:, :, 2] = 1e4  # I throughout
    y = SPACE.sample(logits, 50).long().argmax(-1)[:, 0]
    assert all(valid(tags) for tags in y.tolist())
    assert (y[:, 1:-1] == 2).all()  # the nearest: B I ... I E


def test_everything_else_is_as_before() -> None:
    logits = torch.randn(2, 3, 4)
    y = SPACE.sample(logits, 5)
    torch.testing.assert_close(SPACE.log_prob(logits, y), Categorical().log_prob(logits, y))
