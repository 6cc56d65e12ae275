"""Spans written as tags: IOB1, IOB2, BIOES, and plain tags without prefixes.

========  =======================================================================================
IOB1      ``I-`` in a span; ``B-`` only where a span touches one of the same type before it
IOB2      ``B-`` where a span begins, ``I-`` in the rest of it; also called BIO
BIOES     ``B-``, ``I-``, ``E-`` (last token); ``S-`` for a span of one token; also called IOBES
plain     the type alone; a span is a run of one tag
========  =======================================================================================

Outside of spans the tag is ``O``. Sequences that break a scheme's rules (an ``I-`` without a
``B-``) are read as the CoNLL evaluation script, conlleval, reads them: a span begins at every
``B-``, and at an ``I-`` whose token before is outside or of another type; it ends before the
next one that begins or before ``O``. ``E-`` and ``S-``, which that script does not know in full,
also end a span, and ``S-`` begins one. What follows the first hyphen is the type.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from lossnet.errors import DataError, SettingError, unknown

SCHEMES = ("IOB1", "IOB2", "BIOES")
PLAIN = "plain"
#: Tags that are trees, see :mod:`lossnet.tasks.sequence.tree_coding`, and their metric.
TREES, BRACKETS = "trees", "bracket-f1"
#: Other names of the schemes.
ALIASES = {"BIO": "IOB2", "IOBES": "BIOES"}
_PREFIXES = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES"}
_WHOLE = {"IOB2": re.compile("BI*"), "BIOES": re.compile("S|BI*E")}


class Span(NamedTuple):
    """The tokens from ``start`` up to, but not including, ``end`` are a ``type``."""

    type: str
    start: int
    end: int


class _Tag(NamedTuple):
    prefix: str = "O"
    type: str = ""


def spans(tags: Sequence[str], scheme: str | None = None, *, strict: bool = False) -> list[Span]:
    """The spans of one sentence, from left to right.

    Args:
        tags: one per token.
        scheme: one of ``SCHEMES``, whose prefixes are then the only ones allowed, or
            ``"plain"``; None for any tags with prefixes.
        strict: leave out every span that breaks the scheme's rules, as seqeval's strict mode
            does, instead of reading it as conlleval does.

    >>> spans(["B-PER", "I-PER", "O", "I-LOC"])
    [Span(type='PER', start=0, end=2), Span(type='LOC', start=3, end=4)]
    >>> spans(["B-PER", "I-PER", "O", "I-LOC"], "IOB2", strict=True)
    [Span(type='PER', start=0, end=2)]
    """
    if scheme == PLAIN:
        return _runs(tags)
    if scheme is not None:
        scheme = _known(scheme, (*SCHEMES, PLAIN))
    elif strict:
        raise SettingError("strict spans need a scheme: " + ", ".join(SCHEMES))
    parsed = parse_tags(tags, scheme)
    if scheme is None or not strict:
        return _chunks(parsed)
    return [span for span in _chunks(parsed) if _follows(span, parsed, scheme)]


def from_spans(found: Iterable[Span], length: int, scheme: str = "IOB2") -> list[str]:
    """The tags of a sentence of ``length`` tokens with these spans.

    >>> from_spans([Span("PER", 0, 2), Span("PER", 2, 3)], 4, "IOB1")
    ['I-PER', 'I-PER', 'B-PER', 'O']
    """
    scheme = _known(scheme, SCHEMES)
    tags = ["O"] * length
    last = Span("", 0, 0)
    for span in sorted(found, key=lambda s: s.start):
        if not last.end <= span.start < span.end <= length:
            wrong = f"{span} is empty, overlaps {last} or goes beyond the {length} tokens"
            raise DataError(f"{wrong}; tags hold only spans that lie apart")
        touching = last.end == span.start and last.type == span.type and last.end > 0
        for k, prefix in enumerate(_prefixes(span.end - span.start, scheme, touching)):
            tags[span.start + k] = f"{prefix}-{span.type}" if span.type else prefix
        last = span
    return tags


def to_scheme(tags: Sequence[str], scheme: str, source: str | None = None) -> list[str]:
    """The same spans of one sentence in another scheme.

    Args:
        tags: one per token.
        scheme: one of ``SCHEMES``.
        source: what the tags are in; ``"plain"`` must be said, the others need not.

    >>> to_scheme(["I-PER", "I-PER", "B-PER", "O"], "BIOES")
    ['B-PER', 'E-PER', 'S-PER', 'O']
    """
    return from_spans(spans(tags, source), len(tags), scheme)


def has_spans(names: Iterable[str]) -> bool:
    """Whether tags with these names mark spans: all have a prefix or are ``O``, not all ``O``.

    >>> has_spans(["O", "B-PER", "I-PER"]), has_spans(["O", "N", "V"])
    (True, False)
    """
    marks = set(names) - {"O"}
    return bool(marks) and all(re.match("[BIES](-|$)", name) for name in marks)


def detect_scheme(sentences: Iterable[Sequence[str]]) -> str:
    """The scheme that all sentences' tags together show: one of ``SCHEMES``, or ``"plain"``.

    ``"BIOES"`` where there is an ``E-`` or ``S-``; else, of IOB1 and IOB2, the one whose rules
    fewer spans break, and IOB2 of two equals. Tags with and without prefixes side by side are a
    :class:`DataError`.
    """
    listed = sentences if isinstance(sentences, Sequence) else list(sentences)
    names = {tag for tags in listed for tag in tags}
    typed = sorted(tag for tag in names if re.match("[BIES]-", tag))
    others = sorted(names - set(typed) - set("OBIES"))
    if typed and others:
        raise DataError(
            f"tags with a prefix ({typed[0]!r}) and without ({others[0]!r}) side by side: "
            "expected O, B-..., I-..., E-..., S-..., or tags without prefixes throughout"
        )
    if others:
        return PLAIN
    if any(tag[0] in "ES" for tag in names):
        return "BIOES"
    broken = {"IOB2": 0, "IOB1": 0}
    for parsed in (parse_tags(tags, None) for tags in listed):
        for span in _chunks(parsed):
            for scheme in broken:
                broken[scheme] += not _follows(span, parsed, scheme)
    return min(broken, key=lambda scheme: broken[scheme])


def span_scheme(tags: Iterable[str], scheme: str) -> str | None:
    """The scheme that :func:`spans` needs for tags that :func:`detect_scheme` found a scheme for.

    ``"plain"`` for plain tags; None for others, which it reads with whatever prefixes they have.
    Tags with and without prefixes side by side mark no spans: a :class:`DataError`.
    """
    if scheme != PLAIN:
        return None
    detect_scheme([list(tags)])
    return PLAIN


def _known(scheme: str, known: Sequence[str]) -> str:
    """The scheme of this name; an error where there is none."""
    scheme = ALIASES.get(scheme, scheme)
    if scheme not in known:
        raise unknown("scheme", scheme, (*known, *ALIASES))
    return scheme


def parse_tags(tags: Sequence[str], scheme: str | None) -> list[_Tag]:
    """Prefix and type of every tag; a :class:`DataError` where the scheme has no such prefix."""
    allowed = "BIES" if scheme is None else _PREFIXES[scheme]
    parsed = []
    for k, tag in enumerate(tags):
        prefix, _, kind = tag.partition("-")
        if tag != "O" and (len(prefix) != 1 or prefix not in allowed):
            listed = ", ".join(f"{letter}-..." for letter in allowed)
            raise DataError(
                f"token {k} (counted from 0) has the tag {tag!r}: expected O, {listed}; "
                "tags without prefixes have the scheme 'plain'"
            )
        parsed.append(_Tag(prefix, kind))
    return parsed


def _chunks(parsed: list[_Tag]) -> list[Span]:
    """The spans as conlleval finds them."""
    found, start, before = [], 0, _Tag()
    for k, tag in enumerate([*parsed, _Tag()]):
        fresh = tag.prefix in "BS" or before.prefix in "OES" or before.type != tag.type
        begins = tag.prefix != "O" and fresh
        if before.prefix != "O" and (begins or tag.prefix == "O"):
            found.append(Span(before.type, start, k))
        if begins:
            start = k
        before = tag
    return found


def _follows(span: Span, parsed: list[_Tag], scheme: str) -> bool:
    """Whether a span's tags follow the scheme's rules."""
    prefixes = "".join(tag.prefix for tag in parsed[span.start : span.end])
    if scheme == "IOB1":
        before = parsed[span.start - 1] if span.start else _Tag()
        touching = before.prefix != "O" and before.type == span.type
        return touching == prefixes.startswith("B")
    return _WHOLE[scheme].fullmatch(prefixes) is not None


def _prefixes(length: int, scheme: str, touching: bool) -> str:
    if scheme == "BIOES":
        return "S" if length == 1 else "B" + "I" * (length - 2) + "E"
    first = "B" if scheme == "IOB2" or touching else "I"
    return first + "I" * (length - 1)


def _runs(tags: Sequence[str]) -> list[Span]:
    found, start = [], 0
    for tag, run in groupby(tags):
        end = start + len(list(run))
        if tag != "O":
            found.append(Span(tag, start, end))
        start = end
    return found
