"""How words reach the nets: by a table of word vectors, or by a pretrained encoder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from lossnet import encoders
from lossnet.checks import check_choice, check_int
from lossnet.encoders.encoder import TRAININGS
from lossnet.errors import SettingError
from lossnet.nets import EncoderFeatures, TokenFeatures, Tokens
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tokens import Coded, collate, padded

if TYPE_CHECKING:
    from lossnet.tasks.sequence.tagging import TaggingEstimator


def check_encoder(model: TaggingEstimator) -> None:
    """Raise on settings of an encoder that cannot work."""
    given = model.encoder
    if not isinstance(given, str | Path | encoders.Pretrained | None):
        kind = type(given).__name__
        raise SettingError(f"encoder is a {kind}; give a folder, a name on the hub or None")
    check_choice("encoder_training", model.encoder_training, TRAININGS)
    check_int("lora_rank", model.lora_rank)
    if model.max_length is not None:
        check_int("max_length", model.max_length)
    if given is not None and model.vectors is not None:
        raise SettingError("vectors and encoder both give word vectors; leave one of them out")
    if given is not None and model.global_energy == "both+words":
        wrong = "global_energy='both+words' reads a table of word vectors, and an encoder has none"
        raise SettingError(f"{wrong}; take 'both' or 'forward'")


def features(model: TaggingEstimator, dropout: float) -> TokenFeatures | EncoderFeatures:
    """A new feature network of the fitted sizes.

    Words come from a table or, where the encoder is frozen, as its vectors, and go through a
    BiLSTM; an encoder that is trained takes the place of both.
    """
    coder, pretrained = model.coder_, model.encoder_
    if pretrained is not None and model.encoder_training != "frozen":
        how, rank = model.encoder_training, int(model.lora_rank)
        encoder = pretrained.net(pool="words", training=how, lora_rank=rank)
        return EncoderFeatures(encoder, columns=coder.column_sizes, dropout=dropout)
    return TokenFeatures(
        model.table_ if pretrained is None else pretrained.width,
        hidden=int(model.hidden),
        trained=coder.learned if model.fixed_vectors else coder.trained,
        characters=coder.characters,
        columns=coder.column_sizes,
        dropout=dropout,
    )


@dataclass(frozen=True)
class EncodedSentence:
    """A sentence as numbers, and the vectors of its words ``(T, d)`` or its sub-words."""

    coded: Coded
    vectors: np.ndarray | None = None
    subwords: encoders.Coded | None = None

    def __len__(self) -> int:
        return len(self.coded)

    @property
    def lost(self) -> int:
        """Words without a vector."""
        if self.subwords is not None:
            return self.subwords.lost
        return 0 if self.vectors is None else int((~self.vectors.any(1)).sum())


def sentences(
    model: TaggingEstimator, data: SequenceData
) -> tuple[Sequence[Any], Callable[[Sequence[Any]], Tokens]]:
    """The data's sentences as the nets need them, and the function that makes a batch of some."""
    coded = model.coder_.code_each(data.tokens, data.columns)
    if model.encoder_ is None:
        return coded, partial(collate, device=model.device)
    limit = None if model.max_length is None else int(model.max_length)
    if model.encoder_training == "frozen":
        vectors = encoders.vectors_of(
            model.encoder_,
            data.tokens,
            pool="words",
            limit=limit,
            device=model.device,
            progress=bool(model.verbose),
        )
        pairs = zip(coded, vectors, strict=True)
        return [EncodedSentence(*pair) for pair in pairs], partial(_with_vectors, model.device)
    tokeniser = model.encoder_.tokeniser(limit)
    found = tokeniser.sentences(data.tokens, model._marked(data))
    batched = partial(_with_subwords, tokeniser, model.device)
    return [EncodedSentence(c, None, s) for c, s in zip(coded, found, strict=True)], batched


def _with_vectors(device: str, some: Sequence[EncodedSentence]) -> Tokens:
    tokens = collate([one.coded for one in some], device)
    vectors = padded([one.vectors for one in some if one.vectors is not None], device)
    return replace(tokens, vectors=vectors.to(torch.get_default_dtype()))


def _with_subwords(
    tokeniser: encoders.Tokeniser, device: str, some: Sequence[EncodedSentence]
) -> Tokens:
    tokens = collate([one.coded for one in some], device)
    subwords = [one.subwords for one in some if one.subwords is not None]
    return replace(tokens, subwords=tokeniser.collate(subwords, device))


def count_lost(model: TaggingEstimator, found: Sequence[Any]) -> int:
    """How many words of the training sentences have no vector; a note says so."""
    if model.encoder_ is None:
        return 0
    lost, rows = sum(one.lost for one in found), sum(one.lost > 0 for one in found)
    if lost and model.verbose:
        limit = model.max_length or model.encoder_.most
        where = f"{rows:,} of {len(found):,} training sentences"
        what = f"{lost:,} words of {where} lie behind the first {limit} sub-words"
        print(f"note: {what} and have no vector", file=sys.stderr)
    return lost
