"""Predicates and their roles in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import index
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from lossnet.errors import DataError
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tags import parse_tags

#: The column of :class:`RoleData` that marks the predicate, and its two values.
PREDICATE, MARK, NO_MARK = "predicate", "V", "-"
VERB, NO_ROLE = "B-V", "O"
#: Tags that a predicate may have. Gold's V seldom begins elsewhere: (V* ... *) or (V*) - (C-V*).
_OF_PREDICATE = {VERB, "I-V", "B-C-V", "I-C-V"}


class Sentence(NamedTuple):
    """What a file says of a sentence besides its roles, to write it again.

    Attributes:
        words: the words.
        columns: other cells of each word, by name: document, number, token, pos, parse.
        frames: the frame and the roleset of each predicate, by its position.
    """

    words: list[str]
    columns: Mapping[str, list[str]] = {}
    frames: Mapping[int, tuple[str, str]] = {}


@dataclass(frozen=True, eq=False, repr=False)
class RoleData(SequenceData):
    """Predicates, each with the words of its sentence, its position and its roles as BIO tags.

    A sentence with three predicates is three rows. :meth:`of` makes one from lists. It is a
    :class:`~lossnet.tasks.sequence.SequenceData` whose column ``"predicate"`` marks the predicate
    and whose ``documents`` number the sentences, which stay together when data is divided.

    Args:
        sentences: the sentences that ``documents`` number, also those without a predicate.
    """

    sentences: tuple[Sentence, ...] = field(default=(), repr=False)
    partial_tags: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if PREDICATE not in self.columns:
            what = f"{self.name} has no column {PREDICATE!r} that marks the predicates"
            raise DataError(f"{what}; use RoleData.of(words, predicates, tags)")
        for k, row in enumerate(self.columns[PREDICATE]):
            if row.count(MARK) != 1:
                raise DataError(f"{self.name}: row {k} (counted from 0) must mark one predicate")
            wrong = self.tags is not None and wrong_tags(self.tags[k], row.index(MARK))
            if wrong:
                raise DataError(f"{self.name}: row {k} (counted from 0): {wrong[0]}")
        put = object.__setattr__
        if self.documents is None or not self.sentences:
            numbers, sentences = _sentences(self.tokens, self.predicates)
            put(self, "documents", numbers)
            put(self, "sentences", sentences)

    @classmethod
    def of(
        cls,
        words: Any,
        predicates: Any,
        tags: Any = None,
        *,
        name: str = "data",
        **more: Any,
    ) -> Self:
        """Rows from lists: the words of each, the predicate's position from 0, and its tags.

        Rows that follow each other with the same words and a later predicate are one sentence.

        >>> RoleData.of([["dogs", "bark"]], [1], [["B-ARG0", "B-V"]])
        RoleData('data', 1 predicates of 1 sentences, 2 tokens, with roles)
        """
        plain = SequenceData(words, name=name)
        rows = plain.tokens
        places = _positions(predicates, rows, name)
        marks = [
            [MARK if t == place else NO_MARK for t in range(len(row))]
            for row, place in zip(rows, places, strict=True)
        ]
        return cls(rows, tags, {PREDICATE: marks}, name=name, **more)

    def __repr__(self) -> str:
        counts = f"{len(self)} predicates of {len(self.sentences)} sentences"
        known = "without roles" if self.tags is None else "with roles"
        return f"RoleData({self.name!r}, {counts}, {self.n_tokens} tokens, {known})"

    @property
    def predicates(self) -> list[int]:
        """The position of each row's predicate, from 0."""
        return [row.index(MARK) for row in self.columns[PREDICATE]]

    def subset(self, rows: Sequence[int] | np.ndarray[Any, Any]) -> Self:
        """The given rows in the order given; sentences of which no row is left are dropped."""
        chosen = super().subset(rows)
        kept = sorted(set(chosen.documents or ()))
        number = {old: new for new, old in enumerate(kept)}
        documents = [number[old] for old in chosen.documents or ()]
        return replace(
            chosen, documents=documents, sentences=tuple(self.sentences[k] for k in kept)
        )

    @classmethod
    def join(cls, parts: Mapping[str, Self]) -> Self:
        """The rows of several parts, one part after another; sentences are counted on."""
        datas = list(parts.values())
        starts = np.cumsum([0, *(len(data.sentences) for data in datas)])
        documents = [
            int(start) + k
            for start, data in zip(starts, datas, strict=False)
            for k in data.documents or ()
        ]
        sentences = tuple(chain.from_iterable(data.sentences for data in datas))
        joined = super().join(parts)
        return replace(joined, documents=documents, sentences=sentences, blank=())


