"""Constituency trees in brackets, as in the Penn Treebank: ``(S (NP (DT the) (NN dog)) ...)``.

A tree is kept flat: its words, their parts of speech, and its constituents as spans, so that no
depth is too deep. One tree may take several lines, and one line several trees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple

from lossnet.errors import DataError

#: The part of speech of an empty element, such as a trace, and of a word whose own is not known.
EMPTY, UNKNOWN_POS = "-NONE-", "XX"
#: Only ASCII spaces part words: a no-break space may stand in one.
_PIECE = re.compile(r"[()\n]|[^ \t\n\r\f\v()]+")
_SPACE = re.compile(r"[ \t\n\r\f\v]")
_REMEDY = "every word needs a part of speech of its own, as in (NN word)"
#: NP of NP-SBJ-1 and of NP=2; a label that begins with a hyphen (-LRB-) has no function tags.
_BARE = re.compile("[^-=]+")


class Bracket(NamedTuple):
    """The words from ``start`` up to, but not including, ``end`` are a constituent."""

    label: str
    start: int
    end: int


@dataclass(frozen=True)
class Tree:
    """A sentence and its constituents; ``str`` gives the brackets, on one line.

    Args:
        words: the words.
        pos: the part of speech of each.
        brackets: the constituents from the outermost to the innermost, from left to right; a word
            with its part of speech is none of them.
    """

    words: tuple[str, ...]
    pos: tuple[str, ...]
    brackets: tuple[Bracket, ...]

    def __str__(self) -> str:
        opened: list[list[str]] = [[] for _ in self.words]
        closed = [0] * (len(self.words) + 1)
        for label, start, end in self.brackets:
            opened[start].append(f"({label} ")
            closed[end] += 1
        leaves = [f"({p} {_written(w)})" for w, p in zip(self.words, self.pos, strict=True)]
        pieces = zip(opened, leaves, closed[1:], strict=True)
        words = ("".join(before) + leaf + ")" * after for before, leaf, after in pieces)
        return " ".join(words)

    def normalised(self) -> Tree | None:
        """The tree without function tags and empty elements; None where no word is left.

        ``NP-SBJ-1`` and ``NP=2`` become ``NP``; words with the part of speech ``-NONE-`` go, and
        constituents that hold no others.
        """
        kept = [p != EMPTY for p in self.pos]
        place = [0, *accumulate(kept)]
        brackets = [Bracket(_bare(b.label), place[b.start], place[b.end]) for b in self.brackets]
        rows = zip(self.words, self.pos, kept, strict=True)
        leaves = [(word, pos) for word, pos, keep in rows if keep]
        if not leaves:
            return None
        words, pos = zip(*leaves, strict=True)
        return Tree(words, pos, tuple(b for b in brackets if b.start < b.end))


def parse_trees(text: str, path: str | Path) -> list[Tree]:
    """All trees of a text, as they stand; a :class:`DataError` names the line that is wrong.

    >>> [tree] = parse_trees("(S (NP (PRP It)) (VP (VBZ works)))", "here")
    >>> tree.brackets[1:]
    (Bracket(label='NP', start=0, end=1), Bracket(label='VP', start=1, end=2))
    """
    reader = _Reader(path)
    for piece in _PIECE.findall(text):
        reader.take(piece)
    return reader.finish()


class _Reader:
    """Reads pieces one by one; ``trees`` holds what is complete."""

    def __init__(self, path: str | Path) -> None:
        self.path, self.line = path, 1
        self.trees: list[Tree] = []
        self._clear()

    def _clear(self) -> None:
        self.words: list[str] = []
        self.pos: list[str] = []
        self.brackets: list[Bracket | None] = []  # None until closed, and for a part of speech
        self.stack: list[_Open] = []

    def take(self, piece: str) -> None:
        if piece == "\n":
            self.line += 1
        elif piece == "(":
            self._open()
        elif not self.stack:
            what = "a ) closes no bracket" if piece == ")" else f"{piece!r} is outside brackets"
            raise self._wrong(f"{what}; expected trees, as in (S (NP (NN word)))")
        elif piece == ")":
            self._close()
        else:
            self._text(piece)

    def _open(self) -> None:
        if self.stack:
            if self.stack[-1].holds == "word":
                raise self._wrong(f"{self.words[-1]!r} stands next to a bracket; {_REMEDY}")
            self.stack[-1].holds = "brackets"
        self.stack.append(_Open(self.line, len(self.words), len(self.brackets)))
        self.brackets.append(None)

    def _text(self, piece: str) -> None:
        top = self.stack[-1]
        if top.label is None and top.holds is None:
            top.label = piece
        elif top.holds is None:
            top.holds = "word"
            self.words.append(piece)
            self.pos.append(str(top.label))
        else:
            raise self._wrong(f"{piece!r} stands next to a word or a bracket; {_REMEDY}")

    def _close(self) -> None:
        top = self.stack.pop()
        if top.holds is None:
            raise self._wrong(f"({top.label or ''}) holds no word; remove it")
        if top.holds == "brackets":
            self.brackets[top.number] = Bracket(top.label or "", top.start, len(self.words))
        if not self.stack:
            brackets = tuple(bracket for bracket in self.brackets if bracket is not None)
            self.trees.append(Tree(tuple(self.words), tuple(self.pos), brackets))
            self._clear()

    def finish(self) -> list[Tree]:
        if self.stack:
            self.line, left = self.stack[0].line, len(self.stack)
            raise self._wrong(
                f"the tree that begins here is not closed ({left} open at the end of the file); a "
                ") is missing or the file is cut off"
            )
        return self.trees

    def _wrong(self, what: str) -> DataError:
        return DataError(f"{self.path}, line {self.line}: {what}")


@dataclass
class _Open:
    """A bracket that is not closed yet: its line, its first word and its number."""

    line: int
    start: int
    number: int
    label: str | None = None
    holds: Literal["word", "brackets"] | None = None


def _bare(label: str) -> str:
    found = _BARE.match(label)
    return found.group() if found else label


def _written(text: str) -> str:
    """The text with brackets as the Penn Treebank has them; an error where it holds a space."""
    if not text or _SPACE.search(text):
        raise DataError(f"{text!r} is empty or holds a space, and cannot stand in a tree")
    return text.replace("(", "-LRB-").replace(")", "-RRB-")
