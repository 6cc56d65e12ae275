"""All runs of a comparison: reused, done one after another or in parallel, and gathered."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from sklearn.base import clone

from lossnet.cli.folder import writable
from lossnet.cli.measure import checksum_of, measured_on
from lossnet.comparison.jobs import Job, Place
from lossnet.comparison.measuring import Stored, examples_shown, metrics_shown, stored
from lossnet.comparison.page import REPORT, write_page
from lossnet.comparison.progress import TotalProgress
from lossnet.comparison.rendering import MissingTemplatesError
from lossnet.comparison.report import write_reports
from lossnet.comparison.result import Comparison, Missing
from lossnet.comparison.storage import write_comparison
from lossnet.comparison.workers import Doing, Ended, InProcess, Pool
from lossnet.errors import DataError, SettingError
from lossnet.files import check_form, read_json, remove_leftovers, write_json
from lossnet.recipes import METHODS
from lossnet.reports.environment import environment
from lossnet.tasks.model_folder import locked
from lossnet.tasks.parts import Parts
from lossnet.tasks.task import Task

#: The store in a comparison's folder, and the file that says whose it is.
STORE, CLAIM = "results", "comparison.json"


@dataclass(frozen=True, eq=False)
class Plan:
    """What to compare.

    Args:
        task: the task.
        parts: the data.
        models: by name an unfitted estimator each.
        template: an unfitted estimator of cross-entropy, for baselines.
        baselines: names of outside baselines.
        seeds: the seeds.
        reference: the method that differences are taken to.
        about, notes: what :meth:`Task.sizes` and :meth:`Task.notes` say of the data.
        command: how to repeat it.
        budget: total seconds; None without a limit.
        jobs: number of processes.
        quiet: show no progress.
    """

    task: Task
    parts: Parts[Any]
    models: Mapping[str, Any]
    template: Any
    baselines: Sequence[str]
    seeds: Sequence[int]
    reference: str
    about: str
    notes: list[str]
    command: str
    budget: float | None = None
    jobs: int = 1
    quiet: bool = False

    def runs(self) -> list[Job]:
        """Every run: the methods seed by seed, then the baselines, those of equal time last."""
        found = [
            Job(name, seed, clone(model).set_params(random_state=seed))
            for seed in self.seeds
            for name, model in self.models.items()
        ]
        outside = [job for name in self.baselines for job in self._baseline(name)]
        return found + sorted(outside, key=lambda job: job.equal_time(self.task))

    def _baseline(self, name: str) -> Iterator[Job]:
        own = name not in METHODS
        seeds = self.seeds if self.task.baselines[name].random else self.seeds[:1]
        for seed in seeds:
            model = clone(self.template).set_params(random_state=seed)
            model = model if own else model.set_params(method=name)
            yield Job(name, seed, model, outside=True, fitted_by_task=own)


@dataclass
class Found:
    """What has come of the runs so far."""

    done: dict[Job, Stored] = field(default_factory=dict)
    failures: list[Missing] = field(default_factory=list)
    left_out: list[Missing] = field(default_factory=list)


def compare_models(plan: Plan, out: str | Path) -> Comparison:
    """Do what the folder's store lacks; write ``results.json``, ``.csv`` and the reports."""
    if plan.parts.validation is None and plan.parts.test is None:
        raise DataError(f"{plan.parts.name} has no validation and no test part to compare on")
    with writable(out) as folder, locked(folder):
        checksum = checksum_of(plan.parts)
        claim(folder, plan.task, plan.parts, checksum)
        for left in (folder / STORE).glob("*/*"):
            remove_leftovers(left)
        place = Place(folder / STORE, plan.parts, checksum, plan.budget)
        found = _all_runs(plan, place)
        comparison, files = _gathered(plan, found, checksum)
        write_comparison(comparison, folder, files)
        write_reports(comparison, folder)
        _write_page(comparison, folder)
    return comparison


def _write_page(comparison: Comparison, folder: Path) -> None:
    """Write ``report.html``; without what it needs the other files are all there is."""
    try:
        write_page(comparison, folder)
    except MissingTemplatesError as error:
        (folder / REPORT).unlink(missing_ok=True)  # of fewer runs
        warnings.warn(f"{REPORT} was not written: {error}", UserWarning, stacklevel=3)


def claim(folder: Path, task: Task, parts: Parts[Any], checksum: str) -> None:
    """Say whose folder it is; raise where it is another comparison's."""
    path = folder / CLAIM
    own = {"task": task.name, "data": parts.name, "checksum": checksum}
    if path.exists():
        remedy = "choose another folder, or delete this one"
        try:
            known = read_json(path)
            check_form(known, dict.fromkeys(own, str), str(path))
        except DataError as error:
            raise DataError(f"{error}; {remedy}") from error
        if known != own:
            what = f"{folder} holds a comparison of {known['data']} ({known['task']} data)"
            same = (known["task"], known["data"]) == (own["task"], own["data"])
            other = "its rows or parts were others" if same else f"not of {own['data']}"
            raise SettingError(f"{what}, {other}; {remedy}")
    else:
        write_json(path, own)


