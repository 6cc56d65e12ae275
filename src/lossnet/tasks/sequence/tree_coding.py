"""Constituency trees as one tag for each word, and back.

The tag of a word says how it and the next word hang together (Gómez-Rodríguez & Vilares 2018):
how many constituents hold both, relative to the word before, the label of the lowest of them, and
the constituents that hold the word alone::

    (TOP (S (NP (PRP It)) (VP (VBZ works) (ADVP (RB well)))))
    It works well         +1(S)NP  +1(VP  $(TOP)ADVP

``+1(S)NP``: one constituent more than before, the lowest an S; the word alone is an NP. Of
constituents with the same words, the inner follows the outer: ``+1(S(VP``. A climb of two levels or
more to one of the top three levels is coded by its level from the top, ``=1(S``, as in Vilares,
Abdou & Søgaard (2019), so that earlier errors do no harm. The last word has ``$`` and, as no word
follows it, the label at the top where that has a single constituent below: other tags are free of
it.

Every tree has its own tags. Tags that fit no tree, as a tagger may predict them, give one too: see
:func:`decode_tree`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lossnet.data.brackets import UNKNOWN_POS, Bracket, Tree
from lossnet.errors import DataError

#: The label of a sentence whose tags give none that holds all words.
_NO_LABEL = "X"
_LAST = "$"
#: Levels that are counted from the top, and the shortest climb to them that is coded like this.
_HIGHEST, _FAR = 3, 2
_TAG = re.compile(r"(\$|[-+=]\d+)((?:\([^()]*)*)((?:\)[^()]*)*)")


class _Code(NamedTuple):
    """A tag's parts."""

    level: str
    shared: tuple[str, ...] = ()
    alone: tuple[str, ...] = ()

    def __str__(self) -> str:
        shared = (f"({label}" for label in self.shared)
        alone = (f"){label}" for label in self.alone)
        return "".join([self.level, *shared, *alone])


def encode_tree(tree: Tree) -> list[str]:
    """The tag of every word."""
    last = len(tree.words) - 1
    chains: dict[tuple[int, int], list[str]] = {}
    for label, start, end in tree.brackets:
        chains.setdefault((start, end), []).append(label)
    top = chains.get((0, last + 1), [])
    # One constituent must stay to join several words.
    root, top[:] = (top[:1], top[1:]) if len(top) > (last > 0) else ([], top)
    levels, lowest = [0] * last, [(0, 0)] * last
    for start, end in chains:  # the outer before the inner
        for k in range(start, end - 1):
            levels[k] += 1
            lowest[k] = (start, end)
    codes = [
        _Code(_level(level, before), tuple(chains[span]))
        for level, before, span in zip(levels, [0, *levels], lowest, strict=False)
    ]
    codes.append(_Code(_LAST, tuple(root)))
    alone = (tuple(chains.get((k, k + 1), ())) for k in range(last + 1))
    return [str(code._replace(alone=words)) for code, words in zip(codes, alone, strict=True)]


def decode_tree(
    tags: Sequence[str], words: Sequence[str], pos: Sequence[str] | None = None
) -> Tree:
    """The tree of these tags, whether or not they fit each other.

    A level below the first counts as the first, the first of several labels for a constituent
    holds, and a constituent without a label is left out. ``$`` before the last word keeps the
    level and gives no label; at the last word other tags give no top label.

    Args:
        tags: one for each word; a :class:`DataError` where one is not of the form above.
        words: the words.
        pos: their parts of speech, ``XX`` where None.
    """
    codes = [_parsed(tag) for tag in tags]
    spans = [*_joined(codes[:-1]), *_single(codes)]
    # From left to right, the outer before the inner; a chain keeps its order.
    spans.sort(key=lambda bracket: (bracket.start, -bracket.end))
    root = [label for label in codes[-1].shared if codes[-1].level == _LAST]
    whole = bool(spans) and spans[0].end - spans[0].start == len(tags)
    if not root and not whole and len(tags) > 1:
        root = [_NO_LABEL]
    brackets = [*(Bracket(label, 0, len(tags)) for label in root), *spans]
    known = [UNKNOWN_POS] * len(tags) if pos is None else pos
    return Tree(tuple(words), tuple(known), tuple(brackets))


def are_tree_tags(names: Iterable[str]) -> bool:
    """Whether these are tags of trees: all have their form, and one is a last word's."""
    names = set(names)
    return any(name.startswith(_LAST) for name in names) and all(map(_TAG.fullmatch, names))


def _level(level: int, before: int) -> str:
    near = level > _HIGHEST or before - level < _FAR
    return f"{level - before:+d}" if near else f"={level}"


def _parsed(tag: str) -> _Code:
    found = _TAG.fullmatch(tag)
    if found is None:
        raise DataError(f"{tag!r} is not a tag of a tree, such as +1(S)NP")
    level, shared, alone = found.groups()
    return _Code(level, tuple(shared.split("(")[1:]), tuple(alone.split(")")[1:]))


def _joined(codes: Sequence[_Code]) -> list[Bracket]:
    """The constituents of several words; one of level n holds a run of levels of n and above."""
    found: list[Bracket] = []
    stack: list[tuple[int, int, tuple[str, ...]]] = []  # levels that rise: level, start, labels
    before = 0
    for k, code in enumerate([*codes, _Code("=0")]):
        before = level = _number(code.level, before) if k < len(codes) else 0
        start, labels = k, code.shared if code.level != _LAST else ()
        while stack and stack[-1][0] >= level:
            own, start, named = stack.pop()
            if own == level:
                labels = named or labels
            else:
                found += [Bracket(label, start, k + 1) for label in named]
        if level:
            stack.append((level, start, labels))
    return found


def _number(level: str, before: int) -> int:
    """The level that a tag says, at least 1."""
    if level == _LAST:
        return max(1, before)
    return max(1, int(level[1:]) if level[0] == "=" else before + int(level))


def _single(codes: Sequence[_Code]) -> list[Bracket]:
    return [Bracket(label, k, k + 1) for k, code in enumerate(codes) for label in code.alone]
