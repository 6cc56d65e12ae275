"""Runs in processes of their own: one thread each, results only through the store."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from lossnet.comparison.jobs import Job, Place
from lossnet.errors import LossnetError, SettingError
from lossnet.tasks.task import Task


class Ended(NamedTuple):
    """A run that a worker has ended.

    Args:
        job: the run.
        error: what went wrong; empty where nothing did.
        notes: warnings for the user.
    """

    job: Job
    error: str
    notes: list[str]


@dataclass(frozen=True)
class Doing:
    """What every run of a comparison needs to be done."""

    task: Task
    place: Place
    command: str

    def attempt(self, job: Job, *, limit: float | None, seconds: float) -> str:
        """Do a run; what went wrong, empty where nothing did."""
        from lossnet.comparison.measuring import do_run

        how: dict[str, Any] = {"limit": limit, "seconds": seconds, "command": self.command}
        try:
            do_run(self.task, job, self.place, **how)
        except Exception as error:
            if os.environ.get("LOSSNET_DEBUG") == "1":
                raise
            kind = "" if isinstance(error, LossnetError) else f"{type(error).__name__}: "
            return f"{kind}{' '.join(str(error).split())}"[:1000]
        return ""


class InProcess:
    """Runs done in this process, with the interface of :class:`Pool`."""

    def __init__(self, doing: Doing) -> None:
        self._doing = doing
        self._next: tuple[Job, float | None, float] | None = None

    @property
    def free(self) -> bool:
        """Whether a run can be given."""
        return self._next is None

    @property
    def busy(self) -> int:
        """How many runs are given and not ended."""
        return int(self._next is not None)

    def give(self, job: Job, *, limit: float | None, seconds: float) -> None:
        """Take a run, to be done by :meth:`ended`."""
        self._next = job, limit, seconds

    def ended(self) -> list[Ended]:
        """Do the run that was given."""
        assert self._next is not None
        (job, limit, seconds), self._next = self._next, None
        return [Ended(job, self._doing.attempt(job, limit=limit, seconds=seconds), [])]

    def close(self) -> None:
        """Nothing is left to end."""


class Pool:
    """Worker processes, started as they are needed; one that dies fails its run alone.

    Args:
        doing: what runs need.
        size: number of processes.
    """

    def __init__(self, doing: Doing, size: int) -> None:
        self._doing, self._size = doing, size
        self._workers: dict[Connection, tuple[Any, Job | None]] = {}

    @property
    def free(self) -> bool:
        """Whether a run can be given to a worker."""
        return self.busy < self._size

    @property
    def busy(self) -> int:
        """How many runs are being done."""
        return sum(job is not None for _, job in self._workers.values())

    def give(self, job: Job, *, limit: float | None, seconds: float) -> None:
        """Have a free worker do a run."""
        idle = [pipe for pipe, (_, doing) in self._workers.items() if doing is None]
        pipe = idle[0] if idle else self._start()
        try:
            pipe.send((job, limit, seconds))
        except (TypeError, AttributeError, ImportError) as error:  # it cannot be pickled
            what = f"{job.method} cannot be sent to another process ({error})"
            raise SettingError(f"{what}; define its functions in a module, or use jobs=1") from None
        self._workers[pipe] = (self._workers[pipe][0], job)

    def ended(self) -> list[Ended]:
        """Wait for runs to end."""
        found = []
        for ready in wait([pipe for pipe, (_, job) in self._workers.items() if job is not None]):
            assert isinstance(ready, Connection)
            process, job = self._workers[ready]
            assert job is not None
            try:
                error, notes = ready.recv()
            except (EOFError, OSError):
                process.join()
                del self._workers[ready]
                why = f"its process ended with code {process.exitcode}"
                found.append(Ended(job, f"{why}; it may have run out of memory", []))
            else:
                self._workers[ready] = (process, None)
                found.append(Ended(job, error, notes))
        return found

    def close(self) -> None:
        """End all workers at once."""
        for pipe, (process, _) in self._workers.items():
            pipe.close()
            process.terminate()
            process.join()
        self._workers.clear()

    def _start(self) -> Connection:
        context = mp.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._doing), daemon=True)
        with _one_thread():
            process.start()
        theirs.close()
        self._workers[ours] = (process, None)
        return ours


@contextmanager
def _one_thread() -> Iterator[None]:
    """Have processes that are started now use one thread."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


def _work(pipe: Connection, doing: Doing) -> None:
    """Do runs until the pipe is closed."""
    # Ctrl-C reaches every process of a terminal; the parent ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            job, limit, seconds = pipe.recv()
        except (EOFError, OSError):
            return
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            error = doing.attempt(job, limit=limit, seconds=seconds)
        notes = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
        pipe.send((error, list(dict.fromkeys(notes))))


def _end_with_parent() -> None:
    """End this process as soon as the parent has ended, however that was."""
    parent = mp.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
