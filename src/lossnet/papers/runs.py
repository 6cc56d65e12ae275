"""Fit what a table needs and the store lacks, one run after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from lossnet.errors import SettingError, unknown
from lossnet.papers.data_sets import DATA_SETS
from lossnet.papers.settings import Kind, configuration, estimator_of
from lossnet.papers.stored import StoredRuns
from lossnet.papers.table import Column, Row, Table
from lossnet.tasks.parts import Parts

#: Most steps of refinement that are tried on validation data.
MOST_STEPS = 30
#: Methods whose task-net's output the energy refines at prediction.
REFINED = ("alen", "aen")
#: The nets of inference networks: for prediction, and cost-augmented.
PAIR = ("task", "augmented")


@dataclass(frozen=True)
class Fit:
    """One run to do: a row on a data set with a seed."""

    row: Row
    column: Column
    kind: Kind
    model: Any

    @property
    def words(self) -> str:
        """What is run, for one line."""
        how = "default" if self.kind.which == "default" else f"preset, {self.kind.schedule}"
        return f"{self.column.data}, {self.row.label}, {how}, seed {self.model.random_state}"


def chosen(table: Table, rows: Sequence[str] | None, columns: Sequence[str] | None) -> Table:
    """The table with only these rows and columns; all where None."""
    every = [row.label for row in table.rows], [column.printed for column in table.columns]
    for kind, wanted, known in zip(("row", "column"), (rows, columns), every, strict=True):
        for name in wanted or []:
            if name not in known:
                raise unknown(f"{kind} of {table.name}", name, known)
    kept = [column for column in table.columns if columns is None or column.printed in columns]
    at = [list(table.columns).index(column) for column in kept]
    lines = []
    for row in table.rows:
        if rows is None or row.label in rows:
            numbers = row.numbers.split()
            lines.append(replace(row, numbers=" ".join(numbers[k] for k in at) if numbers else ""))
    left = {row.label for row in lines}, {column.printed for column in kept}
    changes = [one for one in table.changes if one.row in left[0] and one.column in left[1]]
    return replace(table, rows=lines, columns=kept, changes=changes)


def cells(table: Table) -> Iterator[tuple[Row, Column]]:
    """The cells that this command can run, column by column."""
    for column in table.columns:
        if column.benchmark is None:
            yield from ((row, column) for row in table.rows if row.method is not None)


def metric_of(row: Row, column: Column) -> str:
    """The recorded metric of a cell."""
    return f"{row.output} {column.metric}".strip()


def plan(
    table: Table, kinds: Sequence[Kind], seeds: int, root: Path, *, changes: bool = False
) -> list[Fit]:
    """Every run of a table whose data is there, seed by seed; columns may share runs.

    ``changes`` adds the cells with one setting changed.
    """
    wanted = [(row, column, kind) for row, column in cells(table) for kind in kinds]
    for one in table.changes if changes else ():
        kind = Kind("preset", one.schedule)
        wanted += [(*table.cell(one.row, one.column), kind), (*table.changed(one), kind)]
    found: dict[str, Fit] = {}
    for seed in range(seeds):
        for row, column, kind in wanted:
            if DATA_SETS[column.data].missing(root):
                continue
            model = estimator_of(row, column, kind, root, seed)
            if model is None:
                continue
            model._check_settings()
            key = repr((column.data, row.method, seed, sorted(configuration(model).items())))
            found.setdefault(key, Fit(row, column, kind, model))
    return list(found.values())


def without_preset(table: Table, root: Path) -> list[str]:
    """The rows on data sets that the papers print no settings for."""
    found = [
        f"{row.label} on {column.data}"
        for row, column in cells(table)
        if not DATA_SETS[column.data].missing(root)
        and estimator_of(row, column, Kind("preset"), root) is None
    ]
    return list(dict.fromkeys(found))


@dataclass
class Runner:
    """Does runs and keeps each as soon as it is finished.

    Args:
        runs: the store.
        root: the data folder.
        command: how to repeat it.
        say: prints a line of progress.
    """

    runs: StoredRuns
    root: Path
    command: str
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        self._parts: dict[str, Parts[Any]] = {}
        self._took: list[tuple[Fit, float]] = []

    def load(self, data: str) -> Parts[Any]:
        """The parts of a data set, read once."""
        if data not in self._parts:
            self._parts[data], self.runs.checksums[data] = DATA_SETS[data].load(self.root)
        return self._parts[data]

    def lacking(self, fits: Sequence[Fit]) -> list[Fit]:
        """Those that the store does not hold."""
        found = []
        for fit in fits:
            self.load(fit.column.data)
            stored = self.runs.matching(fit.column.data, fit.model)
            if fit.model.random_state not in [run.seed for run in stored]:
                found.append(fit)
        return found

    def do(self, fits: Sequence[Fit]) -> list[str]:
        """Do the runs; what failed, in words. A run that fails does not end the others."""
        failed: list[str] = []
        for number, fit in enumerate(fits, 1):
            began = time.perf_counter()
            what = f"[{number}/{len(fits)}] {fit.words}"
            try:
                text = self._one(fit)
            except KeyboardInterrupt as error:
                done = number - 1 - len(failed)
                kept = f"interrupted: {done} of {len(fits)} runs are in {self.runs.folder}"
                raise KeyboardInterrupt(f"{kept}; the same command goes on from there") from error
            except Exception as error:
                failed.append(f"{fit.words}: {type(error).__name__}: {error}")
                self.say(f"{what}: failed: {error}")
                continue
            self._took.append((fit, time.perf_counter() - began))
            self.say(f"{what}: {text}{self._left(fits[number:])}")
        return failed

    def _one(self, fit: Fit) -> str:
        """Fit, measure and record one run; its metric in words."""
        from sklearn.base import clone

        from lossnet.tasks.resuming import fit_or_continue
        from lossnet.training import Stopwatch

        data, timer = fit.column.data, Stopwatch()
        parts, model = self.load(data), clone(fit.model)
        checkpoint = self.runs.checkpoint(data, fit.model)
        fit_or_continue(model, parts, checkpoint, [timer])
        metrics, seconds = measured(model, fit, parts), timer.total
        measures: dict[str, Any] = {"metrics": metrics, "seconds": seconds}
        self.runs.add(data, fit.model, marks=parts.marks, command=self.command, **measures)
        checkpoint.unlink(missing_ok=True)
        found = metrics.get(metric_of(fit.row, fit.column))
        shown = "" if found is None else f"{fit.column.metric} {100 * found:.2f} in "
        return f"{shown}{seconds:.0f} s"

    def _left(self, fits: Sequence[Fit]) -> str:
        """The time that is left, by runs of the same rows; empty where one was not run yet."""
        from lossnet.training.progress import format_duration

        def key(fit: Fit) -> tuple[Any, ...]:
            return fit.row.method, fit.column.data, fit.kind

        took: dict[tuple[Any, ...], list[float]] = {}
        for done, seconds in self._took:
            took.setdefault(key(done), []).append(seconds)
        if not fits or any(key(fit) not in took for fit in fits):
            return ""
        return f"; about {format_duration(sum(fmean(took[key(fit)]) for fit in fits))} left"


def inference_gap(model: Any, data: Any) -> float:
    """How much higher the test-time net scores than the cost-augmented one (paper 003, Table 3)."""
    from lossnet.proposals import NetOutput

    scores = [model._measure(data, model._outputs(NetOutput(n), data)) for n in PAIR]
    return float(scores[0] - scores[1])


def measured(model: Any, fit: Fit, parts: Parts[Any]) -> dict[str, float]:
    """The metrics of a fitted model on the test part and, by that word, the validation part.

    Labels are measured at 0.5 and at a threshold tuned on validation data. Where the energy
    refines the task-net's output, ``net`` stands for that output alone and ``tuned steps`` for as
    many steps as serve validation data best.
    """
    from lossnet.proposals import NetOutput

    task = DATA_SETS[fit.column.data].find_task()
    found: dict[str, float] = {"epochs": float(len(model.history_))}
    # 36 crops of an image, as in the papers; steps are chosen on uncropped ones.
    crops, uncropped = ({"average": n} if hasattr(model, "average") else {} for n in (6, 1))

    def measure(prefix: str) -> None:
        model.set_params(**crops)
        if hasattr(model, "tune_threshold"):
            model.set_params(threshold="tuned").tune_threshold(parts.validation)
            found[f"{prefix}threshold"] = float(model.threshold_)
        for part, data in parts.items():
            if part != "train":
                name = prefix if part == "test" else f"{prefix}{part} "
                values = task.flat(task.measure(model, data))
                found.update({f"{name}{key}": value for key, value in values.items()})

    measure("")
    if {*PAIR} <= model.nets_.keys():
        found["validation gap"] = inference_gap(model, parts.validation)
    if fit.row.method in REFINED:
        model.set_params(**uncropped).tune_refinement(parts.validation, most=MOST_STEPS)
        found["refinement steps"] = float(model.refine_steps_ or 0)
        measure("tuned steps ")
        model.set_params(refine=NetOutput())
        measure("net ")
    return found


def check_seeds(seeds: int) -> None:
    """Raise unless there is a seed to run."""
    if seeds < 1:
        raise SettingError(f"--seeds must be at least 1, got {seeds}")
