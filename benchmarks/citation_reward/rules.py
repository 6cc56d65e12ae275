"""Rules about the fields of a citation, as a reader of bibliographies knows them.

A rule is a function of a :class:`Citation` that yields votes: from this token to that one, any
of these fields. Rules look at punctuation, position, digits and a few dozen words; what they
have no opinion on they leave out. They know nothing of a citation's true fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from citation_reward.layout import Citation
from citation_reward.words import (
    BOOK,
    CODE,
    EDITOR,
    INITIAL,
    INSTITUTION,
    ISSUE,
    JOURNAL,
    MONTHS,
    NOTE,
    NUMBER,
    PLACES,
    PUBLISHER,
    RANGE,
    STATE,
    TECH,
    YEAR,
)


class Vote(NamedTuple):
    """Tokens ``start`` to before ``stop`` are in one of these fields."""

    start: int
    stop: int
    fields: tuple[str, ...]


def names_first(c: Citation) -> Iterator[Vote]:
    """A citation begins with its authors, up to a full stop, a year, a quotation or other words."""
    yield Vote(0, c.names, ("author",))


def title_second(c: Citation) -> Iterator[Vote]:
    """The title follows the names, and the year where it stands there."""
    yield Vote(*c.title, ("title",))


def quoted_title(c: Citation) -> Iterator[Vote]:
    """What stands in quotation marks is the title."""
    if "``" in c.tokens and "''" in c.tokens:
        start, stop = c.tokens.index("``"), c.tokens.index("''") + 1
        yield Vote(start, stop, ("title",))


def years_and_months(c: Citation) -> Iterator[Vote]:
    """A year, and a month, are a date; so are brackets around them, and the mark behind them."""
    for at, token in enumerate(c.tokens):
        inside = c.title[0] <= at < c.title[1] and not token.startswith("(")
        month = c.words[at].rstrip(".") in MONTHS and token[0].isupper() and at > c.names
        if (not YEAR.fullmatch(token) and not month) or inside:
            continue
        if any(word in BOOK for word in c.words[at + 1 : at + 5]):
            continue  # In Proceedings of the 1990 ACM Conference
        start = at - 1 if at and c.tokens[at - 1] == "-LRB-" else at
        stop = at + 1
        while stop < len(c.tokens) and c.tokens[stop] in ("-RRB-", ".", ","):
            stop += 1
        yield Vote(start, stop, ("date",))


def page_numbers(c: Citation) -> Iterator[Vote]:
    """The words pages, pp. and what follows; two numbers with a dash between."""
    for at in range(c.title[1], len(c.tokens)):
        stop = at
        if c.words[at] in ("pages", "pp", "pp.", "page", "p"):
            stop = at + 1
            while stop < len(c.tokens) and re.fullmatch(r"[\d–-]+|\.", c.tokens[stop]):
                stop += 1
        elif RANGE.fullmatch(c.tokens[at]):
            stop = at + 1
        if stop > at:
            stop += stop < len(c.tokens) and c.tokens[stop] in (",", ".")
            yield Vote(at, stop, ("pages",))


def volume_numbers(c: Citation) -> Iterator[Vote]:
    """The words volume, vol., no. and a number; a number before an issue, 12 (3), or pages."""
    last = len(c.tokens) - 1
    for at in range(c.title[1], len(c.tokens)):
        word, following = c.words[at], c.tokens[min(at + 1, last)]
        further = c.tokens[min(at + 2, last)]
        if word in ("vol", "volume", "vol.", "no.", "number") and at < last:
            stop = at + 1
            while stop < len(c.tokens) and c.tokens[stop - 1] != ",":
                stop += 1
            yield Vote(at, min(stop, at + 4), ("volume",))
        elif NUMBER.fullmatch(word) and not YEAR.fullmatch(word):
            if ISSUE.fullmatch(following) and not YEAR.fullmatch(following):
                yield Vote(at, at + 3, ("volume",))
            elif following in (",", ":") and (
                RANGE.fullmatch(further) or further in ("pages", "pp")
            ):
                yield Vote(at, at + 2, ("volume",))


def journal_before_volume(c: Citation) -> Iterator[Vote]:
    """The segment between the title and a volume's number is a journal."""
    if len(c.segments) > 1:
        (first, stop), following = c.segments[0], c.segments[1]
        named = c.has(c.segments[0], BOOK) or c.words[first] == "in"
        head = c.tokens[following[0]]
        numbered = NUMBER.fullmatch(head) and not YEAR.fullmatch(head)
        if not named and (numbered or c.words[following[0]] in ("vol", "volume")):
            yield Vote(first, stop, ("journal",))


