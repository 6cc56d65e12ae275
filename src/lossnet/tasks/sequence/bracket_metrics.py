"""Precision, recall and F1 of constituents, as EVALB counts them with ``COLLINS.prm``.

A bracket is right if the other tree has one of the same label over the same words; of two equal
brackets of one tree each needs its own. Punctuation, by its part of speech, and empty elements are
no words; a constituent of nothing else is left out, and so are top labels. PRT counts as ADVP.
Parts of speech are not counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from lossnet.data.brackets import EMPTY, Bracket, Tree
from lossnet.errors import DataError
from lossnet.tasks.sequence.span_metrics import SpanScore

#: Labels at the top of a tree, which say nothing; "" is the Penn Treebank's own.
TOPS = frozenset({"TOP", "ROOT", "S1", ""})
#: Parts of speech that are no words: ``DELETE_LABEL`` of COLLINS.prm.
NO_WORDS = frozenset({",", ":", "``", "''", ".", EMPTY})
#: Labels that count as another: ``EQ_LABEL`` of COLLINS.prm.
_SAME = {"PRT": "ADVP"}


@dataclass(frozen=True)
class BracketScores(SpanScore):
    """Scores of all brackets together and of each label.

    Args:
        types: by label, in alphabetical order.
        exact: the share of trees with every bracket right and no other.
    """

    types: dict[str, SpanScore]
    exact: float


def counted_brackets(tree: Tree, pos: Sequence[str]) -> Counter[Bracket]:
    """The brackets of a tree that count, with their places among the words that count."""
    place = [0, *accumulate(one not in NO_WORDS for one in pos)]
    return Counter(
        Bracket(_SAME.get(label, label), place[start], place[end])
        for label, start, end in tree.brackets
        if label not in TOPS and place[start] < place[end]
    )


def bracket_scores(true: Sequence[Tree], predicted: Sequence[Tree]) -> BracketScores:
    """Precision, recall and F1 of constituents, overall and of each label.

    Args:
        true: the true trees.
        predicted: trees over the same words; their parts of speech are not looked at.

    >>> from lossnet.data.brackets import parse_trees
    >>> true = parse_trees("(S (NP (PRP We)) (VP (VBP saw) (NP (PRP it))) (. .))", "true")
    >>> guess = parse_trees("(S (NP (PRP We)) (VBP saw) (NP (PRP it) (. .)))", "no VP")
    >>> scores = bracket_scores(true, guess)
    >>> scores.precision, scores.recall
    (1.0, 0.75)
    """
    if len(true) != len(predicted) or not true:
        counts = f"got {len(true)} true trees and {len(predicted)} predicted trees"
        raise DataError(f"{counts}; pass at least one, and as many of each")
    sides, exact = [Counter[str](), Counter[str](), Counter[str]()], 0
    for number, (tree, other) in enumerate(zip(true, predicted, strict=True)):
        if len(tree.words) != len(other.words):
            lengths = f"{len(tree.words)} words and {len(other.words)} predicted"
            raise DataError(f"tree {number} (counted from 0) has {lengths}; words must be the same")
        mine, its = (counted_brackets(one, tree.pos) for one in (tree, other))
        exact += mine == its
        for side, found in zip(sides, (mine, its, mine & its), strict=True):
            for bracket, times in found.items():
                side[bracket.label] += times
    names = sorted({*sides[0], *sides[1]})
    types = {name: SpanScore(*(count[name] for count in sides)) for name in names}
    gold, guess, both = (side.total() for side in sides)
    return BracketScores(gold, guess, both, types, exact / len(true))
