"""Schemes: by hand, there and back again, and what breaks their rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lossnet.errors import DataError, SettingError
from lossnet.tasks.sequence import Span, detect_scheme, from_spans, spans, to_scheme
from lossnet.tasks.sequence.tags import SCHEMES

SPANS = [Span("PER", 0, 2), Span("PER", 2, 3), Span("creative-work", 4, 5), Span("PER", 5, 8)]
WRITTEN = {
    "IOB1": "I-PER I-PER B-PER O I-creative-work I-PER I-PER I-PER O",
    "IOB2": "B-PER I-PER B-PER O B-creative-work B-PER I-PER I-PER O",
    "BIOES": "B-PER E-PER S-PER O S-creative-work B-PER I-PER E-PER O",
}


@st.composite
def sentences(draw: st.DrawFn) -> tuple[list[Span], int]:
    """Spans that lie apart or touch, and the number of tokens."""
    found, end = [], 0
    for gap, length, kind in draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from(["X", "Y", "a-b", ""]))
        )
    ):
        found.append(Span(kind, end + gap, end + gap + length))
        end += gap + length
    return found, end + draw(st.integers(0, 2))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_by_hand(scheme) -> None:
    tags = WRITTEN[scheme].split()
    assert from_spans(SPANS, 9, scheme) == tags
    assert spans(tags) == spans(tags, scheme) == spans(tags, scheme, strict=True) == SPANS
    assert detect_scheme([["O"], tags]) == scheme


@pytest.mark.parametrize("source", SCHEMES)
@pytest.mark.parametrize("target", SCHEMES)
def test_from_each_to_each(source, target) -> None:
    assert to_scheme(WRITTEN[source].split(), target) == WRITTEN[target].split()
    assert to_scheme(WRITTEN[source].split(), target, source) == WRITTEN[target].split()


@given(sentences())
def test_spans_to_tags_to_spans(sentence) -> None:
    found, length = sentence
    written = {scheme: from_spans(found, length, scheme) for scheme in SCHEMES}
    for source, tags in written.items():
        assert len(tags) == length
        assert spans(tags) == spans(tags, source) == spans(tags, source, strict=True) == found
        for target in SCHEMES:
            assert to_scheme(tags, target) == written[target]
    if any(span.end - span.start > 1 for span in found):
        assert {scheme: detect_scheme([tags]) for scheme, tags in written.items()} == {
            scheme: scheme for scheme in SCHEMES
        }


@given(st.lists(st.sampled_from(["O", *(f"{p}-{t}" for p in "BIES" for t in "XY")])))
def test_conversion_keeps_the_spans_of_broken_sequences(tags) -> None:
    for scheme in SCHEMES:
        once = to_scheme(tags, scheme)
        assert spans(once, scheme, strict=True) == spans(tags)
        assert to_scheme(once, scheme) == once


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("I-X I-X O", [("X", 0, 2)]),  # no B-
        ("O I-X I-Y", [("X", 1, 2), ("Y", 2, 3)]),  # another type begins a span
        ("B-X I-Y I-Y", [("X", 0, 1), ("Y", 1, 3)]),
        ("I-X B-X I-X", [("X", 0, 1), ("X", 1, 3)]),
        ("B-X B-X", [("X", 0, 1), ("X", 1, 2)]),
        ("O E-X O", [("X", 1, 2)]),
        ("B-X E-X I-X", [("X", 0, 2), ("X", 2, 3)]),
        ("S-X I-X", [("X", 0, 1), ("X", 1, 2)]),
        ("B-X O", [("X", 0, 1)]),
        ("B I O I", [("", 0, 2), ("", 3, 4)]),  # no types
        ("", []),
    ],
)
def test_broken_rules_as_conlleval_reads_them(tags, expected) -> None:
    assert spans(tags.split()) == [Span(*span) for span in expected]


@pytest.mark.parametrize(
    ("scheme", "tags", "expected"),
    [
        ("IOB2", "I-X I-X O B-X I-Y", [("X", 3, 4)]),
        ("BIOES", "B-X I-X O S-X E-X B-X E-X I-X", [("X", 3, 4), ("X", 5, 7)]),
        ("IOB1", "B-X I-X O I-X B-X B-Y", [("X", 3, 4), ("X", 4, 5)]),
    ],
)
def test_strict_leaves_broken_spans_out(scheme, tags, expected) -> None:
    assert spans(tags.split(), scheme, strict=True) == [Span(*span) for span in expected]


def test_plain_tags() -> None:
    tags = ["author", "author", "title", "O", "title"]
    assert detect_scheme([tags]) == "plain"
    assert spans(tags, "plain") == [Span("author", 0, 2), Span("title", 2, 3), Span("title", 4, 5)]
    assert to_scheme(tags, "BIOES", "plain") == ["B-author", "E-author", "S-title", "O", "S-title"]
    assert detect_scheme([["N", "O", "E", "-LRB-", "S"]]) == "plain"  # parts of speech


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["O"], "IOB2"),
        (["B-X", "O", "I-X", "B-X", "I-X"], "IOB2"),  # one I- without a B-
        (["I-X", "O", "I-X", "O", "B-X"], "IOB1"),  # one B- too many
        (["O", "S-X"], "BIOES"),
        (["B", "I"], "IOB2"),
    ],
)
def test_detection(tags, scheme) -> None:
    assert detect_scheme([tags]) == scheme


def test_errors() -> None:
    with pytest.raises(SettingError, match="unknown scheme 'IOB': did you mean 'IOB"):
        to_scheme(["O"], "IOB")
    with pytest.raises(SettingError, match="unknown scheme 'bio'"):
        spans(["O"], "bio")
    with pytest.raises(SettingError, match="strict spans need a scheme"):
        spans(["O"], strict=True)
    with pytest.raises(DataError, match=r"token 1 .*'author': expected O, B-\.\.\., I-"):
        spans(["O", "author"])
    with pytest.raises(DataError, match=r"token 0 .*'E-X': expected O, B-\.\.\., I-\.\.\.;"):
        spans(["E-X"], "IOB2")
    with pytest.raises(DataError, match=r"'B-X'.*without \('Y'\)"):
        detect_scheme([["B-X"], ["Y"]])
    for wrong in ([Span("X", 0, 2), Span("X", 1, 3)], [Span("X", 2, 5)], [Span("X", 1, 1)]):
        with pytest.raises(DataError, match="overlaps"):
            from_spans(wrong, 4)


def test_other_names_of_the_schemes() -> None:
    tags = ["I-PER", "I-PER", "B-PER", "O"]
    assert to_scheme(tags, "BIO") == to_scheme(tags, "IOB2")
    assert to_scheme(tags, "IOBES") == to_scheme(tags, "BIOES")
    assert spans(["B-PER", "I-LOC"], "BIO", strict=True) == [Span("PER", 0, 1)]
