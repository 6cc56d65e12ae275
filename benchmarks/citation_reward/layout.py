"""Where the names and the title of a citation end, read off its punctuation."""

from __future__ import annotations

from dataclasses import dataclass

from citation_reward.words import (
    ABBREVIATED,
    BEHIND_TITLE,
    INITIAL,
    MONTHS,
    PARTICLES,
    YEAR,
)


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
    if YEAR.fullmatch(token) or token == "-RRB-":
        return True
    follows = any(YEAR.fullmatch(token) for token in tokens[at + 1 : at + 4])
    if token == "-LRB-" or words[at].rstrip(".") in MONTHS:
        return follows
    return token in ".,:" and at > 0 and _dated(tokens, words, at - 1)


def _names_end(tokens: list[str], words: list[str]) -> int:
    """The end of the names: a full stop, a year, a quotation, or a comma before other words."""
    start = 0
    surname_first = bool(len(tokens) > 2 and tokens[1] == "," and INITIAL.fullmatch(tokens[2]))
    for at, token in enumerate(tokens):
        following = words[at + 1] if at + 1 < len(tokens) else ""
        ends = following not in (",", ".", ";", "and", "&", "-", "et") and surname_first
        if ends and INITIAL.fullmatch(token) and not INITIAL.fullmatch(following.upper()):
            return at + 1  # Cau, A. On hash
        if token in ("``", '"') or YEAR.fullmatch(token) or token == "-LRB-":
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
    plain = [i for i in inside if words[i] not in ("and", "&", "-") and words[i] not in PARTICLES]
    if any(not tokens[i][0].isupper() for i in plain):
        return False
    initials = sum(bool(INITIAL.fullmatch(tokens[i])) for i in plain)
    return len(plain) <= (8 if initials else 3)


def _title_end(tokens: list[str], words: list[str], first: int, *, commas: bool) -> int:
    """The end of the title: its closing quote, a full stop, or a comma where names end with one."""
    quoted = first < len(tokens) and tokens[first] in ("``", '"')
    for at in range(first + 1, len(tokens)):
        token, following = tokens[at], words[at + 1] if at + 1 < len(tokens) else ""
        if quoted:
            if token in ("''", '"'):
                return at + 1 + (following in (",", "."))
        elif token in (".", "?", "!") or (token == "," and (commas or following in BEHIND_TITLE)):
            return at + 1
    return len(tokens)


def _segments(tokens: list[str], words: list[str], start: int) -> list[tuple[int, int]]:
    segments, first = [], start
    for at in range(start, len(tokens)):
        stop = tokens[at] in (",", ";", ":")
        stop |= tokens[at] == "." and words[at - 1] not in ABBREVIATED
        if stop or at + 1 == len(tokens):
            segments.append((first, at + 1))
            first = at + 1
    return segments
