"""What a page is made of: sections of blocks, each drawn by the template of its ``kind``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from lossnet.comparison.pictures import Chart, HeatMap


class Block(Protocol):
    """A part of a section; ``kind`` names its template, ``templates/<kind>.html``."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Section:
    """A heading and what is below it.

    Args:
        key: its anchor.
        title: its heading.
        blocks: what is below.
    """

    key: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Page:
    """A page.

    Args:
        title: its heading.
        subtitle: what it is about, in a line; may be empty.
        lead: what it says in short, a sentence or two each.
        sections: those that have something to show.
    """

    title: str
    subtitle: str
    lead: Sequence[str]
    sections: Sequence[Section]


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Args:
        text: what it shows.
        value: what it is sorted by; None: by its text.
        best: whether it stands out.
        tags: words to set apart, such as "reference".
        style: class of the colour of the series it stands for; may be empty.
    """

    text: str
    value: float | None = None
    best: bool = False
    tags: tuple[str, ...] = ()
    style: str = ""


@dataclass(frozen=True)
class Table:
    """Rows that can be sorted by any column; the first column names them.

    Args:
        columns: headings.
        rows: a cell for each column.
        caption: what the table shows.
        numbers: whether all columns but the first hold numbers, flush right.
        sorted_by: heading of the column that the rows are sorted by, the highest first.
    """

    kind: ClassVar[str] = "table"
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str
    numbers: bool = True
    sorted_by: str = ""


@dataclass(frozen=True)
class Facts:
    """Names and their values, one below the other."""

    kind: ClassVar[str] = "facts"
    facts: Mapping[str, str]


@dataclass(frozen=True)
class Code:
    """Text to copy."""

    kind: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True)
class Folded:
    """Blocks that are shown when their heading is clicked; in print they are shown."""

    kind: ClassVar[str] = "folded"
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Charts:
    """Charts next to each other, as many as there is room for.

    Args:
        charts: the charts.
        caption: what they show.
    """

    kind: ClassVar[str] = "charts"
    charts: Sequence[Chart]
    caption: str = ""


@dataclass(frozen=True)
class Bars:
    """Horizontal bars.

    Args:
        bars: name, length in percent of the longest, and what to write next to it.
        caption: what they show.
    """

    kind: ClassVar[str] = "bars"
    bars: Sequence[tuple[str, float, str]]
    caption: str


@dataclass(frozen=True)
class HeatMaps:
    """Heat maps next to each other."""

    kind: ClassVar[str] = "heatmaps"
    maps: Sequence[HeatMap]
    caption: str = ""


@dataclass(frozen=True)
class Interval:
    """A row of a forest plot, positions in percent of the plot's width.

    Args:
        name: what is compared.
        text: difference and interval in words.
        verdict: what to conclude, in a word or two.
        style: class of the verdict: "better", "worse" or "open".
        at, low, high: the difference and the ends of its interval; without an interval the ends
            are None, and without a difference all are.
        tags: see :class:`Cell`.
    """

    name: str
    text: str
    verdict: str
    style: str
    at: float | None
    low: float | None
    high: float | None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Forest:
    """Differences to a reference with their intervals.

    Args:
        rows: from the highest difference on.
        zero: where no difference is, in percent of the width.
        ticks: position in percent and text of the scale.
        caption: what the plot shows.
    """

    kind: ClassVar[str] = "forest"
    rows: Sequence[Interval]
    zero: float
    ticks: Sequence[tuple[float, str]]
    caption: str


@dataclass(frozen=True)
class Mark:
    """A piece of an output: a label, a word, a span of words.

    Args:
        text: what it shows.
        name: of a span its type; may be empty.
        style: "right", "wrong", "missed", "true" or "" for what is not marked.
    """

    text: str
    name: str = ""
    style: str = ""


@dataclass(frozen=True)
class Output:
    """An output of one example.

    Args:
        name: whose output it is: "truth" or the methods that agree on it.
        marks: the output in words.
        picture: as a picture's ``data:`` address; may be empty.
        score: the main metric of it in words; may be empty.
    """

    name: str
    marks: Sequence[Mark] = ()
    picture: str = ""
    score: str = ""


@dataclass(frozen=True)
class Example:
    """An example and its outputs.

    Args:
        title: what it is called.
        text: its words; may be empty where outputs repeat them.
        picture: its picture's ``data:`` address; may be empty.
        outputs: the truth first.
    """

    title: str
    text: str
    picture: str
    outputs: Sequence[Output]


@dataclass(frozen=True)
class Examples:
    """Examples below each other."""

    kind: ClassVar[str] = "examples"
    examples: Sequence[Example]
    caption: str


def sections_of(*found: tuple[str, str, Sequence[Any]]) -> list[Section]:
    """Sections by key, title and blocks; those without blocks are left out."""
    return [Section(key, title, blocks) for key, title, blocks in found if blocks]
