"""The page of trained models, for ``evaluate --report``: that of a comparison with one run each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lossnet.checks import describe
from lossnet.cli.measure import seconds
from lossnet.comparison.measuring import examples_shown, measure_model, metrics_shown
from lossnet.comparison.page import comparison_page
from lossnet.comparison.rendering import write_html
from lossnet.comparison.result import Comparison
from lossnet.plain_text import counted
from lossnet.reports.environment import environment
from lossnet.tasks.parts import Parts
from lossnet.tasks.task import Judged, Task

#: The seed that all models count as: they are compared by example alone.
SEED = 0


def write_model_page(
    task: Task,
    judged: Mapping[str, Judged],
    path: str | Path,
    *,
    split: str,
    command: str = "",
    notes: Sequence[str] = (),
) -> Path:
    """Write the page of one model, or of several on the same rows, and return its path.

    Args:
        task: the models' task.
        judged: the models with their data, by name; the others are compared with the first.
        path: the file.
        split: the part of the data that they are measured on, or "all".
        command: how to repeat it; may be empty.
        notes: what a user should know of the data.
    """
    runs = []
    for name, (model, data) in judged.items():
        settings = {key: describe(value) for key, value in model.resolved_params().items()}
        about: dict[str, Any] = {"method": name, "seed": SEED, "configuration": settings}
        about["seconds"] = seconds(model)
        runs.append(measure_model(task, model, Parts(data, None, data), **about))
    first = next(iter(judged))
    model, data = judged[first]
    shown, main = metrics_shown(task, Parts(data, None, data), runs, model.metric)
    count = len(data)
    comparison = Comparison(
        data=data.name,
        task=task.name,
        unit=task.unit,
        sizes={split: count},
        about=f"{count:,} {task.unit}" + ("" if split == "all" else f" of the {split} part"),
        notes=list(notes),
        measured_on=split,
        metrics=shown,
        main=main,
        methods=list(judged),
        baselines=[],
        reference=first,
        seeds=[SEED],
        runs=runs,
        failures=[],
        left_out=[],
        examples=examples_shown(task, data, runs),
        command=command,
        checksum=data.checksum(),
        budget=None,
        measured_how=task.measured_how,
        **environment(),
    )
    names = first if len(judged) == 1 else counted(len(judged), "model")
    return write_html(comparison_page(comparison, title=f"{names} on {data.name}"), path)
