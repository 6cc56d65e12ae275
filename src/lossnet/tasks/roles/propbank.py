"""PropBank's ``*.gold_conll``: a word a line, and for every predicate a column of its arguments.

The columns, with tabs between them, are document, sentence, token, word, part of speech, parse bit,
frame, roleset, and then one for each predicate of the sentence, in the order of the predicates:
the words whose roleset is not ``-``. ``(ARG0*`` begins an argument, ``*)`` ends one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lossnet.data.text import stem, utf8_text
from lossnet.errors import DataError
from lossnet.files import write_text
from lossnet.tasks.roles.predicates import MARK, NO_MARK, PREDICATE, RoleData, Sentence, wrong_tags
from lossnet.tasks.sequence.tags import spans

NONE = "-"
_NAMES = ("document", "number", "token", "word", "pos", "parse", "frame", "roleset")
_WORD, _FRAME, _ROLESET = 3, 6, 7
_WIDTH = len(_NAMES)
_CELL = re.compile(r"(?:\(([^()*\s]+))?\*(\))?")
_UNWRITABLE = re.compile("[\t\n\r\0\ud800-\udfff]")


def read_gold_conll(path: str | Path, *, name: str | None = None) -> RoleData:
    """Read a ``.gold_conll`` file in UTF-8, also packed (``.gz``).

    The data is called ``name``, or after the file.

    A file without the columns of arguments has predicates whose roles are not known. Lines that
    begin with ``#`` and have no tab are comments.
    """
    tokens, tags, marks, numbers = [], [], [], []
    sentences: list[Sentence] = []
    bare: int | None = None
    for start, rows in _blocks(utf8_text(path), path):
        sentence = _sentence(rows)
        places = [t for t, cells in enumerate(rows) if cells[_ROLESET] != NONE]
        columns = len(rows[0]) - _WIDTH
        if columns not in (0, len(places)):
            raise DataError(
                f"{path}, line {start}: the sentence has {len(places)} predicates (rolesets) and "
                f"{columns} columns of arguments; is the file cut short?"
            )
        if places and not columns:
            bare = bare or start
        for k, predicate in enumerate(places):
            if columns:
                row = _tags([cells[_WIDTH + k] for cells in rows], path, start)
                if wrong := wrong_tags(row, predicate):
                    where = f"{path}, line {start + wrong[1]}, column {_WIDTH + k}"
                    raise DataError(f"{where} (counted from 0): {wrong[0]}")
                tags.append(row)
            tokens.append(sentence.words)
            marks.append([MARK if t == predicate else NO_MARK for t in range(len(rows))])
            numbers.append(len(sentences))
        sentences.append(sentence)
    if not tokens:
        raise DataError(f"{path} has no predicates: no word has a roleset (column {_ROLESET})")
    if bare and tags:
        what = "this sentence has no columns of arguments, and others have"
        raise DataError(f"{path}, line {bare}: {what}; is the file cut short?")
    known = None if bare else tags
    columns_of = {PREDICATE: marks}
    called, kept = name or stem(path), tuple(sentences)
    return RoleData(tokens, known, columns_of, numbers, called, sentences=kept)


def write_gold_conll(data: RoleData, path: str | Path) -> Path:
    """Write a ``.gold_conll`` file, atomically; what :func:`read_gold_conll` read comes back.

    Sentences that were not read from such a file get ``-`` for what is not known of them, and as
    roleset the predicate's word with ``.XX``, PropBank's number for one that is not known.
    """
    return write_text(path, gold_conll_text(data))


def gold_conll_text(data: RoleData, tags: Sequence[Sequence[str]] | None = None) -> str:
    """What a file of the data holds; with other ``tags`` in place of its own."""
    rows_of: dict[int, list[int]] = {}
    for row, number in enumerate(data.documents or ()):
        rows_of.setdefault(number, []).append(row)
    places, chosen = data.predicates, data.tags if tags is None else tags
    blocks = []
    for number, sentence in enumerate(data.sentences):
        rows = sorted(rows_of.get(number, []), key=lambda row: places[row])
        frames = {places[row]: sentence.frames.get(places[row]) for row in rows}
        cells = [_cells(chosen[row]) for row in rows] if chosen is not None else []
        lines = [
            "\t".join([*first, *(column[t] for column in cells)])
            for t, first in enumerate(_first_columns(sentence, number, frames, data.name))
        ]
        blocks.append("\n".join([*lines, "", ""]))
    return "".join(blocks)


def _blocks(text: str, path: str | Path) -> Iterator[tuple[int, list[list[str]]]]:
    """The cells of each sentence, and the number of its first line."""
    rows: list[list[str]] = []
    first = last = 0
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if not line.strip(" \t"):
            if rows:
                yield first, rows
            rows = []
            continue
        if line.startswith("#") and "\t" not in line:
            continue
        cells = line.split("\t")
        if rows and number != last + 1:
            raise DataError(f"{path}, line {last + 1}: a comment stands inside a sentence")
        if not rows:
            first = number
        last = number
        width = len(rows[0]) if rows else max(len(cells), _WIDTH)
        if len(cells) != width:
            expected = f"line {first} has {width}" if rows else f"at least {_WIDTH} are needed"
            raise DataError(
                f"{path}, line {number}: {len(cells)} columns where {expected}: {line!r}; columns "
                "have tabs between them; is the file cut short?"
            )
        if empty := [k for k, cell in enumerate(cells) if not cell.strip(" ")]:
            raise DataError(f"{path}, line {number}: column {empty[0]} (counted from 0) is empty")
        rows.append(cells)


def _sentence(rows: list[list[str]]) -> Sentence:
    columns = {
        name: [cells[k] for cells in rows]
        for k, name in enumerate(_NAMES)
        if k not in (_WORD, _FRAME, _ROLESET)
    }
    frames = {
        t: (cells[_FRAME], cells[_ROLESET])
        for t, cells in enumerate(rows)
        if cells[_ROLESET] != NONE
    }
    return Sentence([cells[_WORD] for cells in rows], columns, frames)


def _tags(column: list[str], path: str | Path, start: int) -> list[str]:
    """A column of arguments as BIO tags; ``start`` is the line of its first cell."""
    tags: list[str] = []
    role, opened = "", 0
    for line, cell in enumerate(column, start=start):
        match = _CELL.fullmatch(cell)
        if match is None:
            expected = "expected *, (ROLE*, *) or (ROLE*)"
            raise DataError(f"{path}, line {line}: {cell!r} is no argument; {expected}")
        if match[1] and role:
            what = f"{cell!r} opens an argument inside ({role}*, open since line {opened}"
            raise DataError(f"{path}, line {line}: {what}; BIO tags hold no nested arguments")
        if match[2] and not (role or match[1]):
            raise DataError(f"{path}, line {line}: {cell!r} closes an argument, and none is open")
        tags.append(f"B-{match[1]}" if match[1] else f"I-{role}" if role else "O")
        role, opened = (match[1], line) if match[1] else (role, opened)
        role = "" if match[2] else role
    if role:
        raise DataError(f"{path}, line {opened}: the bracket of ({role}* is never closed")
    return tags


def _cells(tags: Sequence[str]) -> list[str]:
    """BIO tags as a column of arguments."""
    cells = ["*"] * len(tags)
    for role, start, end in spans(tags):
        cells[start] = f"({role}{cells[start]}"
        cells[end - 1] += ")"
    return cells


def _first_columns(
    sentence: Sentence, number: int, frames: Mapping[int, tuple[str, str] | None], name: str
) -> Iterator[list[str]]:
    """The columns before the arguments, word by word."""
    count = len(sentence.words)
    defaults = {
        "document": [NONE] * count,
        "number": [str(number)] * count,
        "token": list(map(str, range(count))),
        "pos": [NONE] * count,
        "parse": ["*"] * count,
    }
    columns = {**defaults, **sentence.columns, "word": sentence.words}
    for t, word in enumerate(sentence.words):
        if _UNWRITABLE.search(word) or word.strip(" ") == "":
            raise DataError(
                f"{name}: sentence {number}, token {t}: {word!r} cannot stand in a file"
            )
        frame = frames.get(t, (NONE, NONE)) or (word, f"{word}.XX")
        yield [*(columns[key][t] for key in _NAMES[:_FRAME]), *frame]
