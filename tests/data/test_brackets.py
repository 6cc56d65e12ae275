"""Bracketed trees: what is read, written and normalised, and what is refused."""

from __future__ import annotations

import pytest

from lossnet.data.brackets import Bracket, Tree, parse_trees
from lossnet.errors import DataError

PENN = """
( (S
    (NP-SBJ-1 (-LRB- -LRB-) (DT The) (NN dog))
    (VP (VBZ wants)
      (S (NP-SBJ (-NONE- *-1))
        (VP (TO to) (VP (VB go)))))
    (. .)) )
(NP=2 (NN Rain))(FRAG (-NONE- *))
"""


def test_penn_treebank() -> None:
    first, second, third = parse_trees(PENN, "penn")
    assert first.words == ("-LRB-", "The", "dog", "wants", "*-1", "to", "go", ".")
    assert first.pos[4] == "-NONE-"
    assert first.brackets[:3] == (
        Bracket("", 0, 8),
        Bracket("S", 0, 8),
        Bracket("NP-SBJ-1", 0, 3),
    )
    assert second == Tree(("Rain",), ("NN",), (Bracket("NP=2", 0, 1),))
    assert str(second) == "(NP=2 (NN Rain))"
    assert parse_trees(str(first), "again") == [first]
    assert third.normalised() is None


def test_normalised_trees_have_no_function_tags_and_no_empty_elements() -> None:
    first, second, _ = parse_trees(PENN, "penn")
    assert str(first.normalised()) == (
        "( (S (NP (-LRB- -LRB-) (DT The) (NN dog)) (VP (VBZ wants) (S (VP (TO to) (VP (VB go))))) "
        "(. .)))"
    )
    assert str(second.normalised()) == "(NP (NN Rain))"


def test_a_part_of_speech_alone_is_a_tree() -> None:
    [tree] = parse_trees("(UH Yes)", "x")
    assert tree == Tree(("Yes",), ("UH",), ())
    assert str(tree) == "(UH Yes)"


def test_words_keep_what_is_not_a_space() -> None:
    [tree] = parse_trees("(X (NN a\u00a0b) (-LRB- -LCB-) (CD 1\\/2))", "x")
    assert tree.words == ("a\u00a0b", "-LCB-", "1\\/2")
    written = Tree(("(", "b)"), ("XX", "XX"), (Bracket("X", 0, 2),))
    assert str(written) == "(X (XX -LRB-) (XX b-RRB-))"
    with pytest.raises(DataError, match="'a b' is empty or holds a space"):
        str(Tree(("a b",), ("XX",), ()))


def test_depth_has_no_limit() -> None:
    text = "(X " * 5000 + "(NN deep)" + ")" * 5000
    [tree] = parse_trees(text, "x")
    assert len(tree.brackets) == 5000
    assert str(tree) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NN a))\n(S (NN b)))", r"f, line 2: a \) closes no bracket"),
        ("(S (NN a))\n\n(S (NP (NN b))\n(S (NN c))\n", "f, line 3: the tree that begins here is"),
        ("(S (NN a))\n(S (NP (N", r"f, line 2: .* \(3 open at the end of the file\)"),
        ("(S (NN a))\nword", "f, line 2: 'word' is outside brackets"),
        ("(S (NN a))\n(S (NP))", r"f, line 2: \(NP\) holds no word"),
        ("()", r"f, line 1: \(\) holds no word"),
        ("(S\n(NP the dog))", "f, line 2: 'dog' stands next to a word or a bracket; every word"),
        ("(S (NN a) b)", "f, line 1: 'b' stands next to a word or a bracket"),
        ("(S a (NN b))", "f, line 1: 'a' stands next to a bracket"),
    ],
)
def test_what_is_no_tree_is_named_with_its_line(text, message) -> None:
    with pytest.raises(DataError, match=message) as error:
        parse_trees(text, "f")
    assert "\n" not in str(error.value)
