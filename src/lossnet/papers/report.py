"""A paper's table in Markdown: its numbers, ours by the preset, ours by default, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, variance
from typing import Any

from lossnet.papers.data_sets import DATA_SETS
from lossnet.papers.runs import cells, metric_of
from lossnet.papers.settings import KINDS, Kind, estimator_of
from lossnet.papers.stored import StoredRuns, store_name
from lossnet.papers.table import Column, Printed, Row, Table
from lossnet.reports.tables import MISSING, summarise

#: Metrics at 0.5 have a sibling at the tuned threshold.
HALF = "@0.5"


class Filled:
    """A table with what the store holds for it.

    Args:
        table: the paper's table.
        runs: the store.
        root: the data folder; it need not hold the data.
        kinds: the ways to run a cell that are shown.
    """

    def __init__(
        self, table: Table, runs: StoredRuns, root: Path, kinds: Sequence[Kind] = KINDS
    ) -> None:
        self.table, self.kinds = table, kinds
        self._values: dict[tuple[str, str, Kind], list[float]] = {}
        self._tuned: dict[tuple[str, str, Kind], list[float]] = {}
        for column in table.columns:
            for row in table.rows:
                for kind in kinds if row.method else ():
                    self._fill(row, column, kind, runs, root)
        for change in table.changes:
            row, column = table.changed(change)
            self._fill(row, column, Kind("preset", change.schedule), runs, root)

    def _fill(self, row: Row, column: Column, kind: Kind, runs: StoredRuns, root: Path) -> None:
        place, metric = (row.label, column.printed, kind), metric_of(row, column)
        if column.benchmark is not None:
            found = (
                runs.of_benchmark(column.benchmark, row.label) if kind == Kind("default") else []
            )
            self._values[place] = _numbers(found, column.metric)
            return
        model = estimator_of(row, column, kind, root)
        found = [] if model is None else runs.matching(column.data, model)
        self._values[place] = _numbers(found, metric)
        if metric.endswith(HALF):
            self._tuned[place] = _numbers(found, metric.removesuffix(HALF))

    def values(self, row: Row, column: Column, kind: Kind) -> list[float]:
        """Our numbers in a cell, in percent, one for each seed."""
        return self._values.get((row.label, column.printed, kind), [])

    def has_runs(self, row: Row, column: Column) -> bool:
        """Whether a cell was run in any way."""
        return any(self.values(row, column, kind) for kind in self.kinds)

    def markdown(self, *, run_only: bool = False, level: int = 2) -> str:
        """The table; ``run_only`` leaves out what was not run."""
        table = self.table
        lines = [f"{'#' * level} {table.name}: {table.title}", ""]
        lines += [f"{table.source[0].upper()}{table.source[1:]}, in percent."]
        lines += [f"The paper's protocol: {table.protocol}."]
        lines += [f"Ours: {table.ours}."] if table.ours else []
        for column in table.columns:
            rows = [row for row in table.rows if not run_only or self.has_runs(row, column)]
            if rows:
                lines += ["", f"{'#' * (level + 1)} {column.printed}{_origin(column)}", ""]
                usual = () if run_only or column.benchmark else (Kind("preset"), Kind("default"))
                has = [k for k in self.kinds if self._adds(rows, column, k)]
                kinds = [kind for kind in self.kinds if kind in has or kind in usual]
                lines += [*self._lines(rows, column, kinds), *self._reasons(rows, column)]
                lines += self._changes(column, run_only=run_only)
        return "\n".join(lines)

    def _adds(self, rows: Sequence[Row], column: Column, kind: Kind) -> bool:
        """Whether a kind has numbers that are not those of the paper's schedule again."""
        found = [(self.values(r, column, kind), r) for r in rows if self.values(r, column, kind)]
        full = Kind("preset", "paper")
        again = kind == Kind("preset") and full in self.kinds
        return any(not again or own != self.values(row, column, full) for own, row in found)

    def _lines(self, rows: Sequence[Row], column: Column, kinds: Sequence[Kind]) -> list[str]:
        tuned = any(self._tuned.get((row.label, column.printed, k)) for row in rows for k in kinds)
        heads = ["method", "paper"]
        for kind in kinds:
            heads += ["ours" if column.benchmark else kind.words, "difference"]
        heads += [f"{kind.words.removeprefix('ours, ')}, tuned" for kind in kinds if tuned]
        lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
        for row in rows:
            paper = self.table.number(row, column)
            cells = [_named(row), _paper(paper)]
            for kind in kinds:
                ours = self.values(row, column, kind)
                cells += [_ours(ours), difference(ours, paper, self.table.seeds)]
            if tuned:
                places = [(row.label, column.printed, kind) for kind in kinds]
                cells += [_ours(self._tuned.get(place, []), count=False) for place in places]
            lines.append("| " + " | ".join(cells) + " |")
        return lines

    def _reasons(self, rows: Sequence[Row], column: Column) -> list[str]:
        """One sentence for each difference that has been run; rows may share one."""
        found: dict[str, list[str]] = {}
        for row in rows:
            text = self.table.why.get((row.label, column.printed))
            if text and self.has_runs(row, column):
                found.setdefault(text, []).append(f"`{row.label}`")
        lines = [f"- {', '.join(labels)}: {text}" for text, labels in found.items()]
        return ["", *lines] if lines else []

    def _changes(self, column: Column, *, run_only: bool) -> list[str]:
        """What one changed setting does to a cell."""
        lines = []
        for change in self.table.changes:
            kind = Kind("preset", change.schedule)
            row, at = self.table.changed(change)
            values = self.values(row, at, kind)
            if change.column != column.printed or (run_only and not values):
                continue
            base, _ = self.table.cell(change.row, change.column)
            paper, before = self.table.number(base, column), self.values(base, column, kind)
            cells = [f"`{change.row}`", change.words, _ours(before, count=False), _ours(values)]
            cells.append(difference(values, paper, self.table.seeds))
            lines.append("| " + " | ".join(cells) + " |")
        heads = "| method | one setting changed | unchanged | changed | difference to the paper |"
        return ["", heads, "|---|---|---:|---:|---:|", *lines] if lines else []


