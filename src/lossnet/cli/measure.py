"""Runs measured and recorded, for any task."""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossnet.cli.settings import Settings
    from lossnet.reports import Run
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.task import Measured, Task


def measure_parts(task: Task, model: Any, parts: Parts[Any]) -> dict[str, Measured]:
    """The metrics on the validation and the test part, where there are any."""
    return {part: task.measure(model, data) for part, data in parts.items() if part != "train"}


def seconds(model: Any) -> float:
    """Seconds of training, over all sessions."""
    return float(sum(row["seconds"] for row in model.history_))


def save_trained(
    settings: Settings, model: Any, parts: Parts[Any], out: Path, args: argparse.Namespace
) -> dict[str, Measured]:
    """Write the model, what it must know of its data, and its metrics; return the latter."""
    from lossnet.cli.folder import save_data
    from lossnet.files import write_json
    from lossnet.tasks.model_folder import METRICS

    model.save(out)
    save_data(out, settings.task, parts, args)
    report = measure_parts(settings.task, model, parts)
    about: dict[str, Any] = {"data": parts.name, "method": settings.method, "seed": settings.seed}
    about |= {"epochs": len(model.history_), "seconds": round(seconds(model), 3)}
    write_json(out / METRICS, {**about, **settings.task.model_facts(model), **report})
    return report


def identity(
    method: str, seed: int, model: Any, parts: Parts[Any], *, checksum: str | None = None
) -> dict[str, Any]:
    """What a results store knows a run by: every setting and all data that could change it.

    A run is measured on the test part, or on the validation part where there is no test part.

    Args:
        method: what the run is called.
        seed: of the run.
        model: its estimator, fitted or not.
        parts: the data.
        checksum: what :func:`checksum_of` gave of the data, where that is known.
    """
    free = ("device", "random_state", "verbose")
    params = {**model._effective_params(), "method_params": model.resolved_method_params()}
    own = {key: value for key, value in params.items() if key not in free}
    for added in ("preset", "class_weight"):
        if own.get(added) is None:
            own.pop(added, None)  # so that runs from before there were such settings are found
    configuration = {**json.loads(json.dumps(own, default=str)), "measured_on": measured_on(parts)}
    return {
        "data": parts.name,
        "data_checksum": checksum or checksum_of(parts),
        "method": method,
        "seed": seed,
        "configuration": configuration,
    }


def measured_on(parts: Parts[Any]) -> str:
    """The part that runs are measured on."""
    return "validation" if parts.test is None else "test"


def checksum_of(parts: Parts[Any]) -> str:
    """A checksum of all parts."""
    checksums = " ".join(f"{name}:{data.checksum()}" for name, data in parts.items())
    return hashlib.sha256(checksums.encode()).hexdigest()


def record_run(
    store: Path,
    run: dict[str, Any],
    metrics: Any,
    *,
    seconds: float,
    command: str,
    tags: list[str],
) -> Run:
    """Write a run, known by its identity, to a results store; the run as the store holds it."""
    from lossnet.reports import get, record

    record(store, **run, command=command, metrics=metrics, seconds=seconds, tags=tags)
    found = get(store, **run)
    assert found is not None
    return found
