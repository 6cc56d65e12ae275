"""A reward for the fields of a citation, from rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from citation_reward.layout import Citation
from citation_reward.rules import RULES, joined
from citation_reward.words import FIELDS
from lossnet.errors import SettingError


class CitationReward:
    """How far soft fields agree with what rules say of a citation, ``(tokens, soft) -> (B,)``.

    With V[t, c] the weight of the rules' votes for field c at token t, and J the tokens that
    belong with the one before them,

        reward(y) = (Σ_t <V_t, y_t> + λ Σ_{t in J} <y_{t-1}, y_t>) / (Σ_t max_c V_tc + λ |J|),

    in [0, 1] and differentiable. The rules are those of
    :mod:`citation_reward.rules`, made for references as the Cora data has them.

    Args:
        continuity: λ, what it counts that two tokens without a break between share a field.
        tags: the fields, in the order of the soft tags' last axis.

    >>> reward = CitationReward()
    >>> reward.decode([["A.", "Cau", ".", "On", "hash", ".", "1992", "."]])[0][::2]
    ['author', 'author', 'title', 'date']
    """

    def __init__(self, *, continuity: float = 0.5, tags: Sequence[str] = FIELDS) -> None:
        if not continuity >= 0:
            raise SettingError(f"continuity is {continuity}; give 0 or more")
        if strange := set(FIELDS) ^ set(tags):
            raise SettingError(f"the tags differ from a citation's fields in {sorted(strange)}")
        self.continuity = continuity
        self.tags = tuple(tags)

    def __call__(self, tokens: list[list[str]], soft: Tensor) -> Tensor:
        found = [self._read(tuple(sentence)) for sentence in tokens]
        # One column behind the votes holds what belongs together, so that padding is one call.
        padded = pad_sequence(found, batch_first=True).to(soft)
        padded = F.pad(padded, (0, 0, 0, soft.shape[1] - padded.shape[1]))
        votes, together = padded[..., :-1], padded[..., -1]
        agree = (soft[:, 1:] * soft[:, :-1]).sum(-1)
        agreed = (votes * soft).sum((1, 2)) + self.continuity * (together[:, 1:] * agree).sum(1)
        most = votes.amax(2).sum(1) + self.continuity * together.sum(1)
        return agreed / most.clamp_min(1e-9)

    def _read(self, tokens: tuple[str, ...]) -> Tensor:
        return _votes(tokens, self.tags)

    def decode(self, tokens: list[list[str]]) -> list[list[str]]:
        """The fields of highest reward, found exactly: what the rules say by themselves."""
        return [self._best(tuple(sentence)) for sentence in tokens]

    def _best(self, tokens: tuple[str, ...]) -> list[str]:
        read = self._read(tokens).numpy()
        votes, links = read[:, :-1], read[:, -1]
        value, came = votes[0], []
        for t in range(1, len(tokens)):
            bonus = self.continuity * links[t]
            stay = value + bonus >= value.max()
            came.append(np.where(stay, np.arange(len(value)), value.argmax()))
            value = np.where(stay, value + bonus, value.max()) + votes[t]
        best = [int(value.argmax())]
        for origin in reversed(came):
            best.append(int(origin[best[-1]]))
        return [self.tags[number] for number in reversed(best)]


@lru_cache(maxsize=20_000)
def _votes(tokens: tuple[str, ...], tags: tuple[str, ...]) -> Tensor:
    """All rules' votes, and whether a token belongs with the one before, ``(T, C + 1)``."""
    citation = Citation.of(list(tokens))
    votes = torch.zeros(len(tokens), len(tags) + 1, device="cpu")
    for rule, weight in RULES.items():
        for start, stop, fields in rule(citation):
            for field in fields:
                votes[start:stop, tags.index(field)] += weight
    votes[:, -1] = torch.tensor(joined(list(tokens)), device="cpu")
    return votes
