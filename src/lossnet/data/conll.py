"""The lines of a CoNLL file: cells of tokens, sentences, document marks and comments."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from lossnet.errors import DataError

DOCSTART = "-DOCSTART-"
_MARK = re.compile(r"-DOCSTART-(?!\w)|#begin document\b|# newdoc\b")
_COMMENT = re.compile(r"#end document\b|# newpar\b|# (id|sent_id) |# \S+ = ")
_NOT_A_WORD = re.compile(r"\d+-\d+|\d+\.\d+")


class Table(NamedTuple):
    """The cells of every token, by sentence.

    ``documents`` holds the number of each sentence's document; None where none are marked.
    """

    sentences: list[list[list[str]]]
    documents: list[int] | None

    @property
    def width(self) -> int:
        """How many cells each token has."""
        return len(self.sentences[0][0])


def reads_as_mark(line: str) -> bool:
    """Whether a line begins a document or is a comment of a known shape."""
    return bool(_MARK.match(line) or _COMMENT.match(line))


def are_numbered(rows: list[list[str]]) -> bool:
    """Whether the first cells count from 1, as CoNLL-U's do but for those that count no word."""
    numbers = [cells[0] for cells in rows if not _NOT_A_WORD.fullmatch(cells[0])]
    return bool(numbers) and numbers == [str(k) for k in range(1, len(numbers) + 1)]


def numbered_rows(rows: list[list[str]]) -> list[list[str]]:
    """A sentence's rows without CoNLL-U's multiword tokens (1-2) and empty nodes (2.1)."""
    if not are_numbered(rows):
        return rows
    return [cells for cells in rows if not _NOT_A_WORD.fullmatch(cells[0])]


def read_table(text: str, path: str | Path, *, separator: str | None, comment: str | None) -> Table:
    """The tokens of a file's text, all with the same number of cells, none of them empty."""
    sentences: list[list[list[str]]] = []
    documents: list[int] = []
    document = first = 0
    marked, ended = False, True
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip(" \t"):
            ended = True
        elif _MARK.match(line):
            marked = ended = True
            document += document in documents[-1:]  # documents without sentences get no number
        elif not (_COMMENT.match(line) or (comment and line.startswith(comment))):
            if not first:
                first = number
                separator = separator or ("\t" if "\t" in line else None)
            if ended:
                sentences.append([])
                documents.append(document)
                ended = False
            sentences[-1].append(cells := _cells(line, separator))
            if len(cells) != (width := len(sentences[0][0])):
                raise DataError(
                    f"{path}, line {number}: {len(cells)} columns where line {first} has {width}: "
                    f"{line!r}; is the file cut short, the separator another, or the line a "
                    "comment?"
                )
            if "" in cells:
                empty = f"column {cells.index('')} (counted from 0) is empty"
                raise DataError(f"{path}, line {number}: {empty}: {line!r}")
    if not sentences:
        raise DataError(f"{path} holds no tokens, only blank lines, comments or document marks")
    return Table(sentences, documents if marked else None)


def _cells(line: str, separator: str | None) -> list[str]:
    # Not str.split(): a no-break space may be a token or stand inside one.
    if separator is None:
        return re.split("[ \t]+", line.strip(" \t"))
    return [cell.strip(" ") for cell in line.rstrip(" \t").split(separator)]
