"""Sentences as a source of batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.context import Batch
from lossnet.nets.tokens import Tokens
from lossnet.tasks.sequence.tokens import padded
from lossnet.training.source import random_order

#: Batches are cut from so many batches' worth of sentences at a time, sorted by length.
_POOL = 20
#: Most tokens of a batch of several sentences, padding counted: a batch with a very long sentence
#: is cut, so that memory stays within bounds.
_TOKENS = 1 << 15


class SentenceSource:
    """Sentences of various lengths, padded batch by batch.

    Batches of an epoch hold sentences of similar length, so that little of them is padding.

    Args:
        sentences: the sentences, each with a length.
        collate: makes :class:`~lossnet.nets.Tokens` of some of them.
        targets: tag numbers of each, ``(T,)``, or None.
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
        self._lengths = torch.tensor([len(sentence) for sentence in sentences], device="cpu")

    def __len__(self) -> int:
        return len(self._sentences)

    def batch(self, rows: Tensor | slice) -> Batch:
        numbers = range(len(self))[rows] if isinstance(rows, slice) else rows.tolist()
        x = self._collate([self._sentences[number] for number in numbers])
        if self._targets is None:
            reward = None if self._reward is None else self._reward(numbers, x.mask)
            return Batch(x, None, x.mask, reward)
        target = padded([self._targets[number] for number in numbers], x.mask.device)
        one_hot = F.one_hot(target, self._tags)
        return Batch(x, one_hot.to(torch.get_default_dtype()) * x.mask.unsqueeze(-1), x.mask)

    def shuffled(self, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        order = random_order(len(self), generator)
        batches: list[Tensor] = []
        for pool in order.split(_POOL * size):
            batches += self._ranked(pool, size)
        return [batches[i] for i in random_order(len(batches), generator).tolist()]

    def in_order(self, size: int) -> Sequence[Tensor]:
        return self._ranked(torch.arange(len(self), device="cpu"), size)

    def _ranked(self, rows: Tensor, size: int) -> list[Tensor]:
        """The rows in batches of that size at most, from the shortest sentences to the longest."""
        batches: list[Tensor] = []
        for batch in rows[self._lengths[rows].argsort(stable=True)].split(size):
            while len(batch) * (longest := int(self._lengths[batch[-1]])) > _TOKENS:
                if (fit := max(_TOKENS // longest, 1)) == len(batch):
                    break
                batches.append(batch[-fit:])
                batch = batch[:-fit]
            batches.append(batch)
        return batches
