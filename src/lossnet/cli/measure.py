"""Runs measured and recorded, of whatever task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossnet.cli.settings import Settings
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.task import Measured, Task


def measure_parts(task: Task, model: Any, splits: Parts) -> dict[str, Measured]:
    """The metrics on the validation and the test part, where there are any."""
    return {part: task.measure(model, data) for part, data in splits.items() if part != "train"}


def seconds(model: Any) -> float:
    """Seconds of training, over all sittings."""
    return float(sum(row["seconds"] for row in model.history_))


def record_run(
    folder: str | Path,
    model: Any,
    splits: Parts,
    settings: Settings,
    report: dict[str, Measured],
    *,
    command: str,
    tags: tuple[str, ...],
) -> None:
    """Write the run to a results store: test metrics, or validation metrics without a test part."""
    from lossnet.reports import record

    part = "test" if "test" in report else "validation"
    record(
        folder,
        command=command,
        data=splits.name,
        data_checksum=data_checksum(splits),
        method=settings.method,
        seed=settings.seed,
        configuration=configuration(model, part),
        metrics=settings.task.flat(report[part]),
        seconds=seconds(model),
        tags=tags,
    )


def configuration(model: Any, part: str) -> dict[str, Any]:
    """Every setting that could change a result, defaults too, and the part it is measured on."""
    from lossnet.cli.settings import plain_params

    free = ("device", "random_state", "verbose")
    own = {key: value for key, value in plain_params(model).items() if key not in free}
    if isinstance(model.method, str):
        own["method_params"] = model.resolved_method_params()
    return {**own, "measured_on": part}


def data_checksum(splits: Parts) -> str:
    """One checksum of all parts."""
    import hashlib

    text = " ".join(f"{part}:{data.checksum()}" for part, data in splits.items())
    return hashlib.sha256(text.encode()).hexdigest()
