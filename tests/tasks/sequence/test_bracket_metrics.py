"""Bracket F1 as EVALB counts it, worked by hand."""

from __future__ import annotations

import pytest

from lossnet.data.brackets import parse_trees
from lossnet.errors import DataError
from lossnet.tasks.sequence.bracket_metrics import bracket_scores

GOLD = "(S (A (P this)) (B (Q is) (A (R a) (T test))))"


@pytest.mark.parametrize(
    ("guess", "correct", "predicted"),
    [
        (GOLD, 4, 4),
        ("(S (A (P this)) (B (Q is) (C (R a) (T test))))", 3, 4),  # another label
        ("(S (A (P this)) (B (Q is) (A (R a) (U test))))", 4, 4),  # another part of speech
        ("(S (A (P this)) (B (Q is) (R a) (A (T test))))", 3, 4),  # another span
        ("(S (A (P this) (Q is)) (A (R a) (T test)))", 2, 3),
        ("(S (P this) (Q is) (R a) (T test))", 1, 1),
        ("(S (A (P this)) (B (Q is) (A (A (R a) (T test)))))", 4, 5),  # one A too many
        ("(S (A (P this)) (B (Q is) (A (A (A (R a) (T test))))))", 4, 6),
        ("(TOP (S (A (P this)) (B (Q is) (A (R a) (T test)))))", 4, 4),  # the top does not count
        ("(TOP (P this) (Q is) (R a) (T test))", 0, 0),
    ],
)
def test_counts_by_hand(guess, correct, predicted) -> None:
    scores = bracket_scores(parse_trees(GOLD, "gold"), parse_trees(guess, "guess"))
    assert (scores.true, scores.predicted, scores.correct) == (4, predicted, correct)
    assert scores.recall == correct / 4
    assert scores.precision == (correct / predicted if predicted else 0.0)
    assert scores.f1 == 2 * correct / (4 + predicted)
    assert scores.exact == float(correct == predicted == 4)


def test_equal_brackets_are_counted_each() -> None:
    twice = parse_trees("(S (NP (NP (DT a) (NN b))))", "twice")
    once = parse_trees("(S (NP (DT a) (NN b)))", "once")
    for true, guess, predicted in ((twice, once, 2), (once, twice, 3)):
        scores = bracket_scores(true, guess)
        assert (scores.correct, scores.predicted) == (2, predicted)
        assert scores.types["NP"].correct == 1
        assert scores.exact == 0.0


def test_punctuation_is_no_word() -> None:
    true = parse_trees("(TOP (S (NP (NN dogs) (, ,)) (VP (VBP bark) (: :)) (PRN (. .))))", "true")
    guess = parse_trees("(TOP (S (NP (NN dogs)) (, ,) (VP (VBP bark)) (: :) (. .)))", "guess")
    scores = bracket_scores(true, guess)
    assert (scores.true, scores.predicted, scores.correct) == (3, 3, 3)
    assert scores.exact == 1.0
    # By its part of speech, not by its form: this hyphen counts.
    true = parse_trees("(X (NP (NN a) (HYPH -)) (NN b))", "true")
    guess = parse_trees("(X (NP (NN a)) (HYPH -) (NN b))", "guess")
    assert bracket_scores(true, guess).correct == 1


def test_empty_elements_are_no_words() -> None:
    true = parse_trees("(S (NP (-NONE- *)) (VP (VB go)))", "true")
    scores = bracket_scores(true, true)
    assert scores.true == 2


def test_particles_count_as_adverbs() -> None:
    true = parse_trees("(VP (VB go) (PRT (RP on)))", "true")
    guess = parse_trees("(VP (VB go) (ADVP (RB on)))", "guess")
    assert bracket_scores(true, guess).f1 == 1.0


def test_shares_are_of_all_trees_together() -> None:
    true = parse_trees(f"{GOLD} {GOLD} (X (P a) (P b))", "true")
    guess = parse_trees(f"{GOLD} (S (P this) (Q is) (R a) (T test)) (Y (P a) (P b))", "guess")
    scores = bracket_scores(true, guess)
    assert (scores.true, scores.predicted, scores.correct) == (9, 6, 5)
    assert scores.exact == pytest.approx(1 / 3)
    assert {name: score.correct for name, score in scores.types.items()} == {
        **{"A": 2, "B": 1, "S": 2},
        **{"X": 0, "Y": 0},
    }


def test_trees_must_match() -> None:
    one, two = parse_trees("(X (P a))", "one"), parse_trees("(X (P a) (P b))", "two")
    with pytest.raises(DataError, match=r"tree 0 .* has 1 words and 2 predicted"):
        bracket_scores(one, two)
    with pytest.raises(DataError, match="1 true trees and 2 predicted"):
        bracket_scores(one, [*one, *one])
