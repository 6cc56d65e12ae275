"""Span scores against conlleval's own loop, seqeval, and cases by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossnet.errors import DataError, SettingError
from lossnet.tasks.sequence import SpanScore, SpanScores, span_scores, token_accuracy

Pair = tuple[list[list[str]], list[list[str]]]


def pairs(prefixes: str, types: tuple[str, ...] = ("X", "Y", "a-b")) -> st.SearchStrategy[Pair]:
    """Gold and predicted tags of a few sentences, any tag at any place."""
    tag = st.sampled_from(["O", *(f"{p}-{t}" for p in prefixes for t in types)])
    sentence = st.lists(st.tuples(tag, tag, st.booleans()), min_size=1, max_size=8)

    def split(drawn: list[list[tuple[str, str, bool]]]) -> Pair:
        true = [[gold for gold, _, _ in rows] for rows in drawn]
        return true, [[gold if same else other for gold, other, same in rows] for rows in drawn]

    return st.lists(sentence, min_size=1, max_size=4).map(split)


def starts(before: tuple[str, str], tag: tuple[str, str]) -> bool:
    """conlleval's rules for the start of a chunk, for B, I and O."""
    letters = (before[0], tag[0])
    start = letters in [("B", "B"), ("I", "B"), ("O", "B"), ("O", "I")]
    return start or (tag[0] != "O" and before[1] != tag[1])


def ends(before: tuple[str, str], tag: tuple[str, str]) -> bool:
    """conlleval's rules for the end of a chunk, for B, I and O."""
    letters = (before[0], tag[0])
    end = letters in [("B", "B"), ("B", "O"), ("I", "B"), ("I", "O")]
    return end or (before[0] != "O" and before[1] != tag[1])


def conlleval(true: list[list[str]], predicted: list[list[str]]) -> SpanScores:
    """The script's way of counting: one pass over all lines, sentences end with an O line."""
    gold_found, found, correct = Counter[str](), Counter[str](), Counter[str]()
    right = tokens = 0
    inside = False
    last_gold = last = ("O", "")
    columns = ([tag for tags in side for tag in [*tags, None]] for side in (true, predicted))
    for line in zip(*columns, strict=True):
        tokens += line[0] is not None
        right += line[0] is not None and line[0] == line[1]
        gold, guess = ((tag or "O").partition("-")[::2] for tag in line)
        both_end = ends(last_gold, gold), ends(last, guess)
        if inside and all(both_end) and last_gold[1] == last[1]:
            inside = False
            correct[last_gold[1]] += 1
        elif inside and (both_end[0] != both_end[1] or gold[1] != guess[1]):
            inside = False
        if starts(last_gold, gold) and starts(last, guess) and gold[1] == guess[1]:
            inside = True
        gold_found[gold[1]] += starts(last_gold, gold)
        found[guess[1]] += starts(last, guess)
        last_gold, last = gold, guess
    names = sorted(+gold_found | +found)
    return SpanScores(
        *(gold_found.total(), found.total(), correct.total()),
        {name: SpanScore(gold_found[name], found[name], correct[name]) for name in names},
        right / tokens,
    )


@given(pairs("BI"))
def test_default_equals_conlleval(pair: Pair) -> None:
    assert span_scores(*pair) == conlleval(*pair)


@given(pairs("B", ("X-",)) | pairs("I", ("", "X")))
def test_odd_types_equal_conlleval(pair: Pair) -> None:
    assert span_scores(*pair) == conlleval(*pair)


def agrees(scores: SpanScores, report: tuple, average: tuple) -> None:
    precision, recall, f1, support = report
    assert list(scores.types) == sorted(scores.types)
    for k, score in enumerate(scores.types.values()):
        assert score.precision == pytest.approx(precision[k])
        assert score.recall == pytest.approx(recall[k])
        assert score.f1 == pytest.approx(f1[k])
        assert score.true == support[k]
    assert len(scores.types) == len(precision)
    assert (scores.precision, scores.recall, scores.f1) == pytest.approx(average[:3])