def difference(ours: Sequence[float], paper: Printed | None, seeds: int | None) -> str:
    """Ours less the paper's, and that in pooled deviations."""
    if not ours or paper is None:
        return ""
    gap = fmean(ours) - paper.value
    if len(ours) < 2:
        return f"{gap:+.1f} (one seed)"
    known = [(variance(ours), len(ours) - 1)]
    if paper.deviation is not None:
        known.append((paper.deviation**2, (seeds or len(ours)) - 1))
    pooled = math.sqrt(sum(v * n for v, n in known) / sum(n for _, n in known))
    whose = "" if paper.deviation is not None else " of ours"
    return f"{gap:+.1f} ({gap / pooled:+.1f} dev.{whose})" if pooled else f"{gap:+.1f}"


def missing_data(table: Table, root: Path) -> list[str]:
    """For each data set that is not there, which file to put where."""
    found = {}
    for column in table.columns:
        if needs := DATA_SETS[column.data].needs(root):
            found[column.data] = f"{column.data}: {needs}"
    return list(found.values())


def page(results: Path) -> str:
    """Every table of which something has been run."""
    from lossnet.papers import TABLES

    runs, found = StoredRuns(results), []
    for table in TABLES.values():
        filled = Filled(table, runs, Path("data"))
        cells = [(row, column) for row in table.rows for column in table.columns]
        if any(filled.has_runs(*cell) for cell in cells):
            found.append(filled.markdown(run_only=True))
    return "\n\n".join(found)


def set_aside(runs: StoredRuns, root: Path) -> int:
    """How many runs of the data and methods asked for belong to no table as it is now."""
    from lossnet.papers import TABLES

    places = runs.unused()
    every = [cell for table in TABLES.values() for cell in cells(table)]
    every += [table.changed(one) for table in TABLES.values() for one in table.changes]
    for row, column in every:
        if (store_name(column.data), row.method) in places:
            for model in (estimator_of(row, column, kind, root) for kind in KINDS):
                if model is not None:
                    runs.matching(column.data, model)
    return runs.set_aside()


def _origin(column: Column) -> str:
    """Where the runs of a column come from, if not from this command."""
    return "" if column.benchmark is None else f" (ours by {column.benchmark.script})"


def _numbers(runs: Sequence[Any], metric: str) -> list[float]:
    values = [run.metrics.get(metric) for run in runs]
    return [100 * value for value in values if value is not None]


def _named(row: Row) -> str:
    ours = f" (`{row.label}`)" if row.method else ""
    return f"{row.printed}{ours}"


def _paper(number: Printed | None) -> str:
    if number is None:
        return MISSING
    rest = "" if number.deviation is None else f" ± {number.deviation:g}"
    return f"{number.value:g}{rest}"


def _ours(values: Sequence[float], *, count: bool = True) -> str:
    seeds = f" (n={len(values)})" if count and values else ""
    return summarise(values, percent=False) + seeds
