"""A data set described: as text for a terminal, and as numbers that a page draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lossnet.plain_text import aligned

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Listing:
    """A table, or a sentence where there is nothing to tabulate.

    Args:
        title: above it; may be empty.
        lines: rows of cells, the headings first.
        right: numbers of the columns that end flush.
        words: the sentence in place of lines.
    """

    title: str
    lines: Sequence[Sequence[str]] = ()
    right: Sequence[int] = ()
    words: str = ""

    def __str__(self) -> str:
        text = aligned(self.lines, right=self.right) if self.lines else self.words
        return f"{self.title}\n{text}" if self.title else text


@dataclass(frozen=True, eq=False)
class Description:
    """What there is to say of a data set.

    Args:
        name: the data set's.
        facts: its counts, two cells a row; with more cells the first row has headings.
        notes: what a user should know of how it was read.
        listings: further tables.
        frequencies: how often labels, tags or classes are seen, in percent, by what they are.
        lengths: of every example, by what they are counted in.
        together: names of labels, and ``(L, L)`` in how many rows two of them are on, on the
            diagonal one of them.
        rows: the number of rows that ``together`` counts.
    """

    name: str
    facts: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    listings: Sequence[Listing] = ()
    frequencies: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    lengths: Mapping[str, Sequence[int]] = field(default_factory=dict)
    together: tuple[Sequence[str], np.ndarray] | None = None
    rows: int = 0

    def __str__(self) -> str:
        several = range(1, len(self.facts[0])) if self.headed else ()
        table = aligned(self.facts, right=several)
        notes = [f"note: {note}" for note in self.notes]
        return "\n\n".join(["\n".join([self.name, table, *notes]), *map(str, self.listings)])

    @property
    def headed(self) -> bool:
        """Whether the first row of ``facts`` has headings."""
        return len(self.facts[0]) > 2
