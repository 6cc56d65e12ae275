"""Predicates in memory."""

from __future__ import annotations

import pytest
from role_examples import small_roles

from lossnet.errors import DataError
from lossnet.tasks.roles import RoleData

WORDS, TAGS = [["dogs", "bark"], ["dogs", "bark"]], [["B-ARG0", "B-V"], ["B-V", "O"]]


def test_rows_of_one_sentence() -> None:
    words = [["a", "b"], ["a", "b"], ["a", "b"], ["c"]]
    data = RoleData.of(words, [0, 1, 1, 0])
    assert data.groups == [0, 0, 1, 2]
    assert data.predicates == [0, 1, 1, 0]
    assert repr(data) == "RoleData('data', 4 predicates of 3 sentences, 7 tokens, without roles)"


def test_a_subset_keeps_its_own_sentences() -> None:
    data = small_roles(10)
    few = data.subset([7, 2])
    assert few.tokens == [data.tokens[7], data.tokens[2]]
    assert few.predicates == [data.predicates[7], data.predicates[2]]
    assert [few.sentences[k].words for k in few.groups or ()] == few.tokens
    again = RoleData.join({"one": few, "two": data})
    assert [again.sentences[k].words for k in again.groups or ()] == again.tokens
    assert again.subset([0, 1]).checksum() == few.checksum()


@pytest.mark.parametrize(
    ("predicates", "message"),
    [
        ([0], "2 rows of words and 1 predicates"),
        ([0, 2], r"row 1 \(counted from 0\): .* from 0 to 1, got 2"),
        ([0, -1], "from 0 to 1, got -1"),
        ([0, "1"], "the predicate is '1'; give its position"),
        ([0, True], "from 0 to 1, got True"),
        (None, "predicates is None; give the position"),
        (1, "predicates is no list"),
    ],
)
def test_wrong_predicates(predicates: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        RoleData.of(WORDS, predicates)


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([["B-ARG0", "B-V"], ["B-V", "B-V"]], r"row 1 \(counted from 0\): 2 tokens have B-V"),
        ([["B-ARG0", "B-V"], ["O", "O"]], "row 1 .* no token has B-V"),
        ([["B-V", "O"], ["B-V", "O"]], "row 0 .* the predicate, token 1, has the tag 'O'"),
        ([["B-V", "E-V"], ["B-V", "O"]], "row 0 .* has the tag 'E-V'"),
        ([["I-ARG0", "B-V"], ["B-V", "O"]], "row 0 .* token 0 .* 'I-ARG0' outside .* 'B-ARG0'"),
        ([["B-ARG0", "B-V"], ["B-V", "I-ARG0"]], "row 1 .* token 1 .* 'I-ARG0' outside a span"),
        ([["B-V"], ["B-V", "O"]], "2 tokens and 1 in tags"),
    ],
)
def test_wrong_tags(tags: list[list[str]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        RoleData.of(WORDS, [1, 0], tags)


def test_a_verb_in_pieces_is_a_predicate() -> None:
    """As in PropBank: two - timing, with the roleset at the second piece."""
    data = RoleData.of([["two", "-", "timing"]], [2], [["B-V", "O", "B-C-V"]])
    assert data.predicates == [2]


def test_a_column_that_marks_nothing() -> None:
    with pytest.raises(DataError, match=r"use RoleData\.of"):
        RoleData(WORDS)
    with pytest.raises(DataError, match="must mark one predicate"):
        RoleData(WORDS, TAGS, {"predicate": [["V", "V"], ["V", "-"]]})
