"""Pretrained word vectors: GloVe text, word2vec text or binary, or npz."""

from __future__ import annotations

import hashlib
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lossnet.data.archive import read_arrays
from lossnet.data.limits import parse_int
from lossnet.data.table import is_number
from lossnet.data.text import decoded, read_bytes
from lossnet.errors import DataError

_ZIP = b"PK\x03\x04"


class Coverage(NamedTuple):
    """The shares of distinct words and of all tokens that have a vector."""

    words: float
    tokens: float

    def __str__(self) -> str:
        tokens, words = 100 * self.tokens, 100 * self.words
        return (
            f"word vectors cover {tokens:.1f} % of the training tokens, {words:.1f} % of the words"
        )


@dataclass(frozen=True, eq=False, repr=False)
class WordVectors:
    """Words and their vectors, row by row.

    Args:
        words: the words, each once.
        vectors: ``(number, width)``, kept as float32.

    >>> WordVectors(["Rome", "Oslo"], [[0.1, 0.4], [0.2, 0.3]])
    WordVectors(2 words, width 2)
    """

    words: list[str]
    vectors: np.ndarray

    def __post_init__(self) -> None:
        words, vectors = _listed(self.words), _floats(self.vectors)
        if vectors.ndim != 2 or len(words) != len(vectors) or not vectors.size:
            shapes = f"{len(words)} words and vectors of shape {vectors.shape}"
            raise DataError(f"{shapes}; give one row per word")
        finite = np.isfinite(vectors).all(axis=1)
        if not finite.all():
            word = words[int(finite.argmin())]
            raise DataError(f"the vector of {word!r} holds NaN or infinity; remove it")
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "vectors", vectors)

    def __repr__(self) -> str:
        number, width = self.vectors.shape
        return f"WordVectors({number} words, width {width})"

    def coverage(self, sentences: Iterable[Sequence[str]], *, lowercase: bool = True) -> Coverage:
        """How much of some sentences has a vector; with ``lowercase`` also in lower case.

        >>> WordVectors(["Rome", "in"], [[0.1], [0.2]]).coverage([["In", "Rome", "in", "June"]])
        Coverage(words=0.75, tokens=0.75)
        """
        known, counts = set(self.words), Counter(chain.from_iterable(sentences))
        found = [w for w in counts if w in known or (lowercase and w.lower() in known)]
        tokens = sum(counts[word] for word in found)
        return Coverage(len(found) / max(1, len(counts)), tokens / max(1, counts.total()))

    def checksum(self) -> str:
        """SHA-256, in hex, of words and vectors."""
        found = hashlib.sha256("\n".join(self.words).encode("utf-8", "surrogatepass"))
        found.update(self.vectors.tobytes())
        return found.hexdigest()


