"""CoNLL files that stay on disk: where sentences begin and end, and reading some of them."""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from lossnet.data.conll import Table, TokenLines
from lossnet.data.disk_items import DiskItems
from lossnet.data.text import not_utf8, zero_byte
from lossnet.data.unchanged import Unchanged

#: Bytes from which a file stays on disk: in memory, tokens take some thirty times as much.
ON_DISK = 1 << 26
#: Sentences that are kept, so that a batch's columns are read together.
_KEPT = 1024
_MARK = b"\xef\xbb\xbf"


def stays_on_disk(path: str | Path) -> bool:
    """Whether a file is so large that its sentences are read when they are needed."""
    path = Path(path)
    return path.suffix.lower() != ".gz" and path.is_file() and path.stat().st_size >= ON_DISK


class IndexedSentences:
    """The sentences of a CoNLL file, of which only the places are in memory.

    Args:
        path: the file.
        tokens: reads its lines.
    """

    def __init__(self, path: Path, tokens: TokenLines) -> None:
        self._file, self._tokens = Unchanged(path), tokens
        starts, ends, lengths, documents = (array("q") for _ in range(4))
        lines = _Lines(path)
        for document, _ in tokens.read(lines):
            if document is not None:
                starts.append(lines.start)
                ends.append(0)
                lengths.append(0)
                documents.append(document)
            ends[-1] = lines.end
            lengths[-1] += 1
        self._file.check()
        self._starts, self._ends = np.array(starts), np.array(ends)
        #: Tokens of each sentence, and the number of its document.
        self.lengths, self.documents = np.array(lengths, np.int32), np.array(documents, np.int32)
        self._kept = functools.lru_cache(_KEPT)(self._one)

    def __len__(self) -> int:
        return len(self._starts)

    def read(self, numbers: Iterable[int]) -> Iterator[list[list[str]]]:
        """The cells of each token of these sentences."""
        self._file.check()
        if isinstance(numbers, list) and len(numbers) == 1:
            yield self._kept(numbers[0])
            return
        with self._file.path.open("rb") as file:
            for number in numbers:
                yield self._cells(file, number)
        self._file.check()

    def _one(self, number: int) -> list[list[str]]:
        with self._file.path.open("rb") as file:
            return self._cells(file, number)

    def _cells(self, file: IO[bytes], number: int) -> list[list[str]]:
        file.seek(self._starts[number])
        raw = file.read(int(self._ends[number] - self._starts[number]))
        return self._tokens.sentence(raw.decode())


class _Lines:
    """The lines of a file, without their ends; ``start`` and ``end`` say where the last one is."""

    def __init__(self, path: Path) -> None:
        self._path, self.start, self.end, self._number = path, 0, 0, 0

    def __iter__(self) -> Iterator[str]:
        with self._path.open("rb") as file:
            for raw in file:
                self.start, self.end = self.end, self.end + len(raw)
                self._number += 1
                if not self.start and raw.startswith(_MARK):
                    self.start, raw = len(_MARK), raw.removeprefix(_MARK)
                yield self._text(raw)

    def _text(self, raw: bytes) -> str:
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        if b"\r" in line:
            raise _CarriageReturnError
        if b"\0" in line:
            raise zero_byte(str(self._path), self._number)
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            raise not_utf8(str(self._path), self._number, error) from error


class _CarriageReturnError(Exception):
    """A file whose lines end, all or some of them, in carriage returns alone."""


def index_table(path: str | Path, *, separator: str | None, comment: str | None) -> Table | None:
    """The tokens of a file that stays on disk; None where it cannot, for its ends of lines."""
    tokens = TokenLines(path, separator, comment)
    try:
        found = IndexedSentences(Path(path), tokens)
    except _CarriageReturnError:
        return None
    documents = found.documents.tolist() if tokens.marked else None
    return Table(DiskItems(found, found.lengths), documents)
