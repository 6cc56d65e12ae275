"""What a paper's table is: rows, columns, the numbers as printed, and how they were measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

_NUMBER = re.compile(r"(-?[\d.]+)(?:±([\d.]+))?")


class Printed(NamedTuple):
    """A number of a paper, in percent, and its deviation where the paper gives one."""

    value: float
    deviation: float | None


@dataclass(frozen=True)
class Benchmark:
    """Runs of a benchmark script that stand for a column which ``reproduce`` cannot run.

    Args:
        script: the script, which has its own settings.
        data: what the store calls its data.
        where: settings that select among its runs.
    """

    script: str
    data: str
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    """A column of a table: one metric on one data set.

    Args:
        printed: its heading in the paper; unique in a table.
        data: a name in :data:`lossnet.papers.data_sets.DATA_SETS`.
        metric: the recorded metric that the paper's number is compared with.
        preset: the preset of rows by "ours by the preset".
        settings: the estimator's parameters that belong to the column, with preset and without.
        benchmark: whose runs are shown; rows are found by their labels.
    """

    printed: str
    data: str
    metric: str
    preset: str = "paper"
    settings: Mapping[str, Any] = field(default_factory=dict)
    benchmark: Benchmark | None = None


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Args:
        printed: the method as the paper calls it.
        method: our name of it; None: not among our methods.
        numbers: one for each column, as ``42.40±0.18`` or ``42.40``; ``-`` where there is none.
        params: parameters of the method that make it this row, with preset and without.
        settings: the same of the estimator.
        output: ``"net"``: measured is what the task-net gives before the energy refines it.
        name: what ``--rows`` calls it; None is the method.
    """

    printed: str
    method: str | None
    numbers: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    output: str = ""
    name: str | None = None

    @property
    def label(self) -> str:
        """What ``--rows`` calls the row."""
        return self.name or self.method or self.printed


@dataclass(frozen=True)
class Change:
    """One setting of a cell changed, to find what its difference from the paper comes from.

    The other settings are those of the preset.

    Args:
        row, column: the cell: a row's label, a column's heading.
        words: what is changed.
        params, settings: as in :class:`Row`, over the row's own.
        data: a data set in place of the column's.
        schedule: of the preset, ``"paper"`` or ``"library"``.
    """

    row: str
    column: str
    words: str
    params: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    data: str | None = None
    schedule: str = "paper"


@dataclass(frozen=True)
class Table:
    """A table of a paper.

    Args:
        name: what ``lossnet reproduce`` calls it.
        source: paper and number of the table.
        title: what it shows.
        protocol: how the paper measured, in words.
        ours: where ours differs, in words; may be empty.
        seeds: how many runs the paper's deviations are over; None where it does not say.
        columns, rows: see :class:`Column` and :class:`Row`.
        why: one sentence for a difference that has been run, by row and column.
        changes: cells with one setting changed, which ``--changes`` runs.
    """

    name: str
    source: str
    title: str
    protocol: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    ours: str = ""
    seeds: int | None = None
    why: Mapping[tuple[str, str], str] = field(default_factory=dict)
    changes: Sequence[Change] = ()

    @property
    def data(self) -> list[str]:
        """The names of its data sets."""
        return list(dict.fromkeys(column.data for column in self.columns))

    def cell(self, row: str, column: str) -> tuple[Row, Column]:
        """The row of a label and the column of a heading."""
        return (
            next(one for one in self.rows if one.label == row),
            next(one for one in self.columns if one.printed == column),
        )

    def changed(self, change: Change) -> tuple[Row, Column]:
        """The cell of a change, with its one setting changed."""
        row, column = self.cell(change.row, change.column)
        row = replace(
            row,
            params={**row.params, **change.params},
            settings={**row.settings, **change.settings},
            name=f"{row.label}, {change.words}",
        )
        return row, replace(column, data=change.data or column.data)

    def number(self, row: Row, column: Column) -> Printed | None:
        """The paper's number in a cell, None where it has none."""
        found = row.numbers.split()
        text = found[list(self.columns).index(column)] if found else "-"
        match = _NUMBER.fullmatch(text)
        return match and Printed(float(match[1]), float(match[2]) if match[2] else None)


@dataclass(frozen=True)
class Figure:
    """A figure of a paper that ``lossnet reproduce`` draws.

    Args:
        name: what ``lossnet reproduce`` calls it.
        source: paper and numbers of the figures.
        title: what they show.
        data: the data sets it can show, names in :data:`lossnet.papers.data_sets.DATA_SETS`.
        draw: the function that draws it: ``"module:name"`` in :mod:`lossnet.papers`.
        usual: those that are shown where ``--columns`` does not say; None are all.
    """

    name: str
    source: str
    title: str
    data: Sequence[str]
    draw: str
    usual: Sequence[str] | None = None
