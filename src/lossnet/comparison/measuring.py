"""One run: trained, measured and recorded."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lossnet.cli.measure import measured_on
from lossnet.comparison.energy_figures import energy_figures
from lossnet.comparison.jobs import Job, Place
from lossnet.comparison.result import MeasuredRun
from lossnet.comparison.storage import read_run, write_run
from lossnet.errors import DataError
from lossnet.reports import Run, get, record
from lossnet.reports.tables import NATS
from lossnet.tasks.details import Examples
from lossnet.tasks.parts import Parts
from lossnet.tasks.resuming import fit_or_continue
from lossnet.tasks.storage import nets_in_use
from lossnet.tasks.structure import gain_or_none
from lossnet.tasks.task import Task
from lossnet.training import Stopwatch, TimeLimit

#: What a run holds of a :class:`~lossnet.structure.StructureGain` besides its nats.
NATS_PARTS = ("low", "high", "dependence")
#: What the names of metrics at a threshold of 0.5 end in.
AT_HALF = "@0.5"
_CHECKPOINT = ".checkpoint"


@dataclass(frozen=True)
class Stored:
    """A finished run: as the results store holds it, and with all that was measured."""

    run: Run
    measured: MeasuredRun
    file: Path


def stored(job: Job, place: Place, *, seconds: float = 0.0) -> Stored | None:
    """The run from the store; None where it is still to do, or its files are damaged.

    Args:
        job: the run.
        place: where it is kept.
        seconds: for how long a baseline of equal time is trained.
    """
    # A run that ended by itself serves with any budget; one that was cut only with the same.
    for cut in (False, True)[: 1 if place.budget is None else 2]:
        known = place.identity(job, cut=cut, seconds=seconds)
        file = place.file(known, ".npz")
        if file.exists() and (found := get(place.store, **known)) is not None:
            try:
                return Stored(found, read_run(file), file)
            except DataError:
                continue  # it is done again
    return None


def do_run(
    task: Task, job: Job, place: Place, *, limit: float | None, seconds: float, command: str
) -> None:
    """Train, measure and record a run; one that was killed continues from its checkpoint.

    Args:
        task: whose run it is.
        job: the run.
        place: where it is kept.
        limit: seconds of training after which it is ended; None lets it end by itself.
        seconds: for how long a baseline of equal time is trained.
        command: how to repeat the comparison.
    """
    known = place.identity(job, seconds=seconds)
    checkpoint = place.file(known, _CHECKPOINT)
    try:
        model, took, cut = _fit(task, job, place, checkpoint, limit, seconds)
    except Exception:
        checkpoint.unlink(missing_ok=True)  # it would fail again
        raise
    if cut:
        known = place.identity(job, cut=True, seconds=seconds)
    found = measure_model(
        task,
        model,
        place.parts,
        method=job.method,
        seed=job.seed,
        seconds=took,
        configuration=known["configuration"] | _chosen(model),
        outside=job.outside,
        cut=cut,
    )
    # The store's file comes last: with it the run is finished.
    write_run(place.file(known, ".npz"), found)
    at_half = {f"{name}{AT_HALF}": value for name, value in found.metrics_at_half.items()}
    metrics = {**found.metrics, **at_half}
    tags = ["compare", *place.parts.marks]
    record(place.store, **known, command=command, metrics=metrics, seconds=found.seconds, tags=tags)
    checkpoint.unlink(missing_ok=True)


def _fit(
    task: Task, job: Job, place: Place, checkpoint: Path, limit: float | None, seconds: float
) -> tuple[Any, float, bool]:
    """The fitted model, how long that took, and whether the time limit ended its training."""
    from sklearn.base import clone

    parts, model = place.parts, clone(job.model)  # a fitted one would stay in memory
    if job.fitted_by_task:
        allowed = seconds if limit is None else min(seconds, limit)
        how: dict[str, Any] = {"seed": job.seed, "seconds": allowed, "template": model}
        fitted = task.fit_baseline(job.method, parts, **how)
        return fitted, fitted.seconds_, allowed < seconds
    task.check_parts(model, parts)
    timer = Stopwatch() if limit is None else TimeLimit(limit)
    fit_or_continue(model, parts, checkpoint, [timer])
    return model, timer.total, isinstance(timer, TimeLimit) and timer.cut


def measure_model(
    task: Task,
    model: Any,
    parts: Parts[Any],
    *,
    method: str,
    seed: int,
    seconds: float,
    configuration: Mapping[str, Any],
    outside: bool = False,
    cut: bool = False,
) -> MeasuredRun:
    """All that a comparison keeps of a fitted model; see :class:`MeasuredRun` for the arguments.

    ``parts`` are measured on as :func:`~lossnet.cli.measure.measured_on` says.
    """
    data = getattr(parts, measured_on(parts))
    measured = task.measure(model, data)
    flat = task.flat(measured) | _nats(model, data)
    halves = {name: value for name, value in flat.items() if name.endswith(AT_HALF)}
    nets: Mapping[str, Any] = getattr(model, "nets_", {})
    history = getattr(model, "history_", [])
    began = time.perf_counter()
    model.predict(data.without_labels())
    took = time.perf_counter() - began
    fitted = hasattr(model, "seconds_")  # by the task: an outside baseline
    return MeasuredRun(
        method=method,
        seed=seed,
        outside=outside,
        metrics={name: value for name, value in flat.items() if name not in halves},
        metrics_at_half={name.removesuffix(AT_HALF): v for name, v in halves.items()},
        details=task.details(model, data, measured),
        seconds=seconds,
        epochs=len(history) or None,
        parameters=model.parameters_ if fitted else _count(nets.values()),
        parameters_in_use=model.parameters_ if fitted else _count(_used(model)),
        predictions_per_second=len(data) / max(took, 1e-9),
        history=list(history),
        history_metric="" if fitted else model._metric_name(),
        cut=cut,
        energy=None if fitted else energy_figures(model, parts, data),
        configuration=configuration,
    )


def metrics_shown(
    task: Task, parts: Parts[Any], runs: Sequence[MeasuredRun], metric: Any
) -> tuple[list[str], str]:
    """The metrics that a comparison shows, in order, and the main one.

    Args:
        task: whose metrics they are.
        parts: the data.
        runs: what was measured.
        metric: what the estimators optimise.
    """
    shown = [name for name in task.compared(parts) if name != "seconds"]
    shown += [NATS] if any(NATS in run.metrics for run in runs) else []
    main = task.judged_by(parts, metric)
    return shown if main in shown else [main, *shown], main


def examples_shown(task: Task, data: Any, runs: Sequence[MeasuredRun]) -> Examples | None:
    """The measured examples; masks know their classes by number, and models by name."""
    found = task.examples(data)
    if found is None or found.kind != "mask" or not runs:
        return found
    return replace(found, names=list(runs[0].details.groups))


def _nats(model: Any, data: Any) -> dict[str, float]:
    """What the loss-net knows beyond the task-net, where its energies are probabilities."""
    gain = gain_or_none(model, data)
    if gain is None:
        return {}
    known = NATS_PARTS if gain.dependence is not None else NATS_PARTS[:-1]
    return {NATS: gain.nats, **{f"{NATS}, {name}": getattr(gain, name) for name in known}}


def _chosen(model: Any) -> dict[str, Any]:
    """What a baseline that the task fits has chosen itself, such as its number of nets."""
    found = getattr(model, "settings_", None)
    return {"chosen": dict(found)} if found else {}


def _used(model: Any) -> list[Any]:
    return [model.nets_[name] for name in nets_in_use(model) if name in model.nets_]


def _count(nets: Any) -> int:
    """Trainable numbers of nets, shared ones once."""
    found = {id(p): p.numel() for net in nets for p in net.parameters()}
    return int(sum(found.values()))
