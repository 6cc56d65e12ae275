"""Runs measured and recorded, for any task."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossnet.cli.settings import Settings
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.task import Measured, Task


def measure_parts(task: Task, model: Any, parts: Parts[Any]) -> dict[str, Measured]:
    """The metrics on the validation and the test part, where there are any."""
    return {part: task.measure(model, data) for part, data in parts.items() if part != "train"}


def seconds(model: Any) -> float:
    """Seconds of training, over all sessions."""
    return float(sum(row["seconds"] for row in model.history_))


def identity(settings: Settings, model: Any, parts: Parts[Any]) -> dict[str, Any]:
    """What a results store knows a run by: every setting and all data that could change it.

    A run is measured on the test part, or on the validation part where there is no test part.
    """
    free = ("device", "random_state", "verbose")
    params = {**model.get_params(deep=False), "method_params": model.resolved_method_params()}
    own = {key: value for key, value in params.items() if key not in free}
    part = "validation" if parts.test is None else "test"
    checksums = " ".join(f"{name}:{data.checksum()}" for name, data in parts.items())
    return {
        "data": parts.name,
        "data_checksum": hashlib.sha256(checksums.encode()).hexdigest(),
        "method": settings.method,
        "seed": settings.seed,
        "configuration": {**json.loads(json.dumps(own, default=str)), "measured_on": part},
    }


def record_run(
    store: str | Path,
    settings: Settings,
    model: Any,
    parts: Parts[Any],
    report: dict[str, Measured],
    *,
    command: str,
    tag: str,
) -> None:
    """Write a run that was measured to a results store."""
    from lossnet.reports import record

    run = identity(settings, model, parts)
    metrics = settings.task.flat(report[run["configuration"]["measured_on"]])
    time = seconds(model)
    record(store, **run, command=command, metrics=metrics, seconds=time, tags=(tag,))
