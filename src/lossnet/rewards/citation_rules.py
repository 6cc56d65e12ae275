"""Rules about the fields of a citation, as a reader of bibliographies knows them.

A rule is a function of a :class:`Citation` that yields votes: from this token to that one, any
of these fields. Rules look at punctuation, position, digits and a few dozen words; what they
have no opinion on they leave out. They know nothing of a citation's true fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

FIELDS = (
    "author", "booktitle", "date", "editor", "institution", "journal", "location", "note", "pages",
    "publisher", "tech", "title", "volume",
)  # fmt: skip

_INITIAL = re.compile(r"[A-Z]\.?")
_YEAR = re.compile(r"\(?(1[89]|20)\d\d[a-z]?\)?")
_RANGE = re.compile(r"\d+[-–]+\d+")
_ISSUE = re.compile(r"\(\d{1,4}\)")
_NUMBER = re.compile(r"\d+")
_STATE = re.compile(r"[A-Z]{2}\.?")
_CODE = re.compile(r"(?=.*\d)(?=.*[A-Z])[\w\\/.-]{4,}|TR[-\d]*")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MONTHS = _set(
    "january february march april may june july august september october november december jan feb "
    "mar apr jun jul aug sep sept oct nov dec spring summer fall autumn winter"
)
_PARTICLES = _set("de van von der den la le du auf di da et al jr ter")
_ABBREVIATED = _set(
    "proc int intl conf symp trans tech vol pp dept univ comm math soc amer ed eds comput sci j rep "
    "no appl stat art intell engng eng res assoc natl rec select areas p syst theor"
)
_JOURNAL = _set(
    "journal transactions trans communications comm letters review magazine mag annals bulletin "
    "acta quarterly j j."
)
_BOOK = _set(
    "proceedings proc conference conf symposium symp workshop advances lecture lncs "
    "colloquium readings handbook congress"
)
_PUBLISHER = _set(
    "press springer springer-verlag verlag kaufmann morgan-kaufmann wiley addison-wesley "
    "prentice-hall prentice elsevier north-holland mcgraw-hill kluwer publishers plenum benjamin "
    "birkhauser freeman publishing dover"
)
_TECH = _set("report rep thesis dissertation memo memorandum tr manuscript preprint tech patent")
_INSTITUTION = _set(
    "university univ institute department dept dept. laboratory laboratories labs lab school "
    "college universiteit universite universitat division corporation inria center centre"
)
_NOTE = _set("appear submitted press preparation unpublished forthcoming reprinted available")
_EDITOR = _set("editor editors eds eds. ed ed.")
_PLACES = _set(
    "york cambridge boston washington san berlin london paris tokyo amsterdam sydney chicago "
    "seattle philadelphia pittsburgh stanford princeton heidelberg zurich vienna toronto montreal "
    "california massachusetts texas jersey illinois pennsylvania florida oregon colorado australia "
    "japan germany france england uk usa canada italy netherlands switzerland sweden denmark spain "
    "israel austria scotland finland norway china india u.s.a berkeley edinburgh oxford"
)


class Vote(NamedTuple):
    """Tokens ``start`` to before ``stop`` are in one of these fields."""

    start: int
    stop: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Citation:
    """The tokens of a citation and what the rules read off its punctuation.

    Attributes:
        tokens: the tokens.
        words: the tokens in lower case.
        names: end of the names it starts with.
        title: first token of the title and the one behind its last.
        segments: the stretches between commas and full stops that come after the title.
    """

    tokens: list[str]
    words: list[str]
    names: int
    title: tuple[int, int]
    segments: list[tuple[int, int]]

    @classmethod
    def of(cls, tokens: list[str]) -> Citation:
        """What punctuation tells of these tokens."""
        words = [token.lower() for token in tokens]
        names = _names_end(tokens, words)
        first = names
        while first < len(tokens) and _dated(tokens, words, first):
            first += 1
        commas = first > 0 and tokens[first - 1] == ","
        last = _title_end(tokens, words, first, commas=commas)
        return cls(tokens, words, names, (first, last), _segments(tokens, words, last))

    def has(self, segment: tuple[int, int], words: frozenset[str]) -> bool:
        """Whether one of the words stands in the segment."""
        return any(word in words for word in self.words[slice(*segment)])


def _dated(tokens: list[str], words: list[str], at: int) -> bool:
    """Whether a token can belong to a date between the names and the title."""
    token = tokens[at]
    if _YEAR.fullmatch(token) or token == "-RRB-":
        return True
    follows = any(_YEAR.fullmatch(token) for token in tokens[at + 1 : at + 4])
    if token == "-LRB-" or words[at].rstrip(".") in _MONTHS:
        return follows
    return token in ".,:" and at > 0 and _dated(tokens, words, at - 1)


def _names_end(tokens: list[str], words: list[str]) -> int:
    """The end of the names: a full stop, a year, a quotation mark, or a comma before other words."""
    start = 0
    surname_first = bool(len(tokens) > 2 and tokens[1] == "," and _INITIAL.fullmatch(tokens[2]))
    for at, token in enumerate(tokens):
        following = words[at + 1] if at + 1 < len(tokens) else ""
        ends = following not in (",", ".", ";", "and", "&", "-", "et") and surname_first
        if ends and _INITIAL.fullmatch(token) and not _INITIAL.fullmatch(following.upper()):
            return at + 1  # Cau, A. On hash
        if token in ("``", '"') or _YEAR.fullmatch(token) or token == "-LRB-":
            return at
        if token in (".", ":") and words[at - 1] not in ("al", "jr"):
            return at + 1
        if token in (",", ";"):
            if not _namelike(tokens, words, start, at) and start:
                return start
            start = at + 1
    return start


def _namelike(tokens: list[str], words: list[str], start: int, stop: int) -> bool:
    inside = range(start, stop)
    plain = [i for i in inside if words[i] not in ("and", "&", "-") and words[i] not in _PARTICLES]
    if any(not tokens[i][0].isupper() for i in plain):
        return False
    initials = sum(bool(_INITIAL.fullmatch(tokens[i])) for i in plain)
    return len(plain) <= (8 if initials else 3)


def _title_end(tokens: list[str], words: list[str], first: int, *, commas: bool) -> int:
    """The end of the title: its closing quote, a full stop, or a comma where names end with one."""
    quoted = first < len(tokens) and tokens[first] in ("``", '"')
    for at in range(first + 1, len(tokens)):
        token, following = tokens[at], words[at + 1] if at + 1 < len(tokens) else ""
        if quoted:
            if token in ("''", '"'):
                return at + 1 + (following in (",", "."))
        elif token in (".", "?", "!"):
            return at + 1
        elif token == "," and (
            commas
            or following in ("in", "in:", "ph.", "phd")
            or following in _PUBLISHER | _BOOK | _TECH | _JOURNAL | _INSTITUTION
        ):
            return at + 1
    return len(tokens)


def _segments(tokens: list[str], words: list[str], start: int) -> list[tuple[int, int]]:
    segments, first = [], start
    for at in range(start, len(tokens)):
        stop = tokens[at] in (",", ";", ":")
        stop |= tokens[at] == "." and words[at - 1] not in _ABBREVIATED
        if stop or at + 1 == len(tokens):
            segments.append((first, at + 1))
            first = at + 1
    return segments


# The rules ---------------------------------------------------------------------------------


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
        month = c.words[at].rstrip(".") in _MONTHS and token[0].isupper() and at > c.names
        if (not _YEAR.fullmatch(token) and not month) or inside:
            continue
        if any(word in _BOOK for word in c.words[at + 1 : at + 5]):
            continue  # In Proceedings of the 1990 ACM Conference
        start = at - 1 if at and c.tokens[at - 1] == "-LRB-" else at
        stop = at + 1
        while stop < len(c.tokens) and c.tokens[stop] in ("-RRB-", ".", ","):
            stop += 1
        yield Vote(start, stop, ("date",))


def page_numbers(c: Citation) -> Iterator[Vote]:
    """ "pages", "pp." and what follows; two numbers with a dash between."""
    for at in range(c.title[1], len(c.tokens)):
        stop = at
        if c.words[at] in ("pages", "pp", "pp.", "page", "p"):
            stop = at + 1
            while stop < len(c.tokens) and re.fullmatch(r"[\d–-]+|\.", c.tokens[stop]):
                stop += 1
        elif _RANGE.fullmatch(c.tokens[at]):
            stop = at + 1
        if stop > at:
            stop += stop < len(c.tokens) and c.tokens[stop] in (",", ".")
            yield Vote(at, stop, ("pages",))


def volume_numbers(c: Citation) -> Iterator[Vote]:
    """ "volume", "vol.", "no." and the number; a number before an issue, 12 (3), or before pages."""
    last = len(c.tokens) - 1
    for at in range(c.title[1], len(c.tokens)):
        word, following = c.words[at], c.tokens[min(at + 1, last)]
        further = c.tokens[min(at + 2, last)]
        if word in ("vol", "volume", "vol.", "no.", "number") and at < last:
            stop = at + 1
            while stop < len(c.tokens) and not c.tokens[stop - 1] == ",":
                stop += 1
            yield Vote(at, min(stop, at + 4), ("volume",))
        elif _NUMBER.fullmatch(word) and not _YEAR.fullmatch(word):
            if _ISSUE.fullmatch(following) and not _YEAR.fullmatch(following):
                yield Vote(at, at + 3, ("volume",))
            elif following in (",", ":") and (
                _RANGE.fullmatch(further) or further in ("pages", "pp")
            ):
                yield Vote(at, at + 2, ("volume",))


def journal_before_volume(c: Citation) -> Iterator[Vote]:
    """The segment between the title and a volume's number is a journal."""
    if len(c.segments) > 1:
        (first, stop), following = c.segments[0], c.segments[1]
        named = c.has(c.segments[0], _BOOK) or c.words[first] == "in"
        head = c.tokens[following[0]]
        numbered = _NUMBER.fullmatch(head) and not _YEAR.fullmatch(head)
        if not named and (numbered or c.words[following[0]] in ("vol", "volume")):
            yield Vote(first, stop, ("journal",))


