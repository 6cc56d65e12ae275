"""CoNLL files: one token a line in columns, blank lines between sentences.

Documents begin at a line whose first column is ``-DOCSTART-``, at ``#begin document`` or at
``# newdoc``. Comments of known shapes (``# id ...``, ``# text = ...``, ``#end document``) are
left out; other lines that begin with ``#`` are tokens, since hashtags do.

CoNLL-U files, ``.conllu``, number the tokens of a sentence in their first column. Their rows for
multiword tokens (``1-2``) and empty nodes (``2.1``), which repeat or add to the words, are left
out, and so is every line that begins with ``#``.
"""

from __future__ import annotations

import re
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lossnet.data.conll import (
    DOCSTART,
    Table,
    are_numbered,
    numbered_rows,
    read_table,
    reads_as_mark,
)
from lossnet.data.conll_index import index_table, stays_on_disk
from lossnet.data.disk_items import each, lengths_of
from lossnet.data.text import extension, stem, utf8_text
from lossnet.errors import DataError
from lossnet.files import write_text
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tags import PLAIN, detect_scheme, to_scheme

#: In place of a column's name: the column is not read.
LEFT_OUT = "_"
_UNWRITABLE = re.compile("[\t\n\r\0\ud800-\udfff]")


@dataclass(frozen=True)
class ConllFormat:
    """Which column is which; columns count from 0, negative numbers from the last.

    Args:
        token_column: where the words are.
        tag_column: where the tags are; None where there are none.
        columns: names for all the other columns, from left to right, ``_`` for one that is not
            read; ``()`` reads none of them, None all, as ``column1``, ``column2`` and so on, after
            their places.
        separator: what stands between columns; where None, a tab if the first line with columns
            has one, else spaces and tabs.
        comment: how lines to leave out begin, besides comments of known shapes.
    """

    token_column: int = 0
    tag_column: int | None = -1
    columns: Sequence[str] | None = None
    separator: str | None = None
    comment: str | None = None

    @property
    def width(self) -> int:
        """How many columns there are, where all are named."""
        return 1 + (self.tag_column is not None) + len(self.columns or ())

    def without_tags(self) -> ConllFormat:
        """The layout of the same files without their tags."""
        if self.tag_column is None:
            return self
        token, tag = (place % self.width for place in (self.token_column, self.tag_column))
        return replace(self, token_column=token - (tag < token), tag_column=None)


#: CoNLL-U: the words and their universal parts of speech.
CONLLU = ConllFormat(token_column=1, tag_column=3, columns=())


def is_conllu(path: str | Path) -> bool:
    """Whether a file's name says that it is CoNLL-U."""
    return extension(path) == ".conllu"


def default_format(path: str | Path) -> ConllFormat:
    """The columns to read of a file if no format is given: its name decides."""
    return CONLLU if is_conllu(path) else ConllFormat()


def read_conll(
    path: str | Path,
    *,
    token_column: int = 0,
    tag_column: int | None = -1,
    columns: Sequence[str] | None = None,
    scheme: str | None = None,
    separator: str | None = None,
    comment: str | None = None,
) -> SequenceData:
    """Read a CoNLL file in UTF-8.

    Args:
        path: the file, also packed (``.gz``).
        scheme: IOB1, IOB2 (or BIO) or BIOES, to convert the tags to it; as they stand where None.
        token_column: these and the others as in :class:`ConllFormat`.
    """
    layout = ConllFormat(token_column, tag_column, columns, separator, comment)
    table = table_on_disk(path, layout) or table_of(utf8_text(path), path, layout)
    return arranged(table, path, layout, scheme=scheme)


def table_of(text: str, path: str | Path, layout: ConllFormat) -> Table:
    """The rows of a CoNLL file with this text."""
    return read_table(text, path, **_line_format(path, layout))


def table_on_disk(path: str | Path, layout: ConllFormat) -> Table | None:
    """The rows of a CoNLL file that is so large that they stay on disk; None of another."""
    return index_table(path, **_line_format(path, layout)) if stays_on_disk(path) else None


def _line_format(path: str | Path, layout: ConllFormat) -> dict[str, Any]:
    comment = layout.comment or ("#" if is_conllu(path) else None)
    return {"separator": layout.separator, "comment": comment}


