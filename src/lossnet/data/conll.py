"""The lines of a CoNLL file: cells of tokens, sentences, document marks and comments."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from lossnet.errors import DataError

DOCSTART = "-DOCSTART-"
_MARK = re.compile(r"-DOCSTART-(?!\w)|#begin document\b|# newdoc\b")
_COMMENT = re.compile(r"#end document\b|# newpar\b|# (id|sent_id) |# \S+ = ")
_NOT_A_WORD = re.compile(r"\d+-\d+|\d+\.\d+")


@dataclass
class Table:
    """The cells of every token, by sentence, and the number of each sentence's document."""

    sentences: list[list[list[str]]] = field(default_factory=list)
    documents: list[int] = field(default_factory=list)
    marked: bool = False
    _open: bool = False
    _document: int = 0

    def end(self) -> None:
        """The sentence is over, if there is one."""
        self._open = False

    def mark(self) -> None:
        """A document begins; those without sentences get no number."""
        self.end()
        self.marked = True
        if self._document in self.documents[-1:]:
            self._document += 1

    def add(self, cells: list[str]) -> None:
        """One token."""
        if not self._open:
            self.sentences.append([])
            self.documents.append(self._document)
            self._open = True
        self.sentences[-1].append(cells)


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
    table = Table()
    first = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip(" \t"):
            table.end()
        elif _MARK.match(line):
            table.mark()
        elif _COMMENT.match(line) or (comment and line.startswith(comment)):
            continue
        else:
            if not first:
                first = number
                separator = separator or ("\t" if "\t" in line else None)
            table.add(_cells(line, separator))
            _check(table, f"{path}, line {number}", f"line {first}", line)
    if not table.sentences:
        raise DataError(f"{path} holds no tokens, only blank lines, comments or document marks")
    return table


def _cells(line: str, separator: str | None) -> list[str]:
    # Not str.split(): a no-break space may be a token or stand inside one.
    if separator is None:
        return re.split("[ \t]+", line.strip(" \t"))
    return [cell.strip(" ") for cell in line.rstrip(" \t").split(separator)]


def _check(table: Table, place: str, first: str, line: str) -> None:
    cells, width = table.sentences[-1][-1], len(table.sentences[0][0])
    if len(cells) != width:
        raise DataError(
            f"{place}: {len(cells)} columns where {first} has {width}: {line!r}; "
            "is the file cut short, the separator another, or the line a comment?"
        )
    if not all(cells):
        raise DataError(f"{place}: column {cells.index('')} (counted from 0) is empty: {line!r}")
