"""Sentences as a source of batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.batch import Batch
from lossnet.data.disk_items import DiskItems, each, lengths_of
from lossnet.nets.tokens import Tokens
from lossnet.tasks.sequence.tokens import padded
from lossnet.training.source import SimilarLengths

#: Most tokens of a batch of several sentences, padding counted.
_TOKENS = 1 << 15


def numbered_tags(
    given: Sequence[Sequence[Any]] | None, tags: Sequence[str]
) -> Sequence[np.ndarray] | None:
    """The numbers of sentences' tags, ``(T,)`` each, -1 where one is not known; None without any.

    A tag absent from training can never be right; it stands for no span, or for any tag.
    """
    if given is None:
        return None
    number: dict[Any, int] = {tag: i for i, tag in enumerate(tags)}
    other = number.get("O", 0)
    number |= {None: -1}
    numbers: Sequence[np.ndarray] = each(
        lambda row: np.array([number.get(tag, other) for tag in row]), given
    )
    return numbers


class SentenceSource(SimilarLengths):
    """Sentences of various lengths, padded batch by batch.

    Args:
        sentences: the sentences, each with a length; those on disk are read batch by batch.
        collate: makes :class:`~lossnet.nets.Tokens` of some of them.
        targets: tag numbers of each, ``(T,)``, -1 where a tag is not known; or None.
        tags: number of tags.
        reward: for sentences without targets, a reward of some of them: their numbers and their
            mask to a function ``(K, B, T, C) -> (K, B)``.
    """

    def __init__(
        self,
        sentences: Sequence[Any],
        collate: Callable[[Sequence[Any]], Tokens],
        targets: Sequence[np.ndarray] | None = None,
        *,
        tags: int,
        reward: Callable[[Sequence[int], Tensor], Callable[[Tensor], Tensor]] | None = None,
    ) -> None:
        self._sentences, self._collate = sentences, collate
        self._targets, self._tags, self._reward = targets, tags, reward
        # A file cannot say that a tag is not known.
        some = None if isinstance(targets, DiskItems) else targets
        self._partial = some is not None and any((tags < 0).any() for tags in some)
        super().__init__(lengths_of(sentences), _TOKENS)

    def batch(self, rows: Tensor | slice) -> Batch:
        numbers = range(len(self))[rows] if isinstance(rows, slice) else rows.tolist()
        x = self._collate([self._sentences[number] for number in numbers])
        if self._targets is None:
            reward = None if self._reward is None else self._reward(numbers, x.mask)
            return Batch(x, None, x.mask, reward)
        target = padded([self._targets[number] for number in numbers], x.mask.device)
        known = target >= 0 if self._partial else None
        one_hot = F.one_hot(target if known is None else target.clamp_min(0), self._tags)
        target = one_hot.to(torch.get_default_dtype()) * x.mask.unsqueeze(-1)
        return Batch(x, target, x.mask, known=known)