def wrong_tags(tags: Sequence[str], predicate: int) -> tuple[str, int] | None:
    """What is wrong with the tags of a predicate, and at which token; None where nothing is.

    >>> wrong_tags(["B-V", "B-V"], 0)
    ('2 tokens have B-V; a row has one predicate, in one B-V', 1)
    """
    if any(tag != "O" and tag[:2] not in ("B-", "I-") for tag in set(tags)):
        try:
            parse_tags(tags, "IOB2")
        except DataError as error:
            return str(error), 0
    for t, (before, tag) in enumerate(zip((NO_ROLE, *tags), tags, strict=False)):
        if tag[0] == "I" and before[1:] != tag[1:]:
            found = f"token {t} (counted from 0) has the tag {tag!r} outside a span"
            return f"{found}; the span must begin with 'B{tag[1:]}'", t
    verbs = [t for t, tag in enumerate(tags) if tag == VERB]
    if len(verbs) != 1:
        count = f"{len(verbs)} tokens have B-V" if verbs else "no token has B-V"
        return f"{count}; a row has one predicate, in one B-V", verbs[1] if verbs else predicate
    if tags[predicate] not in _OF_PREDICATE:
        found = f"the predicate, token {predicate}, has the tag {tags[predicate]!r}"
        return f"{found}, and B-V is at token {verbs[0]}; they must agree", predicate
    return None


def check_predicate(predicate: Any, words: Sequence[str], place: str) -> int:
    """The predicate's position as an int; an error where the sentence has no such word."""
    try:
        found = index(predicate)
    except TypeError:
        raise DataError(f"{place}: the predicate is {predicate!r}; give its position") from None
    if isinstance(predicate, bool) or not 0 <= found < len(words):
        what = f"the predicate's position must be from 0 to {len(words) - 1}, got {predicate}"
        raise DataError(f"{place}: {what}")
    return found


def _positions(predicates: Any, rows: Sequence[Sequence[str]], name: str) -> list[int]:
    if isinstance(predicates, str) or not isinstance(predicates, Iterable):
        what = f"predicates is {predicates!r}" if predicates is None else "predicates is no list"
        raise DataError(f"{name}: {what}; give the position of each row's predicate")
    given = list(predicates)
    if len(given) != len(rows):
        counts = f"{len(rows)} rows of words and {len(given)} predicates"
        raise DataError(f"{name}: {counts}; give one for each row (a sentence once per predicate)")
    return [
        check_predicate(place, row, f"{name}: row {k} (counted from 0)")
        for k, (place, row) in enumerate(zip(given, rows, strict=True))
    ]


def _sentences(
    tokens: Sequence[list[str]], predicates: Sequence[int]
) -> tuple[list[int], tuple[Sentence, ...]]:
    """The number of each row's sentence, and the sentences, where nothing says which they are."""
    numbers: list[int] = []
    sentences: list[Sentence] = []
    last = -1
    for words, predicate in zip(tokens, predicates, strict=True):
        if not sentences or words != sentences[-1].words or predicate <= last:
            sentences.append(Sentence(words))
        numbers.append(len(sentences) - 1)
        last = predicate
    return numbers, tuple(sentences)
