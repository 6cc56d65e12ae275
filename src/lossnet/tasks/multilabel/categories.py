"""The categories of one column, words or codes.

The rules are those of files, see :mod:`lossnet.tasks.multilabel.formats.coding`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lossnet.errors import DataError
from lossnet.tasks.multilabel.formats.coding import (
    NO_TEXT,
    Coding,
    both,
    is_text,
    meaning,
    one_hot,
)
from lossnet.tasks.multilabel.raw_columns import RawColumn

WORDS, CODES, YES_NO = "words", "codes", "yes/no"


@dataclass(frozen=True)
class Categories:
    """The categories of one column.

    Args:
        column: its number, from 0.
        name: what errors call it.
        kind: ``"words"``, ``"codes"`` (numbers), or ``"yes/no"``, which is 0 and 1.
        words: those of the training rows; no before yes.
    """

    column: int
    name: str
    kind: str
    words: tuple[str, ...]

    @cached_property
    def coding(self) -> Coding:
        """What each word becomes."""
        found = one_hot(self.name, self.words, open=True)
        return replace(found, columns=[self.name], one_hot=False) if self.kind == YES_NO else found

    def places(self, raw: RawColumn) -> tuple[np.ndarray, list[str]]:
        """The place of each row's word, NaN where it has none or another; what the others are."""
        found = np.full(len(raw.values), np.nan)
        kind = raw.kind
        if self.kind == YES_NO and raw.truths:
            return raw.numbers("booleans"), []
        if kind is not None and (kind == "words") != (self.kind != CODES):
            had, has = ("numbers", "words") if self.kind == CODES else ("words", "numbers")
            what = f"column {self.name!r} holds {has} ({str(raw.known[0])[:40]!r})"
            raise DataError(f"{what} and held {had} in training; give the same type")
        texts = raw.texts
        found[~raw.missing] = self.coding.numbers(texts)
        return found, sorted({*texts} - {*self.words})


def categories_of(raw: RawColumn, j: int, *, listed: bool, training: bool) -> Categories | None:
    """The categories that a column holds; None for a column of numbers."""
    kind = raw.kind
    if kind is None or (kind == "numbers" and not listed):
        return None
    different = {*raw.texts}
    if kind == "words":
        values = tuple(sorted(different))
        numbers, truths = meaning(values if training else both(values))
        if truths and not listed:
            return Categories(j, raw.name, YES_NO, tuple(sorted(truths, key=truths.__getitem__)))
        if numbers and not (raw.category or listed):
            return None
    if training and is_text(len(different), len(raw.known)):
        counts = f"{len(different)} different values in {len(raw.known)} rows"
        what = f"column {raw.name!r} is text or names the rows ({counts})"
        remedy = NO_TEXT if kind == "words" else "leave it as numbers, or remove it"
        raise DataError(f"{what}; {remedy}")
    if kind == "words":
        return Categories(j, raw.name, WORDS, tuple(sorted(different)))
    return Categories(j, raw.name, CODES, tuple(sorted(different, key=_as_number)))


def _as_number(text: str) -> float:
    return float({"True": 1, "False": 0}.get(text, text))
