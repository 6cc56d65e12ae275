"""Plain text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def aligned(lines: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> str:
    """Rows of cells in columns; the columns whose numbers are in ``right`` end flush.

    >>> print(aligned([["a", "1"], ["bcd", "10"]], right=[1]))
    a     1
    bcd  10
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    sides = [">" if k in right else "<" for k in range(len(widths))]
    rows = [zip(line, sides, widths, strict=True) for line in lines]
    texts = ["  ".join(f"{cell:{side}{width}}" for cell, side, width in row) for row in rows]
    return "\n".join(text.rstrip() for text in texts)


def metrics_table(columns: Mapping[str, Mapping[str, float]]) -> str:
    """Metrics down, one column of values for each set of metrics: percent, and counts."""
    names = list(dict.fromkeys(name for values in columns.values() for name in values))
    lines = [["metric", *columns]]
    for name in names:
        lines.append([name, *(_cell(v[name]) if name in v else "" for v in columns.values())])
    return aligned(lines, right=range(1, len(columns) + 1))


def _cell(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{100 * value:.2f}"


def counted(number: int, what: str, several: str | None = None) -> str:
    """``1 row``, ``2 rows``; with ``several`` where that is not what takes an s."""
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"


def some(names: Sequence[str], *, most: int = 3) -> str:
    """The first names in quotes, and how many more there are.

    >>> some(["a", "b", "c", "d"], most=2)
    "'a', 'b' and 2 more"
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
