"""Progress over all runs of a comparison, with the time left."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Sequence
from statistics import fmean

from tqdm.auto import tqdm

from lossnet.comparison.jobs import Job
from lossnet.training.progress import format_duration


class TotalProgress:
    """A bar in a terminal, elsewhere a line after each run.

    Args:
        jobs: the runs that are still to do.
        reused: number of runs that the store holds.
        workers: number of runs at a time.
        quiet: show nothing.
    """

    def __init__(self, jobs: Sequence[Job], *, reused: int, workers: int, quiet: bool) -> None:
        self._left, self._workers, self._quiet = list(jobs), workers, quiet
        self._total, self._done = len(jobs) + reused, reused
        self._seconds: dict[str, list[float]] = {}
        self._began: dict[int, float] = {}
        self._bar: tqdm | None = None
        if quiet:
            return
        if sys.stderr is not None and sys.stderr.isatty():
            form = "{n_fmt}/{total_fmt} |{bar:20}| {elapsed}{postfix}"
            self._bar = tqdm(total=self._total, initial=reused, bar_format=form, file=sys.stderr)
        elif reused:
            self._print(f"{reused} of {self._total} runs are in the store")

    def start(self, job: Job) -> None:
        """A run begins."""
        self._began[id(job)] = time.perf_counter()
        if self._bar is not None:
            self._bar.set_postfix_str(f"{job.method}, seed {job.seed}{self._time_left()}")

    def end(self, job: Job, result: str) -> None:
        """A run has ended, or is left out.

        Args:
            job: the run.
            result: what came of it, in words.
        """
        self._left.remove(job)
        self._done += 1
        if id(job) in self._began:
            took = time.perf_counter() - self._began.pop(id(job))
            self._seconds.setdefault(job.method, []).append(took)
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.update()
        head = f"[{self._done}/{self._total}] {job.method}, seed {job.seed}: {result}"
        self._print(head if self._bar is not None else f"{head}{self._time_left()}")

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()

    def _time_left(self) -> str:
        """About how long the rest takes, by what runs of each method took so far."""
        known = {method: fmean(values) for method, values in self._seconds.items()}
        if not known or not self._left:
            return ""
        usual = fmean(known.values())
        rest = sum(known.get(job.method, usual) for job in self._left)
        return f"; about {format_duration(rest / self._workers)} left"

    def _print(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            tqdm.write(text, file=sys.stderr)
            sys.stderr.flush()
