"""Bracketed files as sentences whose tags are their trees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from lossnet.data.brackets import Tree, parse_trees
from lossnet.data.text import extension, stem, utf8_text
from lossnet.errors import DataError
from lossnet.files import write_text
from lossnet.tasks.sequence.conll import ConllFormat
from lossnet.tasks.sequence.sentences import SequenceData, Words
from lossnet.tasks.sequence.tree_coding import decode_tree, encode_tree

#: Endings of files that hold trees.
TREE_KINDS = ("trees", "mrg", "ptb", "brackets")
#: The column that trees have besides words and tags.
POS = "pos"
#: A first line that begins a tree: a bracket, a label, and another bracket or the line's end.
_TREE = re.compile(r"\s*\([ \t]*(?:[^\s()]*[ \t]*\(|[^\s()]+[ \t]*\n)")


@dataclass(frozen=True, eq=False, repr=False)
class TreeData(SequenceData):
    """Sentences with their trees as tags, see :mod:`lossnet.tasks.sequence.tree_coding`.

    Args:
        pos: the parts of speech. They say which words are punctuation when brackets are counted,
            and stand in trees that are written; nets see them only as a column.
    """

    pos: Words | None = None

    @classmethod
    def of(
        cls, trees: Iterable[Tree], *, columns: Sequence[str] = (), name: str = "data"
    ) -> TreeData:
        """The sentences of some trees; with ``columns=("pos",)`` nets see the parts of speech."""
        if set(columns) - {POS}:
            raise DataError(f"{name}: the column of trees is {POS!r}, got {', '.join(columns)}")
        trees = list(trees)
        pos = [list(tree.pos) for tree in trees]
        return cls(
            [list(tree.words) for tree in trees],
            [encode_tree(tree) for tree in trees],
            dict.fromkeys(columns, pos),
            name=name,
            layout=ConllFormat(columns=tuple(columns)),
            pos=pos,
        )

    @property
    def trees(self) -> list[Tree]:
        """The trees, as they were read."""
        return trees_of(self.tags or [], self)

    def subset(self, rows: Sequence[int] | np.ndarray[Any, Any]) -> Self:
        """The given sentences (indices or a mask of booleans), in the order given."""
        index = np.arange(len(self))[list(rows)].reshape(-1)
        pos = None if self.pos is None else [self.pos[k] for k in index.tolist()]
        return replace(super().subset(rows), pos=pos)

    @classmethod
    def join(cls, parts: Mapping[str, Self]) -> Self:
        """The sentences of several parts, one part after another."""
        pos = [row for data in parts.values() for row in data.pos or []]
        return replace(super().join(parts), pos=pos or None)

    def with_known_tags(
        self, train: np.ndarray[Any, Any], held: np.ndarray[Any, Any]
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The rows as they are: a tree counts whether or not training has all of its tags."""
        return train, held


def read_trees(
    path: str | Path,
    *,
    normalise: bool = True,
    columns: Sequence[str] = (),
    text: str | None = None,
) -> TreeData:
    """Read a file of bracketed trees in UTF-8.

    Args:
        path: the file, also packed (``.gz``).
        normalise: leave out function tags (``NP-SBJ`` becomes ``NP``) and empty elements (words
            that are ``-NONE-``), as is usual where brackets are counted; False reads the trees as
            they stand.
        columns: ``("pos",)`` gives the nets the parts of speech as a column.
        text: the file's text, where it has been read.
    """
    found = parse_trees(utf8_text(path) if text is None else text, path)
    kept = [tree.normalised() for tree in found] if normalise else found
    trees = [tree for tree in kept if tree is not None]
    if not trees:
        raise DataError(f"{path}: no tree holds a word besides empty elements (-NONE-)")
    data = TreeData.of(trees, columns=columns, name=stem(path))
    if missing := len(found) - len(trees):
        data.notes.append(f"{missing} of {len(found)} trees hold empty elements alone: left out")
    return data


def write_trees(trees: Iterable[Tree], path: str | Path) -> Path:
    """Write trees, one per line, atomically."""
    return write_text(path, "".join(f"{tree}\n" for tree in trees))


def trees_of(tags: Words, data: SequenceData | None = None) -> list[Tree]:
    """The trees that tags give the sentences, with the parts of speech where they are known.

    Without ``data`` the tags stand for the words.
    """
    words = tags if data is None else data.tokens
    pos = getattr(data, "pos", None) or [None] * len(tags)
    return [decode_tree(*row) for row in zip(tags, words, pos, strict=True)]


def is_bracketed(text: str, path: str | Path) -> bool:
    """Whether a file holds trees, by its name or its first line."""
    return extension(path).removeprefix(".") in TREE_KINDS or begins_tree(text)


def begins_tree(text: str) -> bool:
    """Whether the first line of a text begins a tree."""
    return _TREE.match(text) is not None
