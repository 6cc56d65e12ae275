"""Tag language models as energies: how plausible a complete tag sequence is."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from lossnet.energies.energy import Energy
from lossnet.nets.tokens import Tokens
from lossnet.nets.words import WordTable
from lossnet.spaces import sparse


class TagLanguageModel(Energy):
    """E(y) = -Σ_{t=1..T+1} log(y_t' h(y_0, ..., y_{t-1}))   (paper 003, Eq. 8).

    h is an LSTM over tags that gives a distribution over the next one; y_0 is the start and
    y_{T+1} the end of the sequence. With ``words`` it reads the words before position t as well,
    and with ``backward`` the sequence from its end (Eq. 9).

    Args:
        tags: number of tags C.
        hidden: width of the LSTM.
        words: word vectors ``(number, width)`` of a model that reads words; None reads tags alone.
        backward: read from the end.
    """

    def __init__(
        self, tags: int, *, hidden: int = 100, words: Tensor | None = None, backward: bool = False
    ) -> None:
        super().__init__()
        self.tags, self.backward = tags, backward
        self.words = None if words is None else WordTable(words, trained=0)
        width = 0 if words is None else words.shape[1]
        self.recurrent = nn.LSTM(tags + 1 + width, hidden, batch_first=True)
        self.output = nn.Linear(hidden, tags + 1)

    def encode(self, x: Tokens, mask: Tensor | None = None) -> dict[str, Any]:
        """The order to read in, and the word vectors in that order."""
        order = x.reversal if self.backward else None
        like = self.output.weight.new_zeros((*x.words.shape, self.tags))
        if self.words is None:
            return {"order": order, "words": None, "like": like}
        words = x.words if order is None else x.words.gather(1, order)
        return {"order": order, "words": self.words(words), "like": like}

    def forward(self, h: dict[str, Any], y: Tensor, mask: Tensor | None = None) -> Tensor:
        y = sparse.dense(y, self.output.weight.dtype)
        k, batch, time, tags = y.shape
        counted = y.new_ones((batch, time)) if mask is None else mask.to(y.dtype)
        if h["order"] is not None:
            order = h["order"].unsqueeze(-1)
            y = y.gather(2, order.expand(k, batch, time, tags))
        next_tag = self._next(h["words"], y).softmax(-1).view(k, batch, time + 1, tags + 1)
        # A relaxed tag may meet a probability of next to nothing; the logarithm stays finite.
        agreed = (next_tag[..., :time, :tags] * y).sum(-1).clamp_min(1e-30)
        tokens = (agreed.log() * counted).sum(-1)
        last = counted.sum(1).long().expand(k, batch).unsqueeze(-1)
        ends = next_tag[..., tags].gather(2, last).squeeze(-1).clamp_min(1e-30)
        return -(tokens + ends.log())

    def _next(self, words: Tensor | None, y: Tensor) -> Tensor:
        """Logits of the tag at every position and after the last, ``(K B, T + 1, C + 1)``."""
        k, batch, _, tags = y.shape
        start = nn.functional.pad(y.new_ones(1), (tags, 0)).expand(k * batch, 1, -1)
        read = torch.cat([start, nn.functional.pad(y.flatten(0, 1), (0, 1))], 1)
        if words is not None:
            before = nn.functional.pad(words, (0, 0, 1, 0))
            read = torch.cat([read, before.repeat(k, 1, 1)], -1)
        hidden, _ = self.recurrent(read)
        return self.output(hidden)

    def log_partition(self, h: dict[str, Any], mask: Tensor | None = None) -> Tensor:
        """log Σ_y exp(-E(x, y)) = 0, ``(B,)``: over sequences of all lengths a distribution."""
        like: Tensor = h["like"]
        return like.new_zeros(len(like))

    def output_like(self, h: dict[str, Any]) -> Tensor:
        return h["like"]
