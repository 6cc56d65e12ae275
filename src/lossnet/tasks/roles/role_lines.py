"""One predicate a line: ``2 the dog barks ||| B-ARG0 I-ARG0 B-V``.

The predicate's position, counted from 0, the words, and behind ``|||`` the tags if they are known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from lossnet.data.text import stem, utf8_text
from lossnet.errors import DataError
from lossnet.files import write_text
from lossnet.tasks.roles.predicates import RoleData, check_predicate, wrong_tags

BAR = "|||"


def read_role_lines(path: str | Path, *, name: str | None = None) -> RoleData:
    """Read a file with one predicate a line, in UTF-8, also packed (``.gz``).

    The data is called ``name``, or after the file.
    """
    return roles_of_lines(utf8_text(path), str(path), name or stem(path))


def roles_of_lines(text: str, source: str, name: str) -> RoleData:
    """The predicates of a text; empty lines keep their place in ``blank``."""
    words, predicates, blank = [], [], []
    tags: list[list[str]] = []
    first: int | None = None
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        # Not str.split(): a no-break space may be a word or stand inside one.
        cells = re.findall("[^ \t]+", line)
        if not cells:
            blank.append(number - 1)
            continue
        place = f"{source}, line {number}"
        row, known = _divided(cells, place)
        if not re.fullmatch("[0-9]{1,9}", cells[0]):
            what = f"{cells[0]!r} is no position of a predicate"
            raise DataError(f"{place}: {what}; a line is INDEX WORDS {BAR} TAGS")
        predicate = check_predicate(int(cells[0]), row, place)
        if first is None:
            first = number
        elif (known is None) != (not tags):
            rule = f"line {first} has {'tags' if tags else 'none'}"
            what = f"no tags behind {BAR}" if known is None else f"tags behind {BAR}"
            raise DataError(f"{place}: {what}, and {rule}; give all lines tags, or none")
        if known is not None:
            if wrong := wrong_tags(known, predicate):
                raise DataError(f"{place}: {wrong[0]}")
            tags.append(known)
        words.append(row)
        predicates.append(predicate)
    if not words:
        raise DataError(f"{source} is empty: it holds no predicates")
    return RoleData.of(words, predicates, tags or None, name=name, blank=tuple(blank))


def write_role_lines(data: RoleData, path: str | Path) -> Path:
    """Write one predicate a line, atomically; :func:`read_role_lines` reads it back."""
    return write_text(path, "".join(role_lines(data)))


def role_lines(data: RoleData, tags: Sequence[Sequence[str]] | None = None) -> list[str]:
    """The line of each predicate; with other ``tags`` in place of its own."""
    chosen, lines = data.tags if tags is None else tags, []
    for k, (words, predicate) in enumerate(zip(data.tokens, data.predicates, strict=True)):
        if bad := [word for word in words if word == BAR or re.search("[ \t\n\r\0]", word)]:
            what = f"row {k} (counted from 0): {bad[0]!r} cannot stand in a line of words"
            raise DataError(f"{data.name}: {what}; replace it, or write .gold_conll")
        known = [] if chosen is None else [BAR, *chosen[k]]
        lines.append(" ".join([str(predicate), *words, *known]) + "\n")
    return lines


def _divided(cells: list[str], place: str) -> tuple[list[str], list[str] | None]:
    """The words of a line, and its tags where it has any."""
    if BAR not in cells:
        words, tags = cells[1:], None
    else:
        bar = cells.index(BAR)
        words, tags = cells[1:bar], cells[bar + 1 :]
    if not words:
        raise DataError(f"{place}: no words; a line is INDEX WORDS {BAR} TAGS")
    if tags is not None and len(tags) != len(words):
        counts = f"{len(words)} words and {len(tags)} tags"
        raise DataError(f"{place}: {counts}; give one tag for each word")
    return words, tags
