"""Tagged sentences, in memory or on disk."""

from __future__ import annotations

import hashlib
import json
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lossnet.data.disk_items import DiskItems, chosen, entries_of, join_items, lengths_of
from lossnet.errors import DataError
from lossnet.tasks.parts import cut_rows

if TYPE_CHECKING:
    from lossnet.tasks.sequence.conll import ConllFormat

#: Lists of strings for each sentence; of large files, a :class:`DiskItems` that reads them.
Words = Sequence[list[str]]
#: Strings, and None where a tag is not known.
Tags = Sequence[list[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class SequenceData:
    """Sentences, the tag of each token, and what else is known of it.

    Every list has one list per sentence, and that one string per token; sentences of large CoNLL
    files stay on disk, and are read when they are needed. Empty sentences, empty
    strings and lists of unequal lengths are a :class:`DataError`.

    Args:
        tokens: the words.
        tags: their tags, None (or NaN) for a token whose tag is not known; None without any.
        columns: other columns by name, such as ``{"pos": [...], "chunk": [...]}``.
        documents: the number of each sentence's document; None where that is not known.
        name: what to call the data set.
        notes: what a reader did that a user should know.
        layout: the columns of the CoNLL file that it was read from, all named.
        blank: places of the empty lines among the sentences of a text.
    """

    tokens: Words
    tags: Tags | None = None
    columns: Mapping[str, Words] = field(default_factory=dict)
    documents: list[int] | None = None
    name: str = "data"
    notes: list[str] = field(default_factory=list)
    layout: ConllFormat | None = None
    blank: tuple[int, ...] = ()

    #: Whether some tags may not be known.
    partial_tags: ClassVar[bool] = True

    def __post_init__(self) -> None:
        put = object.__setattr__
        tokens = _words(self.tokens, "tokens", self.name)
        if not tokens:
            raise DataError(f"{self.name} holds no sentences; give at least one")
        put(self, "tokens", tokens)
        if self.tags is not None:
            partial = self.partial_tags
            put(self, "tags", _aligned(self.tags, tokens, "tags", self.name, unknown=partial))
        columns = {
            str(key): _aligned(column, tokens, f"column {key!r}", self.name)
            for key, column in self.columns.items()
        }
        put(self, "columns", columns)
        if self.documents is not None:
            put(self, "documents", [int(number) for number in self.documents])
            if len(self.documents) != len(tokens):
                counts = f"{len(self.documents)} document numbers for {len(tokens)} sentences"
                raise DataError(f"{self.name}: {counts}")

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        counts = f"{len(self)} sentences, {self.n_tokens} tokens"
        tagged = "without tags" if self.tags is None else "tagged"
        columns = f", columns {', '.join(self.columns)}" if self.columns else ""
        return f"SequenceData({self.name!r}, {counts}, {tagged}{columns})"

    @property
    def n_tokens(self) -> int:
        """Number of tokens in all sentences."""
        return sum(self.lengths)

    @property
    def lengths(self) -> list[int]:
        """Number of tokens in each sentence."""
        return lengths_of(self.tokens)

    @property
    def tag_names(self) -> list[str]:
        """The different tags, sorted; none where the tags are not known."""
        return entries_of(self.tags or [])

    @property
    def known(self) -> list[np.ndarray[Any, Any]] | None:
        """For every sentence which tags are known, ``(T,)``; None where all are."""
        if not self.n_unknown or self.tags is None:
            return None
        return [np.array([tag is not None for tag in tags]) for tags in self.tags]

    @property
    def n_unknown(self) -> int:
        """Number of tags that are not known, of sentences with tags."""
        if isinstance(self.tags, DiskItems):
            return 0  # a file cannot say so
        return sum(tags.count(None) for tags in self.tags or [])

    @property
    def known_runs(self) -> Words:
        """The tags of sentences that are known completely; without any, of runs of known tags."""
        if isinstance(self.tags, DiskItems):
            return self.tags
        complete = [tags for tags in self.tags or [] if None not in tags]
        if complete or not self.tags:
            return complete
        runs = [groupby(tags, key=lambda tag: tag is None) for tags in self.tags]
        return [list(run) for found in runs for unknown, run in found if not unknown]

    @property
    def labelled(self) -> bool:
        """Whether the tags are known."""
        return self.tags is not None

    @property
    def groups(self) -> list[int] | None:
        """The documents."""
        return self.documents

    def subset(self, rows: Sequence[int] | np.ndarray[Any, Any]) -> Self:
        """The given sentences (indices or a mask of booleans), in the order given."""
        try:
            index = np.arange(len(self))[list(rows)].reshape(-1)
        except IndexError as error:
            raise DataError(f"{self.name} has {len(self)} sentences: {error}") from error

        return replace(
            self,
            tokens=chosen(self.tokens, index),
            tags=None if self.tags is None else chosen(self.tags, index),
            columns={key: chosen(column, index) for key, column in self.columns.items()},
            documents=None if self.documents is None else [self.documents[k] for k in index],
            notes=list(self.notes),
            blank=(),
        )

    def without_labels(self) -> Self:
        """The same sentences without their tags."""
        return replace(self, tags=None)

    def checksum(self) -> str:
        """SHA-256, in hex, of tokens, tags and columns."""
        # Not of documents, which are numbered anew when a part is written and read again.
        digest = hashlib.sha256()
        for piece in _json([self.tokens, self.tags, self.columns, None]):
            digest.update(piece.encode())
        return digest.hexdigest()

    @classmethod
    def join(cls, parts: Mapping[str, Self]) -> Self:
        """The sentences of several parts, one part after another; documents are counted on."""
        first, *_ = datas = list(parts.values())
        check_columns(datas)
        documents: list[int] = []
        for data in datas:
            base = max(documents, default=-1) + 1
            documents += [base + number for number in data.documents or ()]
        return replace(
            first,
            tokens=join_items([data.tokens for data in datas]),
            tags=join_items([data.tags or [] for data in datas]) if first.labelled else None,
            columns={
                key: join_items([data.columns[key] for data in datas]) for key in first.columns
            },
            documents=None if any(data.documents is None for data in datas) else documents,
            notes=list(dict.fromkeys(note for data in datas for note in data.notes)),
        )

    def cut_rows(self, fractions: list[float], seed: int) -> list[np.ndarray[Any, Any]]:
        """As :func:`lossnet.tasks.parts.cut_rows`; no tag is left to the second part alone."""
        train, held, *more = cut_rows(len(self), fractions, seed, self.documents)
        moved = self.with_known_tags(train, held)
        return [*(moved if len(moved[1]) else (train, held)), *more]

    def with_known_tags(
        self, train: np.ndarray[Any, Any], held: np.ndarray[Any, Any]
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Rows to train on and to hold out; those with tags absent from training go to training.

        With them goes the rest of their document.
        """
        if self.tags is None:
            return train, held
        documents = range(len(self)) if self.documents is None else self.documents
        known = {tag for row in train for tag in self.tags[row]} | {None}
        moved = set()
        for row in held:
            if not known.issuperset(self.tags[row]):
                moved.add(documents[row])
                known.update(self.tags[row])
        goes = np.array([documents[row] in moved for row in held], dtype=bool)
        return np.sort(np.concatenate([train, held[goes]])), held[~goes]


def check_columns(parts: Iterable[SequenceData]) -> None:
    """Raise where a part has other columns than the first."""
    first, *others = parts
    for data in others:
        if list(data.columns) != list(first.columns) or data.labelled != first.labelled:
            counts = f"{2 + len(data.columns)} instead of {2 + len(first.columns)}"
            raise DataError(f"{data.name} does not have the columns of {first.name}: {counts}")


def _json(value: Any) -> Iterator[str]:
    """What ``json.dumps`` gives, in pieces: sentences of a file are read one at a time."""
    if isinstance(value, dict):
        yield "{"
        for number, (key, inner) in enumerate(value.items()):
            yield f"{', ' if number else ''}{json.dumps(key)}: "
            yield from _json(inner)
        yield "}"
    elif isinstance(value, DiskItems | list) and not (value and isinstance(value[0], str | None)):
        yield "["
        for number, inner in enumerate(value):
            yield ", " if number else ""
            yield from _json(inner)
        yield "]"
    else:
        yield json.dumps(value)


def _words(given: Any, what: str, name: str, *, unknown: bool = False) -> Tags:
    """Lists of lists of strings, copied; anything else is an error that names the place.

    With ``unknown``, None and NaN are None. Those on disk are as their reader has them.
    """
    if isinstance(given, DiskItems):
        return given
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise DataError(f"{name}: {what} is {reprlib.repr(given)}; give a list of lists of strings")
    words: list[list[Any]] = []
    for k, sentence in enumerate(given):
        place = f"{name}: sentence {k} (counted from 0) of {what}"
        if isinstance(sentence, str) or not isinstance(sentence, Iterable):
            raise DataError(f"{place} is {sentence!r}; give a list of strings")
        row = list(sentence)
        if unknown:
            row = [None if word is None or word != word else word for word in row]
        if not row:
            raise DataError(f"{place} is empty; remove it")
        if set(map(type, row)) == {str} and "" not in row:
            words.append(row)
            continue
        for t, word in enumerate(row):
            if (not isinstance(word, str) or not word) and not (unknown and word is None):
                raise DataError(f"{place}, token {t} is {word!r}; expected a non-empty string")
        # numpy's strings among them
        words.append([None if word is None else str(word) for word in row])
    return words


def _aligned(given: Any, tokens: Words, what: str, name: str, *, unknown: bool = False) -> Tags:
    words = _words(given, what, name, unknown=unknown)
    if len(words) != len(tokens):
        raise DataError(f"{name}: {len(tokens)} sentences of tokens and {len(words)} of {what}")
    for k, (size, own) in enumerate(zip(lengths_of(tokens), lengths_of(words), strict=True)):
        if size != own:
            counts = f"has {size} tokens and {own} in {what}; give one for each token"
            raise DataError(f"{name}: sentence {k} (counted from 0) {counts}")
    return words