def _keyed(words: frozenset[str], field: str) -> Callable[[Citation], Iterator[Vote]]:
    def rule(c: Citation) -> Iterator[Vote]:
        for segment in c.segments:
            if c.has(segment, words):
                yield Vote(*segment, (field,))

    rule.__doc__ = f"A segment with a word such as {sorted(words)[0]!r} is of the {field}."
    return rule


journal_words = _keyed(_JOURNAL, "journal")
publisher_words = _keyed(_PUBLISHER, "publisher")
institution_words = _keyed(_INSTITUTION, "institution")
tech_words = _keyed(_TECH, "tech")


def book_words(c: Citation) -> Iterator[Vote]:
    """A segment that begins with "In", or names proceedings or a meeting, is of the book's title."""
    for start, stop in c.segments:
        named = c.has((start, stop), _BOOK) and not c.has((start, stop), _EDITOR)
        begins = c.words[start] == "in" and "press" not in c.words[start:stop]
        names = any(_INITIAL.fullmatch(token) for token in c.tokens[start + 1 : start + 4])
        if named or (begins and not names):
            yield Vote(start, stop, ("booktitle",))


def editor_words(c: Citation) -> Iterator[Vote]:
    """Names before "editors" or "(Eds.)" are the editors', from "In" or the last full stop on."""
    for at in range(c.title[1], len(c.tokens)):
        if c.words[at] in _EDITOR:
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
        if short and _STATE.fullmatch(c.tokens[start]):
            yield Vote(start, stop, ("location",))
            before, _ = c.segments[number - 1] if number else segment
            if start - before <= 4:
                yield Vote(before, start, ("location",))
        elif short and c.has(segment, _PLACES) and not c.has(segment, _INSTITUTION | _PUBLISHER):
            yield Vote(start, stop, ("location",))


def report_codes(c: Citation) -> Iterator[Vote]:
    """Capitals and digits together, CMU-CS-94-123, number a report."""
    for start, stop in c.segments:
        for at in range(start, stop):
            if _CODE.fullmatch(c.tokens[at]) and c.has((start, stop), _TECH):
                yield Vote(start, stop, ("tech",))


def remarks(c: Citation) -> Iterator[Vote]:
    """ "To appear", "submitted", "in press" are notes."""
    for start, stop in c.segments:
        words = c.words[start:stop]
        if c.has((start, stop), _NOTE - {"press"}) or words[:2] == ["in", "press"]:
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
    for before, token in zip(tokens, tokens[1:], strict=False):
        closes = token in (",", ".", ";", ":", "''", "-RRB-")
        opens = token in ("``", "-LRB-") or bool(_YEAR.fullmatch(token)) or token in ("In", "pp")
        together.append(closes or not (opens or before in (",", ".", ";", ":", "''", "-RRB-")))
    return together