def read_vectors(path: str | Path) -> WordVectors:
    """Word vectors of a file, its format found from its contents.

    - ``.npz`` with arrays ``words`` and ``vectors``;
    - GloVe text: a word and its numbers on each line; a word after the first may hold spaces;
    - word2vec text or binary: the same after a first line with number and width.

    Text and binary files may be packed (``.gz``).
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file of word vectors at {path}")
    if zipfile.is_zipfile(path):
        return _npz(path)
    content = read_bytes(path)
    if not content.strip():
        raise DataError(f"{path} is empty; expected word vectors")
    if content.startswith(_ZIP) or path.suffix.lower() == ".npz":
        raise DataError(f"{path} is not a complete npz file; it may be truncated: fetch it again")
    first, _, rest = content.partition(b"\n")
    head = first.split()
    if len(head) == 2 and all(part.isdigit() for part in head):
        return _word2vec(rest, path, *_announced(head, path, len(rest)))
    return _text(decoded(content, str(path)), path, first=1)


def _listed(words: Any) -> list[str]:
    if isinstance(words, str) or not isinstance(words, Sequence | np.ndarray):
        raise DataError(
            f"words is a {type(words).__name__}; give a list of strings, one per vector"
        )
    for k, word in enumerate(words):
        if not isinstance(word, str):
            raise DataError(f"word {k} (counted from 0) is {word!r}; expected a string")
    return [str(word) for word in words]  # numpy's strings among them


def _floats(vectors: Any) -> np.ndarray:
    try:
        return np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        rule = "one row per word, all of the same width"
        raise DataError(
            f"vectors cannot be made an array of numbers ({error}); give {rule}"
        ) from error


def _npz(path: Path) -> WordVectors:
    arrays = read_arrays(path)
    if not {"words", "vectors"} <= set(arrays):
        listed = ", ".join(sorted(arrays))
        raise DataError(f"{path} has the arrays {listed}; expected 'words' and 'vectors'")
    words = arrays["words"]
    try:
        words = np.char.decode(words, "utf-8") if words.dtype.kind == "S" else words
        return WordVectors(words.tolist(), arrays["vectors"])
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: the bytes of a word are not UTF-8 ({error})") from error
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _announced(head: list[bytes], path: Path, size: int) -> tuple[int, int]:
    """Number and width in the first line of a word2vec file, if ``size`` bytes can hold them."""
    try:
        number, width = parse_int(head[0]), parse_int(head[1])
    except ValueError as error:
        raise DataError(f"{path}, line 1: {error}; expected number and width") from None
    if number * width > size:
        wrong = f"{number} words of width {width} cannot be in the {size} bytes that follow"
        raise DataError(f"{path}, line 1: {wrong}; the file is truncated, or the line wrong")
    return number, width


def _word2vec(content: bytes, path: Path, number: int, width: int) -> WordVectors:
    """What follows the first line of a word2vec file, text or binary."""
    try:
        return _text(content.decode("utf-8"), path, first=2, width=width, number=number)
    except UnicodeDecodeError:
        return _binary(content, path, number, width)
    except DataError as wrong:  # small numbers can be UTF-8 by accident
        try:
            return _binary(content, path, number, width)
        except DataError:
            raise wrong from None


def _text(
    text: str, path: Path, *, first: int, width: int | None = None, number: int | None = None
) -> WordVectors:
    words, rows = [], []
    for line, content in enumerate(text.split("\n"), start=first):
        if not content.strip():
            continue
        place = f"{path}, line {line}"
        fields = content.rstrip().split(" ")
        width = len(fields) - 1 if width is None else width
        split = len(fields) - width
        # A number before the last ones is one number too many rather than part of a word.
        if not width or split < 1 or any(map(is_number, fields[1:split])):
            count = f"{len(fields) - 1} numbers after {fields[0]!r}"
            raise DataError(f"{place}: {count}; expected {width}")
        word = " ".join(fields[:split])  # it may hold spaces
        try:
            rows.append(np.array(fields[split:], dtype=np.float32))
        except ValueError as error:
            raise DataError(f"{place}: {error}; expected numbers") from error
        if not np.isfinite(rows[-1]).all():
            raise DataError(f"{place}: the vector of {word!r} holds NaN or infinity; remove it")
        words.append(word)
    if number is not None and len(words) != number:
        remedy = "correct the header" if len(words) > number else "it may be truncated"
        raise DataError(f"{path} holds {len(words)} words, its header says {number}; {remedy}")
    if not rows:
        raise DataError(f"{path} holds no words")
    return WordVectors(words, np.stack(rows))


def _binary(content: bytes, path: Path, number: int, width: int) -> WordVectors:
    words, vectors, at = [], np.empty((number, width), dtype=np.float32), 0
    for row in range(number):
        space = content.find(b" ", at)
        end = space + 1 + 4 * width
        if space < 0 or end > len(content):
            raise DataError(f"{path} ends within word {row + 1} of {number}; it is truncated")
        words.append(content[at:space].lstrip(b"\n").decode("utf-8", errors="replace"))
        vectors[row] = np.frombuffer(content, dtype="<f4", count=width, offset=space + 1)
        at = end
    if content[at:].strip():
        raise DataError(f"{path} goes on after the {number} words that its header says it holds")
    return WordVectors(words, vectors)