def _all_runs(plan: Plan, place: Place) -> Found:
    """Every run, from the store or done now."""
    jobs, found = plan.runs(), Found()
    last = [job for job in jobs if job.equal_time(plan.task)]
    first = [job for job in jobs if job not in last]
    found.done = {job: one for job in first if (one := stored(job, place)) is not None}
    todo = [job for job in first if job not in found.done]
    doing, reused = Doing(plan.task, place, plan.command), len(found.done)
    pool = InProcess(doing) if plan.jobs == 1 else Pool(doing, plan.jobs)
    how: dict[str, Any] = {"workers": plan.jobs, "quiet": plan.quiet}
    shown = TotalProgress([*todo, *last], reused=reused, **how)
    session = _Session(plan, place, pool, shown, found)
    with _ending(pool, shown):
        session.do(todo, later=len(last))
        seconds = session.slowest()
        for job in last:
            if seconds and (one := stored(job, place, seconds=seconds)) is not None:
                found.done[job] = one
                shown.end(job, "in the store")
        session.do([job for job in last if job not in found.done], seconds=seconds)
    found.done = {job: found.done[job] for job in jobs if job in found.done}
    return found


@contextmanager
def _ending(pool: Any, shown: TotalProgress) -> Iterator[None]:
    """End workers and progress, and let an interrupt say how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        message = "interrupted; the same command continues the comparison"
        raise KeyboardInterrupt(message) from None
    finally:
        pool.close()
        shown.close()


class _Session:
    """Runs that are done now, within the budget."""

    def __init__(self, plan: Plan, place: Place, pool: Any, shown: Any, found: Found) -> None:
        self.plan, self.place, self.pool, self.shown, self.found = plan, place, pool, shown, found
        self._began = time.perf_counter()

    def do(self, jobs: Sequence[Job], *, later: int = 0, seconds: float = 0.0) -> None:
        """Do runs; ``later`` is how many come after them, ``seconds`` for those of equal time."""
        queue = list(jobs)
        while queue or self.pool.busy:
            while queue and self.pool.free:
                job, limit = queue.pop(0), self._limit(len(queue) + 1 + later)
                if limit is not None and limit <= 0:
                    self._leave_out(job, "the time budget was used up")
                elif not seconds and job.equal_time(self.plan.task):
                    self._leave_out(job, "no method was trained whose time it could have")
                else:
                    self.shown.start(job)
                    self.pool.give(job, limit=limit, seconds=seconds)
            if self.pool.busy:
                for ended in self.pool.ended():
                    self._end(ended, seconds)

    def slowest(self) -> float:
        """Mean seconds of training of the slowest compared method; 0 where none was trained."""
        times: dict[str, list[float]] = {}
        for job, one in self.found.done.items():
            if not job.outside:
                times.setdefault(job.method, []).append(one.run.seconds)
        return max(map(fmean, times.values()), default=0.0)

    def _limit(self, left: int) -> float | None:
        """Seconds that the next of the runs that are left may train; None without a budget."""
        if self.plan.budget is None:
            return None
        remaining = self.plan.budget - (time.perf_counter() - self._began)
        return remaining * min(self.plan.jobs, left) / left

    def _leave_out(self, job: Job, why: str) -> None:
        self.found.left_out.append(Missing(job.method, job.seed, job.outside, why))
        self.shown.end(job, f"left out, {why}")

    def _end(self, ended: Ended, seconds: float) -> None:
        job, error = ended.job, ended.error
        for note in ended.notes:
            warnings.warn(note, stacklevel=2)
        one = None if error else stored(job, self.place, seconds=seconds)
        if one is None:
            why = error or f"its results in {self.place.store} cannot be read"
            self.found.failures.append(Missing(job.method, job.seed, job.outside, why))
            self.shown.end(job, f"failed: {why}")
            return
        self.found.done[job] = one
        task, parts = self.plan.task, self.plan.parts
        main = task.judged_by(parts, self.plan.template.metric)
        value = one.run.metrics.get(main)
        shown = "" if value is None else f"{main} {100 * value:.1f}, "
        cut = ", ended by the budget" if one.measured.cut else ""
        self.shown.end(job, f"{shown}{one.run.seconds:.1f} s{cut}")


def _gathered(plan: Plan, found: Found, checksum: str) -> tuple[Comparison, dict[int, Path]]:
    """The comparison, and the file of each of its runs."""
    task, parts = plan.task, plan.parts
    runs = [one.measured for one in found.done.values()]
    part = measured_on(parts)
    columns, main = metrics_shown(task, parts, runs, plan.template.metric)
    known = environment() | ({"threads": 1} if plan.jobs > 1 else {})
    comparison = Comparison(
        data=parts.name,
        task=task.name,
        unit=task.unit,
        sizes={name: len(data) for name, data in parts.items()},
        about=". ".join([plan.about, *(f"A file is marked {mark!r}" for mark in parts.marks)]),
        notes=plan.notes,
        measured_on=part,
        metrics=columns,
        main=main,
        methods=list(plan.models),
        baselines=list(plan.baselines),
        reference=plan.reference,
        seeds=list(plan.seeds),
        runs=runs,
        failures=found.failures,
        left_out=found.left_out,
        examples=examples_shown(task, getattr(parts, part), runs),
        command=plan.command,
        checksum=checksum,
        budget=plan.budget,
        measured_how=task.measured_how,
        **known,
    )
    return comparison, {k: one.file for k, one in enumerate(found.done.values())}
