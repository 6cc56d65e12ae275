"""Texts through a pretrained encoder: as vectors computed once, or as sub-words to train on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from torch import Tensor, nn

from lossnet.encoders import Coded, Pretrained, vectors_of
from lossnet.encoders.encoder import Training
from lossnet.files import check_form
from lossnet.nets.base import Headed
from lossnet.nets.mlp import FeatureMLP
from lossnet.plain_text import counted
from lossnet.tasks.model_folder import VOCABULARY

Pooling = Literal["mean", "cls"]
#: What :meth:`TextEncoder.facts` gives.
_FORM = {"pooling": str, "limit": int, "truncated": [float], "pretrained": object}


class Truncation(NamedTuple):
    """What an encoder cut off the ends of texts.

    Attributes:
        texts: how many texts were cut.
        of: how many there are.
        share: of all their sub-words, how many were cut.
        limit: most sub-words of a text.
    """

    texts: int
    of: int
    share: float
    limit: int

    def __str__(self) -> str:
        what = f"{self.texts:,} of {counted(self.of, 'text')} cut to {self.limit} sub-words"
        return f"{what}, which leaves out {100 * self.share:.1f} % of all sub-words"


class TextEncoder:
    """A pretrained encoder and how it is used on texts.

    Args:
        pretrained: the encoder.
        pooling: how its sub-words become one vector.
        limit: most sub-words of a text, or the most that the encoder takes where that is fewer.
    """

    def __init__(self, pretrained: Pretrained, pooling: Pooling, limit: int) -> None:
        self.pretrained, self.pooling = pretrained, pooling
        self.tokeniser = pretrained.tokeniser(min(int(limit), pretrained.most))

    @property
    def width(self) -> int:
        """Width of a vector."""
        return self.pretrained.width

    def checksum(self) -> str:
        """Of the encoder's weights, config and tokenizer."""
        return self.pretrained.fingerprint

    def rows(self, texts: Sequence[str], **options: Any) -> np.ndarray:
        """Vectors ``(n, width)``; options as those of :func:`~lossnet.encoders.vectors_of`."""
        limit = self.tokeniser.limit
        found: np.ndarray = vectors_of(
            self.pretrained, texts, pool=self.pooling, limit=limit, **options
        )
        return found

    def truncation(self, texts: Sequence[str]) -> Truncation:
        """What is cut off these texts."""
        return truncation(self.tokeniser.texts(texts), self.tokeniser.limit)

    def net(self, training: Training, lora_rank: int) -> Any:
        """The encoder as a module."""
        return self.pretrained.net(
            pool=self.pooling, training=training, lora_rank=lora_rank, normalise=True
        )

    def pack(self, *, weights: bool) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What a model folder holds of it: see :meth:`~lossnet.encoders.Pretrained.pack`."""
        tensors, facts = self.pretrained.pack(weights=weights)
        own = {"pooling": self.pooling, "limit": self.tokeniser.limit}
        return tensors, {**own, "pretrained": facts}

    @classmethod
    def restore(cls, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Self:
        """The encoder that :meth:`pack` gave."""
        check_form(facts, _FORM, VOCABULARY)
        pretrained = Pretrained.unpack(tensors, facts["pretrained"])
        return cls(pretrained, facts["pooling"], facts["limit"])


def truncation(coded: Sequence[Coded], limit: int) -> Truncation:
    """What was cut off tokenised texts."""
    cut = sum(one.cut for one in coded)
    kept = sum(len(one) for one in coded)
    return Truncation(
        sum(one.cut > 0 for one in coded), len(coded), cut / max(cut + kept, 1), limit
    )


class TextNet(Headed):
    """The task-net over an encoder: an MLP on its vector, then one embedding and bias per label.

    Every label starts with a probability of about 1 / L: from 1/2, a few hundred steps would go by
    until the many labels that a text does not have are left out.

    Args:
        features: the encoder.
        labels: number of labels L.
        hidden: widths of the MLP's layers; () goes straight to the labels.
        dropout: share of the encoder's vector that is dropped, and between layers.
    """

    def __init__(self, features: Any, labels: int, hidden: Sequence[int], dropout: float) -> None:
        super().__init__()
        self.features, self.labels = features, labels
        self.hidden, self.dropout = hidden, dropout
        self.last = self.new_head()

    def head(self, h: Tensor) -> Tensor:
        """Logits ``(B, L)`` of vectors ``(B, width)``."""
        logits: Tensor = self.last(h)
        return logits

    def new_head(self) -> nn.Module:
        """A second head of the same kind."""
        width: Any = self.features.out_features
        layers = FeatureMLP(width, self.hidden, self.dropout, input_dropout=self.dropout)
        last = nn.Linear(layers.out_features, self.labels)
        nn.init.constant_(last.bias, -math.log(max(self.labels - 1, 1)))
        return nn.Sequential(layers, last)
