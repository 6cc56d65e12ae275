"""Pretrained word vectors: GloVe text, word2vec text or binary, or npz."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lossnet.data.utf8 import utf8_text
from lossnet.errors import DataError


@dataclass(frozen=True)
class WordVectors:
    """Words and their vectors, row by row.

    Attributes:
        words: the words, each once.
        vectors: ``(number, width)`` float32.
    """

    words: list[str]
    vectors: np.ndarray

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors):
            raise DataError(
                f"{len(self.words)} words and vectors of shape {self.vectors.shape}; give one row "
                "a word"
            )
        finite = np.isfinite(self.vectors).all(axis=1)
        if not finite.all():
            word = self.words[int(finite.argmin())]
            raise DataError(f"the vector of {word!r} holds NaN or infinity; remove it")


def read_vectors(path: str | Path) -> WordVectors:
    """Word vectors of a file, its format found from its contents.

    - ``.npz`` with arrays ``words`` and ``vectors``;
    - GloVe text: a word and its numbers a line;
    - word2vec text or binary: the same after a first line with number and width.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no file of word vectors at {path}")
    if zipfile.is_zipfile(path):
        return _npz(path)
    content = path.read_bytes()
    if not content.strip():
        raise DataError(f"{path} is empty; expected word vectors")
    head = content.split(b"\n", 1)[0].split()
    if len(head) == 2 and all(part.isdigit() for part in head):
        number, width = int(head[0]), int(head[1])
        rest = content.split(b"\n", 1)[1]
        try:
            return _text(rest.decode("utf-8"), path, first=2, width=width, number=number)
        except UnicodeDecodeError:
            return _binary(rest, path, number, width)
        except DataError as wrong:  # small numbers can be UTF-8 by accident
            try:
                return _binary(rest, path, number, width)
            except DataError:
                raise wrong from None
    return _text(utf8_text(path), path, first=1)


def _npz(path: Path) -> WordVectors:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            words, vectors = arrays["words"], arrays["vectors"]
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path} holds no word vectors ({error}); expected arrays 'words' and 'vectors'"
        ) from error
    return WordVectors([str(word) for word in words], vectors.astype(np.float32))


def _text(
    text: str, path: Path, *, first: int, width: int | None = None, number: int | None = None
) -> WordVectors:
    words, rows = [], []
    for line, content in enumerate(text.split("\n"), start=first):
        if not content.strip():
            continue
        word, *numbers = content.rstrip().split(" ")
        width = len(numbers) if width is None else width
        if len(numbers) != width or not width:
            raise DataError(
                f"{path}, line {line}: {len(numbers)} numbers after {word!r}; expected {width}"
            )
        try:
            rows.append(np.array(numbers, dtype=np.float32))
        except ValueError as error:
            raise DataError(f"{path}, line {line}: {error}; expected numbers") from error
        if not np.isfinite(rows[-1]).all():
            raise DataError(
                f"{path}, line {line}: the vector of {word!r} holds NaN or infinity; remove it"
            )
        words.append(word)
    if number is not None and len(words) != number:
        raise DataError(f"{path} holds {len(words)} words and says {number}; it may be truncated")
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
        raise DataError(f"{path} says it holds {number} words, and goes on after them")
    return WordVectors(words, vectors)
