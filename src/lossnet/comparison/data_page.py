"""The page of a data set, for ``describe --report``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lossnet.comparison.blocks import (
    Bars,
    Block,
    Cell,
    Code,
    Facts,
    HeatMaps,
    Page,
    Table,
    Text,
    sections_of,
)
from lossnet.comparison.energy_section import strongest
from lossnet.comparison.pictures import heat_map
from lossnet.comparison.rendering import write_html
from lossnet.tasks.description import Description, Listing

#: The most bars of a section.
BARS = 40


def write_data_page(description: Description, path: str | Path, *, command: str = "") -> Path:
    """Write the page of a data set to a file and return its path.

    Args:
        description: what a task says of it.
        path: the file.
        command: how to repeat it; may be empty.
    """
    return write_html(data_page(description, command=command), path)


def data_page(description: Description, *, command: str = "") -> Page:
    """The page; sections that have nothing to show are left out."""
    tables = [block for listing in description.listings for block in _listing(listing)]
    sections = sections_of(
        ("overview", "Overview", _facts(description)),
        ("frequencies", "Frequencies", _frequencies(description)),
        ("lengths", "Lengths", _lengths(description)),
        ("together", "What goes together", _together(description)),
        ("tables", "Tables", tables),
        ("repeat", "How to repeat it", [Code(command)] if command else []),
    )
    return Page(description.name, "What the data set holds", [], sections)


def _facts(description: Description) -> list[Block]:
    notes = [Text(f"Note: {note}") for note in description.notes]
    if description.headed:
        return [*_listing(Listing("All of it and its parts", description.facts)), *notes]
    return [Facts({row[0]: row[1] for row in description.facts}), *notes]


def _listing(listing: Listing) -> list[Block]:
    if not listing.lines:
        return [Text(f"{listing.title}: {listing.words}.")] if listing.words else []
    heads, *lines = listing.lines
    rows = [[Cell(text, _number(text)) for text in line] for line in lines]
    return [Table(list(heads), rows, f"{listing.title[:1].upper()}{listing.title[1:]}")]


def _number(text: str) -> float | None:
    """What to sort a cell by: its number, None where it is none."""
    try:
        return float(text.replace(",", "").removesuffix(" %"))
    except ValueError:
        return None


def _frequencies(description: Description) -> list[Block]:
    blocks: list[Block] = []
    for what, shares in description.frequencies.items():
        order = sorted(shares, key=lambda name: -shares[name])[:BARS]
        most = max((shares[name] for name in order), default=0.0) or 1.0
        bars = [(n, round(100 * shares[n] / most, 2), f"{shares[n]:.1f} %") for n in order]
        some = f"the {BARS} most frequent of {len(shares):,}" if len(shares) > BARS else "all"
        if bars:
            blocks.append(Bars(bars, f"{what.capitalize()}, {some}"))
    return blocks


def _lengths(description: Description) -> list[Block]:
    return [
        Bars(histogram(values), f"Number of {what}, and how many have it")
        for what, values in description.lengths.items()
        if len(values)
    ]


def histogram(values: Sequence[int], bins: int = 16) -> list[tuple[str, float, str]]:
    """Bars of how often whole numbers occur: each its own, or in ranges of equal width.

    >>> histogram([1, 1, 2])
    [('1', 100.0, '2'), ('2', 50.0, '1')]
    """
    low, high = int(min(values)), int(max(values))
    width = -(-(high - low + 1) // bins)
    counts = np.bincount((np.asarray(values) - low) // width)
    starts = low + width * np.arange(len(counts))
    most = max(int(counts.max()), 1)
    return [
        (
            f"{start}" if width == 1 else f"{start} to {start + width - 1}",
            round(100 * int(count) / most, 2),
            f"{count:,}",
        )
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True)
    ]


def _together(description: Description) -> list[Block]:
    """A heat map of how much more often one label is on where another is."""
    if description.together is None or len(description.together[0]) < 2:
        return []
    names, both = description.together
    counts = both.diagonal()
    given = both / np.maximum(counts, 1)[:, None] - counts / max(description.rows, 1)
    given[counts == 0] = np.nan
    np.fill_diagonal(given, np.nan)
    shown = strongest(given)
    chosen = [names[k] for k in shown]
    picture = heat_map("occur together", given[np.ix_(shown, shown)], chosen)
    caption = "Row i, column k: how much more often label k is on where i is. Blue: more often; "
    caption += "orange: less often."
    if len(shown) < len(names):
        caption += f" The {len(shown)} labels that depend on others most, of {len(names):,}."
    return [HeatMaps([picture], caption)]