@settings(deadline=None)
@given(pairs("BI") | pairs("BIES"))
def test_default_equals_seqeval(pair: Pair) -> None:
    oracle = pytest.importorskip(
        "seqeval.metrics.sequence_labeling"
    ).precision_recall_fscore_support
    report = oracle(*pair, average=None, zero_division=0)
    agrees(span_scores(*pair), report, oracle(*pair, average="micro", zero_division=0))


@settings(deadline=None)
@given(st.data(), st.sampled_from([("IOB2", "IOB2"), ("BIOES", "IOBES")]))
def test_strict_equals_seqeval(data: st.DataObject, names: tuple[str, str]) -> None:
    oracle = pytest.importorskip("seqeval.metrics.v1").precision_recall_fscore_support
    scheme = getattr(pytest.importorskip("seqeval.scheme"), names[1])
    pair = data.draw(pairs("BI" if names[0] == "IOB2" else "BIES"))
    scores = span_scores(*pair, mode="strict", scheme=names[0])
    report = oracle(*pair, average=None, zero_division=0, scheme=scheme)
    agrees(scores, report, oracle(*pair, average="micro", zero_division=0, scheme=scheme))
    if names[0] == "IOB2" or any(t[0] in "ES" for side in pair for s in side for t in s):
        assert span_scores(*pair, mode="strict") == scores


TRUE = [["B-PER", "I-PER", "O", "B-LOC"], ["B-PER", "O"]]
GUESS = [["I-PER", "I-PER", "O", "B-PER"], ["B-PER", "I-PER"]]


def test_by_hand() -> None:
    scores = span_scores(TRUE, GUESS)
    assert scores.overall == SpanScore(true=3, predicted=3, correct=1)
    assert scores.types == {"LOC": SpanScore(1, 0, 0), "PER": SpanScore(2, 3, 1)}
    assert scores.precision == scores.recall == scores.f1 == pytest.approx(1 / 3)
    assert scores.types["PER"].f1 == pytest.approx(0.4)
    assert scores.types["LOC"].f1 == 0.0
    assert scores.accuracy == token_accuracy(TRUE, GUESS) == 0.5
    strict = span_scores(TRUE, GUESS, mode="strict")
    assert strict.overall == SpanScore(true=3, predicted=2, correct=0)


def test_table() -> None:
    assert str(span_scores(TRUE, GUESS)).splitlines() == [
        "type  precision  recall      f1  true  predicted  correct",
        "LOC      0.0000  0.0000  0.0000     1          0        0",
        "PER      0.3333  0.5000  0.4000     2          3        1",
        "all      0.3333  0.3333  0.3333     3          3        1",
        "token accuracy 0.5000",
    ]


def test_plain_tags_and_nothing_to_find() -> None:
    scores = span_scores([["a", "a", "b"]], [["a", "b", "b"]], scheme="plain")
    assert scores.overall == SpanScore(2, 2, 0)
    nothing = span_scores([["O"]], [["O"]])
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.accuracy) == (0, 0, 0, 1)
    assert str(nothing).splitlines()[1].startswith("all ")


@pytest.mark.parametrize(
    ("true", "predicted", "match"),
    [
        ([["O"]], [], "1 sentences of true tags and 0"),
        ([["O"], ["O", "O"]], [["O"], ["O"]], "sentence 1 .* has 2 true tags and 1 predicted"),
        (["O"], ["O"], "sentence 0 .* is a string"),
        ([], [], "no tags at all"),
        ([["O"]], [["PER"]], "predicted sentence 0 .*token 0 .*'PER'"),
    ],
)
def test_bad_input(true, predicted, match) -> None:
    with pytest.raises(DataError, match=match):
        span_scores(true, predicted)


def test_unknown_settings() -> None:
    with pytest.raises(SettingError, match="unknown mode 'stric': did you mean 'strict'"):
        span_scores([["O"]], [["O"]], mode="stric")
    with pytest.raises(SettingError, match="unknown scheme 'BILOU'"):
        span_scores([["O"]], [["O"]], scheme="BILOU")
    with pytest.raises(DataError, match=r"true sentence 0 .*'E-X'"):
        span_scores([["E-X"]], [["O"]], mode="strict", scheme="IOB2")
