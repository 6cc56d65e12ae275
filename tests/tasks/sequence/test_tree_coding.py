"""Trees as tags: worked by hand, exact both ways, and any tags give a tree."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from lossnet.data.brackets import Bracket, Tree, parse_trees
from lossnet.errors import DataError
from lossnet.tasks.sequence.tree_coding import are_tree_tags, decode_tree, encode_tree
from lossnet.tasks.sequence.trees import read_trees

LABELS = ["S", "NP", "VP", "TOP", "", "NP-SBJ=1", "+1", "$", "PRT|ADVP"]


def tree(text: str) -> Tree:
    [found] = parse_trees(text, "here")
    return found


def random_tree(rng: random.Random) -> Tree:
    """A tree of 1 to 12 words with chains anywhere."""
    brackets: list[Bracket] = []

    def grow(start: int, end: int) -> None:
        chain = rng.choice([1, 1, 1, 2, 3]) if end - start > 1 else rng.choice([0, 0, 1, 2])
        brackets.extend(Bracket(rng.choice(LABELS), start, end) for _ in range(chain))
        if end - start > 1:
            cuts = rng.sample(range(start + 1, end), rng.randint(1, min(3, end - start - 1)))
            places = [start, *sorted(cuts), end]
            for pair in pairwise(places):
                grow(*pair)

    length = rng.randint(1, 12)
    grow(0, length)
    words = tuple(f"w{k}" for k in range(length))
    return Tree(words, ("NN",) * length, tuple(brackets))


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        (
            "(TOP (S (NP (PRP It)) (VP (VBZ works) (ADVP (RB well)))))",
            ["+1(S)NP", "+1(VP", "$(TOP)ADVP"],
        ),
        ("(NP (DT the) (NN dog))", ["+1(NP", "$"]),
        ("(TOP (INTJ (UH Yes)))", ["$(TOP)INTJ"]),
        ("(UH Yes)", ["$"]),
        # A chain above several words: the outer label is the top's, the others stay together.
        ("(TOP (S (VP (VB go) (RB on))))", ["+1(S(VP", "$(TOP"]),
        # From the fourth level to the first: it is counted from the top.
        (
            "(S (NP (NP (A a) (NP (A b) (NP (A c) (A d)))) (A e)) (A f))",
            ["+3(NP", "+1(NP", "+1(NP", "=2(NP", "-1(S", "$"],
        ),
    ],
)
def test_tags_by_hand(text, tags) -> None:
    found = tree(text)
    assert encode_tree(found) == tags
    assert decode_tree(tags, found.words, found.pos) == found
    assert are_tree_tags(tags)


def test_every_tree_is_decoded_exactly() -> None:
    rng = random.Random(0)
    for _ in range(2000):
        found = random_tree(rng)
        assert decode_tree(encode_tree(found), found.words, found.pos) == found
        assert parse_trees(str(found), "again") == [found]


def test_any_tags_give_a_well_formed_tree() -> None:
    rng = random.Random(1)
    known = sorted({tag for _ in range(300) for tag in encode_tree(random_tree(rng))})
    for _ in range(2000):
        tags = rng.choices([*known, "$", "-9(X", "=0(X", "+9"], k=rng.randint(1, 30))
        found = decode_tree(tags, [f"w{k}" for k in range(len(tags))])
        assert parse_trees(str(found), "again") == [found]
        if len(tags) > 1:
            assert found.brackets[0][1:] == (0, len(tags))


@pytest.mark.parametrize(
    ("tags", "text"),
    [
        # Levels below the first count as the first; the first label holds.
        (["-2(S", "-1(NP", "$"], "(S (XX a) (XX b) (XX c))"),
        # The second level has no label of its own: it is left out.
        (["+1(S", "+2(NP", "$(TOP"], "(TOP (S (XX a) (NP (XX b) (XX c))))"),
        # Last words' tags before the last word, and others at the last word.
        (["$(TOP", "+1(NP", "+1(VP)NP"], "(X (XX a) (NP (XX b) (NP (XX c))))"),
        (["$", "$"], "(X (XX a) (XX b))"),
    ],
)
def test_tags_that_fit_no_tree(tags, text) -> None:
    assert str(decode_tree(tags, "abc"[: len(tags)])) == text


def test_a_long_sentence_may_be_deep() -> None:
    tags = ["+1(NP"] * 5000 + ["$(TOP"]
    found = decode_tree(tags, ["w"] * len(tags))
    assert encode_tree(found) == tags


def test_other_tags_are_not_those_of_trees() -> None:
    assert not are_tree_tags(["O", "B-PER"])
    assert not are_tree_tags(["N", "$", ","])
    assert not are_tree_tags(["+1(S"])
    assert not are_tree_tags([])
    with pytest.raises(DataError, match="'B-PER' is not a tag of a tree"):
        decode_tree(["B-PER"], ["Ann"])


@pytest.mark.parametrize("part", ["train", "dev", "test"])
def test_the_english_web_treebank_is_decoded_exactly(shared_trees: Path, part: str) -> None:
    file = shared_trees / f"{part}.trees"
    text = file.read_text(encoding="utf-8")
    data = read_trees(file, normalise=False)
    assert "".join(f"{found}\n" for found in data.trees) == text
    assert read_trees(file).tags == data.tags  # it has no function tags and no empty elements
