"""Rewards of tagged sentences: what a user's function is given, and checks of what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from lossnet.errors import DataError, SettingError
from lossnet.spaces import sparse
from lossnet.tasks.sequence.tags import PLAIN, parse_tags

#: ``(tokens, soft tags) -> (B,)``: B lists of tokens, and the probability ``(B, T, C)`` of every
#: tag at every token, zeros behind a sentence's end. Values in [0, 1], higher is better.
RewardFunction = Callable[[list[list[str]], Tensor], Any]


@dataclass(frozen=True)
class Reward:
    """A reward function, and the tags that the columns of its soft tags stand for.

    A plain function finds the tags of the labelled sentences there, sorted by name. With
    ``tags`` the columns are those, in that order, and a tag that no labelled sentence has is
    learned from the reward alone.

    Args:
        function: ``(tokens, soft tags) -> (B,)``.
        tags: names of the tags.

    >>> def starts_with_name(tokens, soft):
    ...     return soft[:, 0, 0]
    >>> Reward(starts_with_name, ("NAME", "OTHER")).tags
    ('NAME', 'OTHER')
    """

    function: RewardFunction
    tags: tuple[str, ...]

    def __post_init__(self) -> None:
        named = not isinstance(self.tags, str) and all(isinstance(tag, str) for tag in self.tags)
        if not (named and self.tags) or len(set(self.tags)) < len(self.tags):
            rule = "a tuple of one or more names, each once, such as ('NAME',)"
            raise SettingError(f"a reward's tags must be {rule}, got {self.tags!r}")

    def __call__(self, tokens: list[list[str]], soft: Tensor) -> Any:
        return self.function(tokens, soft)


@dataclass(frozen=True)
class Rewarded:
    """A reward of the sentences of one batch, ``(K, B, T, C) -> (K, B)``, checked.

    Args:
        function: the reward.
        tokens: the batch's sentences.
        mask: true where there is a token, ``(B, T)``.
        tags: the model's; a :class:`Reward` finds its own among them.
    """

    function: RewardFunction
    tokens: list[list[str]]
    mask: Tensor
    tags: Sequence[str] = ()

    def __call__(self, y: Tensor) -> Tensor:
        dtype = y.dtype if y.is_floating_point() else torch.get_default_dtype()
        soft = sparse.dense(y, dtype) * self.mask.unsqueeze(-1)
        if own := getattr(self.function, "tags", ()):
            soft = soft[..., [self.tags.index(tag) for tag in own]]
        values = self.function(self.tokens * len(soft), soft.flatten(0, 1))
        return _checked(values, soft).view(soft.shape[:2])


def check_reward_tags(own: Sequence[str], scheme: str) -> None:
    """Raise where a reward's tags break the scheme of the labelled sentences.

    Args:
        own: the tags that the reward knows.
        scheme: of the labelled sentences; any tag may stand next to plain ones.
    """
    for tag in own if scheme != PLAIN else ():
        try:
            parse_tags([tag], scheme)
        except DataError:
            raise SettingError(
                f"the labelled tags follow {scheme}, and the reward's tag {tag!r} does not (it "
                f"knows {', '.join(own)}); give the reward and the sentences tags of one scheme"
            ) from None


def _checked(values: Any, soft: Tensor) -> Tensor:
    """The reward as a tensor; an error where it is not one number in [0, 1] per sentence."""
    count = soft.shape[0] * soft.shape[1]
    expected = f"expected a tensor of {count} numbers in [0, 1], one per sentence"
    try:
        reward = torch.as_tensor(values, dtype=soft.dtype, device=soft.device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"the reward gave {type(values).__name__}; {expected}") from error
    if reward.shape != (count,):
        gave = f"the reward gave shape {tuple(reward.shape)}"
        raise DataError(f"{gave}; {expected}: sum or average over tokens and tags")
    if reward.isnan().any():
        place = f"sentence {int(reward.isnan().nonzero()[0, 0])} (counted from 0)"
        raise DataError(f"the reward of {place} is nan; does it divide by a count that can be 0?")
    low, high = float(reward.detach().min()), float(reward.detach().max())
    if low < -1e-4 or high > 1 + 1e-4:
        span = f"rewards run from {low:.4g} to {high:.4g}"
        raise DataError(f"{span}; {expected}: divide by the largest that is possible")
    return reward.clamp(0.0, 1.0)
