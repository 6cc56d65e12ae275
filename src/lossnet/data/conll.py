"""The lines of a CoNLL file: cells of tokens, sentences, document marks and comments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from lossnet.errors import DataError

DOCSTART = "-DOCSTART-"
_MARK = re.compile(r"-DOCSTART-(?!\w)|#begin document\b|# newdoc\b")
_COMMENT = re.compile(r"#end document\b|# newpar\b|# (id|sent_id) |# \S+ = ")
_NOT_A_WORD = re.compile(r"\d+-\d+|\d+\.\d+")


class Table(NamedTuple):
    """The cells of every token, by sentence, in memory or on disk.

    ``documents`` holds the number of each sentence's document; None where none are marked.
    """

    sentences: Sequence[list[list[str]]]
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


class TokenLines:
    """The tokens among the lines of a file, all with the same number of cells, none of them empty.

    Args:
        path: the file's, for errors.
        separator: what stands between cells; where None, the first token's line decides.
        comment: how lines to leave out begin, besides comments of known shapes.
    """

    def __init__(self, path: str | Path, separator: str | None, comment: str | None) -> None:
        self._path, self.separator, self._comment = path, separator, comment
        #: Whether a line marks a document.
        self.marked = False

    def read(self, lines: Iterable[str]) -> Iterator[tuple[int | None, list[str]]]:
        """For each token the number of its document where it begins a sentence, and its cells."""
        document, used, first, width, ended = 0, False, 0, 0, True
        for number, line in enumerate(lines, start=1):
            if not line.strip(" \t"):
                ended = True
            elif _MARK.match(line):
                self.marked = ended = True
                document, used = document + used, False  # those without sentences get no number
            elif not self._is_comment(line):
                first = first or number
                self.separator = self.separator or ("\t" if "\t" in line else None)
                cells = _cells(line, self.separator)
                width = width or len(cells)
                if len(cells) != width:
                    counts = f"{len(cells)} columns where line {first} has {width}"
                    raise DataError(
                        f"{self._path}, line {number}: {counts}: {line!r}; is the file cut short, "
                        "the separator another, or the line a comment?"
                    )
                if "" in cells:
                    empty = f"column {cells.index('')} (counted from 0) is empty"
                    raise DataError(f"{self._path}, line {number}: {empty}: {line!r}")
                yield (document if ended else None), cells
                used, ended = True, False
        if not first:
            what = "holds no tokens, only blank lines, comments or document marks"
            raise DataError(f"{self._path} {what}")

    def sentence(self, text: str) -> list[list[str]]:
        """The cells of the tokens in the lines of one sentence, which :meth:`read` has seen."""
        lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
        return [_cells(line, self.separator) for line in lines if not self._is_comment(line)]

    def _is_comment(self, line: str) -> bool:
        own = self._comment is not None and line.startswith(self._comment)
        return own or _COMMENT.match(line) is not None


def read_table(text: str, path: str | Path, *, separator: str | None, comment: str | None) -> Table:
    """The tokens of a file's text."""
    sentences: list[list[list[str]]] = []
    documents: list[int] = []
    tokens = TokenLines(path, separator, comment)
    for document, cells in tokens.read(text.split("\n")):
        if document is not None:
            sentences.append([])
            documents.append(document)
        sentences[-1].append(cells)
    return Table(sentences, documents if tokens.marked else None)


def _cells(line: str, separator: str | None) -> list[str]:
    # Not str.split(): a no-break space may be a token or stand inside one.
    if separator is None:
        return re.split("[ \t]+", line.strip(" \t"))
    return [cell.strip(" ") for cell in line.rstrip(" \t").split(separator)]
