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
        if isinstance(self.tags, str):
            raise SettingError(
                f"a reward's tags are the string {self.tags!r}; give a tuple of names, such as "
                f"({self.tags!r},)"
            )
        named = self.tags and all(isinstance(tag, str) for tag in self.tags)
        if not named or len(set(self.tags)) < len(self.tags):
            raise SettingError(f"a reward's tags are {self.tags!r}; name one or more, each once")

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
                f"the labelled sentences have tags of the scheme {scheme}, and the reward knows "
                f"{tag!r}, which does not belong to it (all it knows: {', '.join(own)}); give "
                "labelled tags as the reward has them, or a reward with tags such as theirs"
            ) from None


def _checked(values: Any, soft: Tensor) -> Tensor:
    """The reward as a tensor; an error where it is not one number in [0, 1] per sentence."""
    count = soft.shape[0] * soft.shape[1]
    try:
        reward = torch.as_tensor(values, dtype=soft.dtype, device=soft.device)
    except (TypeError, ValueError, RuntimeError) as error:
        wanted = f"a tensor of {count} numbers, one per sentence"
        raise DataError(f"the reward gave {type(values).__name__}; expected {wanted}") from error
    if reward.shape != (count,):
        raise DataError(
            f"the reward gave shape {tuple(reward.shape)}; expected {(count,)}, one number per "
            "sentence: sum or average over tokens and tags"
        )
    if reward.isnan().any():
        raise DataError(
            f"the reward of sentence {int(reward.isnan().nonzero()[0, 0])} of {count} (counted "
            "from 0) is nan; expected a number in [0, 1]: does it divide by a count that can be 0?"
        )
    low, high = float(reward.detach().min()), float(reward.detach().max())
    if low < -1e-4 or high > 1 + 1e-4:
        raise DataError(
            f"rewards run from {low:.4g} to {high:.4g}; expected numbers in [0, 1], higher is "
            "better: divide by the largest that is possible"
        )
    return reward.clamp(0.0, 1.0)
