"""Labelled texts in memory."""

from __future__ import annotations

import hashlib
import re
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from lossnet.errors import DataError
from lossnet.tasks.multilabel.dataset import checked_names, label_matrix
from lossnet.tasks.multilabel.label_sets import LabelSets
from lossnet.tasks.text.label_lists import read_labels

#: None, and how NumPy and pandas write a missing value.
_MISSING = ("None", "nan", "NaT", "<NA>")
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, eq=False, repr=False)
class TextData(LabelSets):
    """Texts and the labels of each.

    A text that is not a string, one with labels that holds nothing but white space, and labels
    that do not fit are a :class:`DataError` that names the row. Texts without labels may be empty.

    Args:
        texts: one string for each row.
        Y: the labels: a list of strings for each text, or an indicator matrix ``(n, L)``, dense,
            sparse or a DataFrame; None where none are known. It is held as a matrix of uint8.
        label_names: L names; those of the lists, sorted, or of the frame's columns where None.
        name: what to call the data set.
        notes: what a reader did that a user should know.

    >>> TextData(["oil and gas", "gold"], [["oil", "gas"], []]).label_names
    ['gas', 'oil']
    """

    texts: list[str]
    Y: np.ndarray[Any, Any] = None  # type: ignore[assignment]  # never None once built
    label_names: list[str] = None  # type: ignore[assignment]
    name: str = "texts"
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        texts = checked_texts(self.texts, self.name)
        Y, names = np.zeros((len(texts), 0), np.uint8), self.label_names
        if self.Y is not None:
            Y, found = read_labels(self.Y, names, self.name)
            names = found if names is None else names
            Y = label_matrix(Y, self.name)
        if len(texts) != len(Y):
            counts = f"{len(texts)} texts and {len(Y)} rows of labels"
            raise DataError(f"{self.name}: {counts}; the counts must match")
        names = checked_names(names, Y.shape[1], "label", "label_")
        # The fields of a frozen class.
        self.__dict__.update(texts=texts, Y=Y, label_names=names)
        blank = next((k for k, text in enumerate(texts) if not text.strip()), None)
        if self.labelled and blank is not None:
            what = f"row {blank} (counted from 0) is an empty text"
            raise DataError(f"{self.name}: {what}; leave it out, with its labels")

    def __repr__(self) -> str:
        return f"TextData({self.name!r}, {len(self)} texts, {self.n_labels} labels)"

    def subset(self, rows: Sequence[int] | np.ndarray[Any, Any]) -> Self:
        """The given rows (indices or a mask of booleans), in the order given."""
        index = self._numbers(rows)
        texts = [self.texts[k] for k in index]
        return replace(self, texts=texts, Y=self.Y[index], notes=list(self.notes))

    def without_labels(self) -> Self:
        """The same texts without their labels."""
        return replace(self, Y=self.Y[:, :0], label_names=[], notes=list(self.notes))

    def in_columns(self, names: Sequence[str]) -> Self:
        """The same with the labels of these names first, then any others that are on somewhere."""
        known, own = set(names), {name: k for k, name in enumerate(self.label_names)}
        if not self.labelled or self.label_names == list(names):
            return self
        others = [name for name in own if name not in known and self.on[:, own[name]].any()]
        columns = [*names, *others]
        Y = np.zeros((len(self), len(columns)), dtype=self.Y.dtype)
        for k, name in enumerate(columns):
            if name in own:
                Y[:, k] = self.Y[:, own[name]]
        return replace(self, Y=Y, label_names=columns, notes=list(self.notes))

    @classmethod
    def join(cls, parts: Mapping[str, Self]) -> Self:
        """The texts of several parts of one data set, one part after another."""
        first, *_ = found = list(parts.values())
        every = first.label_names
        if any(part.label_names != every for part in found):
            every = sorted({name for part in found for name in part.label_names})
        return replace(
            first,
            texts=[text for part in found for text in part.texts],
            Y=np.concatenate([part.in_columns(every).Y for part in found]),
            label_names=every,
            notes=list(dict.fromkeys(note for part in found for note in part.notes)),
        )

    def checksum(self) -> str:
        """SHA-256, in hex, of texts, labels and their names."""
        digest = hashlib.sha256(repr((self.Y.shape, self.label_names)).encode())
        digest.update(np.ascontiguousarray(self.Y).tobytes())
        for text in self.texts:
            digest.update(hashlib.sha256(text.encode()).digest())
        return digest.hexdigest()


def checked_texts(texts: Any, name: str) -> list[str]:
    """The texts as a list of strings; anything else is an error that names the row."""
    if isinstance(texts, str | bytes | Mapping) or not isinstance(texts, Iterable):
        raise DataError(f"{name}: expected a list of strings, got {reprlib.repr(texts)}")
    if hasattr(texts, "columns"):
        what = f"a {type(texts).__name__}; pass its column of texts, as in frame['text']"
        raise DataError(f"{name}: expected a list of strings, got {what}")
    found = list(texts)
    if not found:
        raise DataError(f"{name} holds no texts; give at least one")
    for k, text in enumerate(found):
        place = f"{name}: row {k} (counted from 0)"
        if not isinstance(text, str):
            what = "missing" if str(text) in _MISSING else reprlib.repr(text)
            raise DataError(f"{place} is {what}; expected a string")
        if not text.isascii() and _HALF.search(text):
            raise DataError(f"{place} holds half a character (a lone surrogate); replace it")
    return [str(text) for text in found]  # numpy's strings among them