def _keyed(words: frozenset[str], field: str) -> Callable[[Citation], Iterator[Vote]]:
    def rule(c: Citation) -> Iterator[Vote]:
        for segment in c.segments:
            if c.has(segment, words):
                yield Vote(*segment, (field,))

    rule.__doc__ = f"A segment with a word such as {sorted(words)[0]!r} is of the {field}."
    return rule


journal_words = _keyed(JOURNAL, "journal")
publisher_words = _keyed(PUBLISHER, "publisher")
institution_words = _keyed(INSTITUTION, "institution")
tech_words = _keyed(TECH, "tech")


def book_words(c: Citation) -> Iterator[Vote]:
    """A segment that begins with "In", or names proceedings or a meeting, is the book's."""
    for start, stop in c.segments:
        named = c.has((start, stop), BOOK) and not c.has((start, stop), EDITOR)
        begins = c.words[start] == "in" and "press" not in c.words[start:stop]
        names = any(INITIAL.fullmatch(token) for token in c.tokens[start + 1 : start + 4])
        if named or (begins and not names):
            yield Vote(start, stop, ("booktitle",))


def editor_words(c: Citation) -> Iterator[Vote]:
    """Names before "editors" or "(Eds.)" are the editors', from "In" or the last full stop on."""
    for at in range(c.title[1], len(c.tokens)):
        if c.words[at] in EDITOR:
            start = at
            while start > c.title[1] and c.words[start] != "in":
                start -= 1
            stop = at + 1
            while stop < len(c.tokens) and c.tokens[stop] in (".", ",", "-RRB-"):
                stop += 1
            yield Vote(start, stop, ("editor",))
            return


def places(c: Citation) -> Iterator[Vote]:
    """A state's two letters, and the segment before them; well-known towns and countries."""
    for number, segment in enumerate(c.segments):
        start, stop = segment
        short = stop - start <= 4
        if short and STATE.fullmatch(c.tokens[start]):
            yield Vote(start, stop, ("location",))
            before, _ = c.segments[number - 1] if number else segment
            if start - before <= 4:
                yield Vote(before, start, ("location",))
        elif short and c.has(segment, PLACES) and not c.has(segment, INSTITUTION | PUBLISHER):
            yield Vote(start, stop, ("location",))


def report_codes(c: Citation) -> Iterator[Vote]:
    """Capitals and digits together, CMU-CS-94-123, number a report."""
    for start, stop in c.segments:
        for at in range(start, stop):
            if CODE.fullmatch(c.tokens[at]) and c.has((start, stop), TECH):
                yield Vote(start, stop, ("tech",))


def remarks(c: Citation) -> Iterator[Vote]:
    """Words such as "to appear", "submitted", "in press" are notes."""
    for start, stop in c.segments:
        words = c.words[start:stop]
        if c.has((start, stop), NOTE - {"press"}) or words[:2] == ["in", "press"]:
            yield Vote(start, stop, ("note",))


#: Every rule and its weight: how much a vote of it counts.
RULES: dict[Callable[[Citation], Iterator[Vote]], float] = {
    names_first: 1.0,
    title_second: 1.0,
    quoted_title: 2.0,
    years_and_months: 3.0,
    page_numbers: 3.0,
    volume_numbers: 2.0,
    journal_before_volume: 1.0,
    journal_words: 1.0,
    book_words: 1.5,
    publisher_words: 1.5,
    institution_words: 1.2,
    tech_words: 1.5,
    editor_words: 2.0,
    places: 1.0,
    report_codes: 1.0,
    remarks: 2.0,
}


def joined(tokens: list[str]) -> list[bool]:
    """For every token whether it belongs with the one before: fields change at punctuation."""
    together = [False]
    for before, token in pairwise(tokens):
        closes = token in (",", ".", ";", ":", "''", "-RRB-")
        opens = token in ("``", "-LRB-") or bool(YEAR.fullmatch(token)) or token in ("In", "pp")
        together.append(closes or not (opens or before in (",", ".", ";", ":", "''", "-RRB-")))
    return together
