"""What a tagger around foreign ones is given, checked, and what it learns from: logits."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lossnet.errors import DataError
from lossnet.tasks.sequence.logit_tagger import TOKEN, LogitData
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tagger_bases import count


@dataclass(frozen=True)
class Sentences:
    """Sentences as a base takes them, and what is known of their tags and documents.

    Attributes:
        given: the sentences.
        known: the same with placeholders for tokens; its tags are None where there are none.
    """

    given: list[Any]
    known: SequenceData

    @classmethod
    def of(cls, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Sentences and tags as users give them, or a :class:`SequenceData` of both."""
        if isinstance(X, SequenceData):
            return cls._of_data(X, y, groups)
        if isinstance(X, str) or not isinstance(X, Iterable):
            rule = "give a list of sentences, each a list of tokens, or load_sequences(path)"
            raise DataError(f"X is {reprlib.repr(X)}; {rule}")
        given = list(X)
        for k, sentence in enumerate(given):
            tokens = hasattr(sentence, "__len__") and getattr(sentence, "ndim", 1) > 0
            if isinstance(sentence, str | dict) or not tokens:
                what = f"sentence {k} (counted from 0) of X is {reprlib.repr(sentence)}"
                raise DataError(f"{what}; give a list of tokens, or an array (T, features)")
        tokens = [[TOKEN] * count(sentence) for sentence in given]
        if groups is not None:
            groups = _numbered(groups, len(given))
        return cls(given, SequenceData(tokens, y, documents=groups))

    @classmethod
    def _of_data(cls, data: SequenceData, y: Any, groups: Any) -> Self:
        if y is not None or groups is not None:
            what = "y" if y is not None else "groups"
            raise DataError(f"{data.name} holds its tags and documents; leave out {what}")
        if data.columns:
            names = ", ".join(data.columns)
            what = f"{data.name} has the columns {names}, which do not reach a base"
            raise DataError(f"{what}; give lists of tokens whose features hold them")
        return cls(list(data.tokens), data)

    def __len__(self) -> int:
        return len(self.given)

    def take(self, rows: Iterable[int]) -> list[Any]:
        """Some sentences as they were given."""
        return [self.given[row] for row in rows]

    def with_logits(self, proba: Sequence[np.ndarray], floor: float) -> LogitData:
        """What the inner tagger learns from: logits of a base's probabilities, and the tags."""
        logits = [logits_of(one, floor) for one in proba]
        tokens = [[TOKEN] * len(one) for one in logits]
        known = self.known
        return LogitData(tokens, known.tags, documents=known.documents, logits=logits)


def tagged(X: Any, y: Any, groups: Any = None) -> Sentences:
    """Sentences to train or choose on, all tags known."""
    found = Sentences.of(X, y, groups)
    if not found.known.labelled:
        raise DataError("fit requires y, the tags of every sentence, and the target y is None")
    if unknown := found.known.n_unknown:
        what = f"{unknown:,} tags are not known (None), which the base cannot learn from"
        raise DataError(f"{what}; fill them in, or use SequenceTagger")
    return found


def validation_of(given: Any) -> Sentences:
    """Sentences and tags of ``validation_data``, checked."""
    pair = (given, None) if isinstance(given, SequenceData) else given
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise DataError(f"validation_data must be a pair (X, y), got a {type(given).__name__}")
    try:
        return tagged(*pair)
    except DataError as error:
        raise DataError(f"validation_data: {error}") from error


def logits_of(proba: np.ndarray, floor: float) -> np.ndarray:
    """log q ``(T, C)`` of probabilities kept ``floor`` above 0: half a token in all tokens."""
    raised = np.maximum(proba, floor)
    found: np.ndarray = np.log(raised / raised.sum(-1, keepdims=True)).astype(np.float32)
    return found


def _numbered(groups: Any, sentences: int) -> list[int]:
    """The number of each sentence's group, whatever they are called."""
    names = list(groups)
    if len(names) != sentences:
        raise DataError(f"{len(names)} groups for {sentences} sentences; give one for each")
    number = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return [number[name] for name in names]
