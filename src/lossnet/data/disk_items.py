"""Items of files, read one by one when they are needed: sentences, pictures."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np


class Items(Protocol):
    """A file, or several, of which single items are read."""

    def __len__(self) -> int: ...

    def read(self, numbers: Iterable[int]) -> Iterator[Any]:
        """The items with these numbers, from 0, in their order."""


class DiskItems(Sequence[Any]):
    """A sequence whose items are on disk, of which only those asked for are in memory.

    ``items[3]`` reads one; ``items[rows]``, with numbers, a mask or a slice, chooses some and
    reads nothing.

    Args:
        source: reads items.
        lengths: of each item, where items have one.
    """

    def __init__(self, source: Items, lengths: np.ndarray | None = None) -> None:
        self._source, self._lengths = source, lengths
        self._rows: np.ndarray | None = None
        self._reads: tuple[Callable[[Any], Any], ...] = ()

    def __len__(self) -> int:
        return len(self._source) if self._rows is None else len(self._rows)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, int | np.integer):
            place = range(len(self))[rows]
            number = place if self._rows is None else int(self._rows[place])
            return next(self._read([number]))
        chosen = np.arange(len(self)) if self._rows is None else self._rows
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            rows = rows if rows.dtype == bool else rows.astype(np.int64)
        return self._with(_rows=chosen[rows])

    def __iter__(self) -> Iterator[Any]:
        return self._read(range(len(self)) if self._rows is None else self._rows.tolist())

    @property
    def lengths(self) -> list[int]:
        """The length of each item."""
        if self._lengths is None:
            return [len(item) for item in self]
        found = self._lengths if self._rows is None else self._lengths[self._rows]
        return [int(length) for length in found]

    @cached_property
    def entries(self) -> list[Any]:
        """The different entries of all items, such as tags of sentences, sorted."""
        return entries_of(iter(self))

    def then(self, read: Callable[[Any], Any], *, lengths: bool = True) -> Self:
        """The same items, which pass this function too when they are read.

        ``lengths`` says that it leaves their lengths as they are.
        """
        twin = self._with(_reads=(*self._reads, read))
        if not lengths and self._lengths is not None:
            every = twin._with(_rows=None)
            twin._lengths = np.array([len(item) for item in every], dtype=np.int32)
        return twin

    def _read(self, numbers: Iterable[int]) -> Iterator[Any]:
        for item in self._source.read(numbers):
            for read in self._reads:
                item = read(item)
            yield item

    def _with(self, **changes: Any) -> Self:
        twin = copy.copy(self)
        twin.__dict__.pop("entries", None)
        twin.__dict__.update(changes)
        return twin


class Together:
    """The items of several sequences, one after another.

    Args:
        parts: the sequences.
    """

    def __init__(self, parts: Sequence[Sequence[Any]]) -> None:
        self._parts, self._ends = parts, np.cumsum([len(part) for part in parts])

    def __len__(self) -> int:
        return int(self._ends[-1])

    def read(self, numbers: Iterable[int]) -> Iterator[Any]:
        """The items with these numbers."""
        for number in numbers:
            part = int(np.searchsorted(self._ends, number, "right"))
            yield self._parts[part][number - int(self._ends[part])]  # from its end


def join_items(parts: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """The items of several sequences: a list, or one that stays on disk if one of them does."""
    if not any(isinstance(part, DiskItems) for part in parts):
        return [item for part in parts for item in part]
    return DiskItems(Together(parts), np.concatenate([lengths_of(part) for part in parts]))


def each(function: Callable[[Any], Any], items: Sequence[Any], *, lengths: bool = True) -> Any:
    """What a function makes of every item: a list, or of items on disk one that stays there.

    ``lengths`` says that it leaves the items' lengths as they are.
    """
    if isinstance(items, DiskItems):
        return items.then(function, lengths=lengths)
    return [function(item) for item in items]


def chosen(items: Sequence[Any], rows: Any) -> Any:
    """Some of the items by number: a list, or of items on disk a choice that stays there."""
    return items[rows] if isinstance(items, DiskItems) else [items[row] for row in rows]


def lengths_of(items: Sequence[Any]) -> list[int]:
    """The length of each item."""
    return items.lengths if isinstance(items, DiskItems) else [len(item) for item in items]


def entries_of(items: Iterable[Any]) -> list[Any]:
    """The different entries of all items, sorted, without None."""
    if isinstance(items, DiskItems):
        return items.entries
    return sorted({entry for item in items for entry in item if entry is not None})
