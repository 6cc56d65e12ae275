"""Rewards of a batch: what the function is given, and what it may not give."""

import pytest
import torch

from lossnet.errors import DataError, SettingError
from lossnet.tasks.sequence import Reward, Rewarded

TOKENS = [["a", "b", "c"], ["d"]]
MASK = torch.tensor([[True, True, True], [True, False, False]])


def outputs(k: int = 4, c: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand((k, 2, 3, c), generator=generator, dtype=torch.float64).softmax(-1)


def first_tag(tokens, soft):
    """Mean probability of the first column, over a sentence's own tokens."""
    return torch.stack([row[: len(own), 0].mean() for own, row in zip(tokens, soft, strict=True)])


def test_every_candidate_is_judged_beside_its_tokens() -> None:
    y = outputs()
    found = Rewarded(first_tag, TOKENS, MASK)(y)
    assert found.shape == (4, 2)
    for k in range(4):
        for b in range(2):
            alone = first_tag([TOKENS[b]], y[k, b : b + 1])[0]
            assert float(found[k, b]) == pytest.approx(float(alone), abs=1e-12)


def test_columns_come_in_the_rewards_own_order() -> None:
    y = outputs()
    found = Rewarded(Reward(first_tag, ("c", "a")), TOKENS, MASK, ["a", "b", "c"])(y)
    torch.testing.assert_close(found, Rewarded(first_tag, TOKENS, MASK)(y[..., [2, 1, 0]]))


def test_padding_is_zero_and_gradients_flow() -> None:
    seen = []

    def keep(tokens, soft):
        seen.append(soft)
        return soft.mean((1, 2))

    y = outputs().requires_grad_()
    Rewarded(keep, TOKENS, MASK)(y).sum().backward()
    assert not seen[0].view(4, 2, 3, 3)[:, 1, 1:].any()
    assert y.grad[:, 0].all()
    assert not y.grad[:, 1, 1:].any()


def test_discrete_candidates_are_numbers_to_the_reward() -> None:
    y = outputs() == outputs().amax(-1, keepdim=True)
    found = Rewarded(first_tag, TOKENS, MASK)(y)
    torch.testing.assert_close(found, Rewarded(first_tag, TOKENS, MASK)(y.float()))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda t, s: s.sum(-1), r"gave shape \(8, 3\); expected a tensor of 8 numbers"),
        (lambda t, s: s.mean(), r"gave shape \(\); expected a tensor of 8"),
        (lambda t, s: s.sum((1, 2)) / 0 * 0, "of sentence 0 .* is nan; does it divide"),
        (
            lambda t, s: 7 * torch.ones(8),
            r"rewards run from 7 to 7; expected .* numbers in \[0, 1\]",
        ),
        (lambda t, s: torch.arange(8) - 4.0, "rewards run from -4 to 3"),
        (lambda t, s: None, "the reward gave NoneType; expected a tensor of 8 numbers"),
        (lambda t, s: ["x"] * 8, "the reward gave list; expected a tensor of 8 numbers"),
    ],
)
def test_what_a_reward_may_not_give(function, message) -> None:
    with pytest.raises(DataError, match=message):
        Rewarded(function, TOKENS, MASK)(outputs())


@pytest.mark.parametrize("tags", [(), ("A", "A")])
def test_tags_are_named_once(tags) -> None:
    with pytest.raises(SettingError, match="one or more names, each once"):
        Reward(first_tag, tags)


def test_one_name_is_no_list_of_tags() -> None:
    with pytest.raises(SettingError, match=r"such as \('NAME',\), got 'NAME'"):
        Reward(first_tag, tags="NAME")
    with pytest.raises(SettingError, match=r"one or more names, .* got \(1, 2\)"):
        Reward(first_tag, tags=(1, 2))
