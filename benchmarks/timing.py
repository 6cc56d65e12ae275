"""Timing of jobs in turn."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence


def measure(
    jobs: dict[str, Callable[[], None]],
    repeats: int,
    *,
    pick: Callable[[Sequence[float]], float] = statistics.median,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Seconds of each job, their runs interleaved: the median, or what ``pick`` takes.

    Interleaved, so that what else the machine does falls on all of them. On a busy machine
    ``pick=min`` comes closest to what a job costs by itself, and ``clock=time.process_time``
    counts only what this process does.
    """
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for job in jobs.values():
        job()
    for _ in range(repeats):
        for name, job in jobs.items():
            began = clock()
            job()
            seconds[name].append(clock() - began)
    return {name: pick(values) for name, values in seconds.items()}
