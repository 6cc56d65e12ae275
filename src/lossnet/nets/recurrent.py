"""Recurrent networks on tokens: features from both sides of a word, and a tagger on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lossnet.nets.base import Headed
from lossnet.nets.mlp import Dropout
from lossnet.nets.tokens import Tokens
from lossnet.nets.words import WordTable


class BiLSTM(nn.Module):
    """One LSTM forwards and one backwards, their outputs side by side.

    Padding is at the end for both, so it changes no output: a sentence's features do not depend
    on the others of its batch.

    Args:
        in_features: width of the inputs.
        hidden: width of each LSTM.
    """

    def __init__(self, in_features: int, hidden: int) -> None:
        super().__init__()
        self.forwards = nn.LSTM(in_features, hidden, batch_first=True)
        self.backwards = nn.LSTM(in_features, hidden, batch_first=True)
        self.out_features = 2 * hidden

    def forward(self, values: Tensor, tokens: Tokens) -> Tensor:
        """``(B, T, 2 hidden)`` of ``values`` ``(B, T, in_features)``."""
        order = tokens.reversal.unsqueeze(-1)
        there, _ = self.forwards(values)
        turned = values.gather(1, order.expand_as(values))
        back, _ = self.backwards(turned)
        return torch.cat([there, back.gather(1, order.expand_as(back))], -1)


class CharacterCNN(nn.Module):
    """A vector for each word from its characters: a convolution and its maximum.

    Args:
        characters: number of characters, 0 being none.
        width: width of a character's vector.
        filters: width of the word's vector.
        reach: characters a filter sees.
    """

    def __init__(
        self, characters: int, *, width: int = 25, filters: int = 30, reach: int = 3
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, width, padding_idx=0)
        self.convolution = nn.Conv1d(width, filters, reach, padding=reach // 2)
        self.reach, self.out_features = reach, filters

    def forward(self, chars: Tensor) -> Tensor:
        """``(B, T, filters)`` of ``chars`` ``(B, T, W)``."""
        batch, time, _ = chars.shape
        flat = chars.flatten(0, 1)
        # What each character adds at each place of a filter is found once for all characters; and
        # only where a word has characters: next to a long word most places are padding.
        adds = torch.einsum("cw,fwr->rcf", self.embedding.weight, self.convolution.weight)
        word, place = flat.nonzero(as_tuple=True)
        seen = F.pad(flat, (self.reach // 2, self.reach - 1 - self.reach // 2))
        assert self.convolution.bias is not None
        values: Tensor = self.convolution.bias
        for offset, add in enumerate(adds):
            values = values + F.embedding(seen[word, place + offset], add, padding_idx=0)
        top = values.new_full((len(flat), self.out_features), -torch.inf)
        top = top.scatter_reduce(0, word.unsqueeze(1).expand_as(values), values, "amax")
        return top.masked_fill(top == -torch.inf, 0.0).view(batch, time, -1)


class TokenFeatures(nn.Module):
    """Features of every token: word, characters and other columns through a BiLSTM.

    Args:
        words: word vectors to start from, ``(number, width)``; or the width of vectors that come
            with the tokens.
        hidden: width of the LSTM in each direction.
        trained: how many of the word vectors, from the first, are trained; None trains all. See
            :class:`WordTable`.
        characters: number of characters; 0 leaves the character CNN out.
        columns: number of values of each other column, by name.
        column_width: width of a column value's vector.
        dropout: share of entries dropped of the LSTM's input and output.
    """

    def __init__(
        self,
        words: Tensor | int,
        *,
        hidden: int = 100,
        trained: int | None = None,
        characters: int = 0,
        columns: Mapping[str, int] | None = None,
        column_width: int = 10,
        dropout: float = 0.3,
    ) -> None:
        super().__init__()
        self.words = None if isinstance(words, int) else WordTable(words, trained=trained)
        self.characters = CharacterCNN(characters) if characters else None
        self.columns = column_tables(columns or {}, column_width)
        width = words if isinstance(words, int) else words.shape[1]
        width += column_width * len(self.columns)
        width += self.characters.out_features if self.characters is not None else 0
        self.recurrent = BiLSTM(width, hidden)
        self.drop = Dropout(dropout)
        self.out_features = self.recurrent.out_features

    def forward(self, x: Tokens) -> Tensor:
        """``(B, T, out_features)``."""
        given = x.vectors if self.words is None else self.words(x.words)
        assert given is not None
        parts = [given]
        if self.characters is not None and x.chars is not None:
            parts.append(self.characters(x.chars))
        parts += [embed(x.columns[name]) for name, embed in self.columns.items()]
        values = parts[0] if len(parts) == 1 else torch.cat(parts, -1)
        return self.drop(self.recurrent(self.drop(values), x))


class EncoderFeatures(nn.Module):
    """Features of every token from a pretrained encoder, with other columns next to them.

    Args:
        encoder: sub-words to word vectors, an :class:`~lossnet.encoders.Encoder` that pools words.
        columns: number of values of each other column, by name.
        column_width: width of a column value's vector.
        dropout: share of entries dropped.
    """

    def __init__(
        self,
        encoder: nn.Module,
        *,
        columns: Mapping[str, int] | None = None,
        column_width: int = 10,
        dropout: float = 0.3,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.columns = column_tables(columns or {}, column_width)
        width: Any = encoder.out_features
        self.out_features = int(width) + column_width * len(self.columns)
        self.drop = Dropout(dropout)

    def forward(self, x: Tokens) -> Tensor:
        """``(B, T, out_features)``."""
        parts = [embed(x.columns[name]) for name, embed in self.columns.items()]
        return self.drop(torch.cat([self.encoder(x.subwords), *parts], -1))


def column_tables(columns: Mapping[str, int], width: int) -> nn.ModuleDict:
    """A vector for each value of each column, by the columns' names."""
    tables = {name: nn.Embedding(count, width, padding_idx=0) for name, count in columns.items()}
    return nn.ModuleDict(tables)


class Tagger(Headed):
    """The task-net of a tagging problem: token features and a linear layer; logits out.

    Args:
        features: the feature network, with ``out_features``.
        tags: number of tags C.
    """

    def __init__(self, features: nn.Module, tags: int) -> None:
        super().__init__()
        self.features = features
        width: Any = features.out_features
        self.output = nn.Linear(width, tags)

    def head(self, h: Tensor) -> Tensor:
        """Logits ``(B, T, C)`` of features."""
        return self.output(h)

    def new_head(self) -> nn.Linear:
        """A second linear layer."""
        return nn.Linear(self.output.in_features, self.output.out_features)
