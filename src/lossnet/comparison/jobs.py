"""The runs of a comparison: what each is known by, and where its files are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lossnet.cli.measure import identity, measured_on
from lossnet.comparison.code_version import code_version
from lossnet.comparison.storage import FORM
from lossnet.reports import path_of
from lossnet.tasks.parts import Parts
from lossnet.tasks.task import Task


@dataclass(frozen=True, eq=False)
class Job:
    """A run to do.

    Args:
        method: what it is called: a method, or an outside baseline.
        seed: of all its randomness.
        model: the estimator to fit; of a baseline that is no method, the template of
            :meth:`~lossnet.tasks.task.Task.fit_baseline`.
        outside: whether it is an outside baseline.
        fitted_by_task: whether the task fits it, because it is no method.
    """

    method: str
    seed: int
    model: Any
    outside: bool = False
    fitted_by_task: bool = False

    def equal_time(self, task: Task) -> bool:
        """Whether it is trained as long as the slowest method."""
        return self.fitted_by_task and task.baselines[self.method].equal_time


@dataclass(frozen=True)
class Place:
    """Where a comparison's runs are kept, and what they are known by.

    Args:
        store: the results store.
        parts: the data.
        checksum: of all of it.
        budget: the comparison's budget in seconds; None without one.
    """

    store: Path
    parts: Parts[Any]
    checksum: str
    budget: float | None = None

    def identity(self, job: Job, *, cut: bool = False, seconds: float = 0.0) -> dict[str, Any]:
        """What the store knows a run by.

        Args:
            job: the run.
            cut: whether the budget ended its training.
            seconds: for how long a baseline of equal time is trained.
        """
        known = identity(job.method, job.seed, job.model, self.parts, checksum=self.checksum)
        more: dict[str, Any] = {"code": f"{code_version(type(job.model))} {FORM}"}
        if job.fitted_by_task:
            known["configuration"] = self._of_baseline(job, known["configuration"], seconds)
        if cut:
            more["budget"] = self.budget
        return {**known, "configuration": {**known["configuration"], **more}}

    def _of_baseline(self, job: Job, nets: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The settings of a baseline that the task fits: those of its nets, if it has any."""
        own: dict[str, Any] = {"baseline": job.method, "metric": str(job.model.metric)}
        if seconds:
            own |= {"nets": nets, "seconds": round(seconds, 1)}
        return {**own, "measured_on": measured_on(self.parts)}

    def file(self, known: Mapping[str, Any], suffix: str) -> Path:
        """A file of a run, next to its results."""
        names = {name: known[name] for name in ("data", "method", "seed", "configuration")}
        return path_of(self.store, **names).with_suffix(suffix)