def arranged(
    table: Table,
    path: str | Path,
    layout: ConllFormat,
    *,
    scheme: str | None = None,
    every: bool = False,
) -> SequenceData:
    """The rows of a file in the columns of a :class:`ConllFormat`; with ``every``, in all."""
    token, tag, others = _places(path, layout, table.width)
    names = tuple(f"_{k}" if every and name == LEFT_OUT else name for k, name in others.items())
    sentences, notes = table.sentences, []
    if token != 0:
        sentences = each(numbered_rows, table.sentences, lengths=False)
        left_out = sum(lengths_of(table.sentences)) - sum(lengths_of(sentences))
        notes = [f"{left_out} multiword tokens and empty nodes left out"] if left_out else []
    elif is_conllu(path) and all(map(are_numbered, table.sentences)):
        remedy = "give token_column=1, and tag_column=3 for parts of speech"
        raise DataError(f"{path}: column 0 of a CoNLL-U file numbers the tokens; {remedy}")

    def column(place: int) -> Any:
        return each(lambda rows: [cells[place] for cells in rows], sentences)

    # Few strings, of which every token refers to one.
    tags = None if tag is None else each(lambda own: [*map(sys.intern, own)], column(tag))
    if tags and scheme:
        try:
            source = PLAIN if detect_scheme(tags) == PLAIN else None
            tags = each(lambda sentence: to_scheme(sentence, scheme, source), tags)
            deque(tags, maxlen=0)  # those on disk are converted only when they are read
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
    return SequenceData(
        column(token),
        tags,
        {n: column(k) for n, k in zip(names, others, strict=True) if n != LEFT_OUT},
        table.documents,
        stem(path),
        notes,
        replace(layout, columns=names),
    )


def write_conll(
    data: SequenceData, path: str | Path, *, token_column: int = 0, tag_column: int = -1
) -> Path:
    """Write tokens, other columns and tags, tabs between them, atomically.

    :func:`read_conll` reads it back, with ``tag_column=None`` where there are no tags. Words it
    could not read back are a :class:`DataError`.

    Args:
        data: the sentences.
        path: the file.
        token_column: where the words go; this and the next as in :class:`ConllFormat`.
        tag_column: where the tags go.
    """
    blocks = conll_blocks(data, token_column=token_column, tag_column=tag_column)
    return write_text(path, conll_text(blocks))


def conll_blocks(data: SequenceData, *, token_column: int = 0, tag_column: int = -1) -> list[str]:
    """The lines of every sentence, its document's mark before them and a blank line behind."""
    if data.n_unknown:
        what = f"{data.name}: {data.n_unknown:,} tags are not known, which CoNLL cannot say"
        raise DataError(f"{what}; leave their sentences out")
    width = 1 + len(data.columns) + data.labelled
    layout = ConllFormat(token_column, tag_column if data.labelled else None)
    token, tag, _ = _places(data.name, layout, width)
    given, others = {token: data.tokens, tag: data.tags}, iter(data.columns.values())
    columns = [given.get(place) or next(others) for place in range(width)]
    mark = [DOCSTART] + ["-X-"] * (width - 1)
    if tag:
        # As CoNLL files have it: a reader without marks sees no tag of its own there.
        mark[tag] = "O"
    blocks = []
    for k in range(len(data)):
        lines: list[str] = []
        if data.documents and (k == 0 or data.documents[k] != data.documents[k - 1]):
            lines += ["\t".join(mark), ""]
        for t, cells in enumerate(zip(*(column[k] for column in columns), strict=True)):
            lines.append(_line(cells, f"{data.name}: sentence {k}, token {t}"))
        blocks.append("\n".join([*lines, "", ""]))
    return blocks


def conll_text(blocks: Sequence[str]) -> str:
    """What a file of these blocks holds."""
    text = "".join(blocks)
    # Readers drop one byte order mark: a token that begins with that letter needs another.
    return "\ufeff" + text if text.startswith("\ufeff") else text


def _line(cells: Sequence[str], place: str) -> str:
    line, place = "\t".join(cells), f"{place} (counted from 0)"
    if bad := [c for c in cells if _UNWRITABLE.search(c) or c.strip(" ") != c]:
        raise DataError(
            f"{place}: {bad[0]!r} holds a tab, a line break or a space at an end, and cannot "
            "stand in a CoNLL file; replace it"
        )
    if reads_as_mark(line):
        raise DataError(f"{place}: {line!r} would be read as a mark; replace it")
    return line


def _places(
    path: str | Path, layout: ConllFormat, width: int
) -> tuple[int, int | None, dict[int, str]]:
    """The places of the tokens and of the tags, and the names of the other columns by place."""
    for place in (layout.token_column, layout.tag_column):
        if place is not None and not -width <= place < width:
            raise DataError(f"{path}: column {place} asked for, but there are {width} columns")
    token = layout.token_column % width
    tag = None if layout.tag_column is None else layout.tag_column % width
    if token == tag:
        wrong = f"column {token} of {width} cannot be both tokens and tags"
        raise DataError(f"{path}: {wrong}; give tag_column=None for a file without tags")
    rest = [k for k in range(width) if k not in (token, tag)]
    names = [f"column{k}" for k in rest] if layout.columns is None else list(layout.columns)
    names = names or [LEFT_OUT] * len(rest)
    kept = [name for name in names if name != LEFT_OUT]
    if len(names) != len(rest) or len(set(kept)) != len(kept):
        raise DataError(
            f"{path}: {names} cannot name the {len(rest)} columns besides tokens and tags; "
            "give one name for each, all different, or _ to leave a column out"
        )
    return token, tag, dict(zip(rest, names, strict=True))
