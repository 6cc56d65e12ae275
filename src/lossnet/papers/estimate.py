"""How long runs would take, by a few real steps of each."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

from lossnet.papers.runs import Fit, Runner
from lossnet.tasks.parts import Parts

#: Batches that are timed, and the most rows that prediction is timed on.
BATCHES, ROWS = 3, 200


def seconds_of(model: Any, parts: Parts[Any]) -> float:
    """Seconds of a fit that early stopping does not shorten: a few batches and a prediction."""
    rows = min(len(parts.train), BATCHES * int(model.batch_size))
    short = {"max_epochs": 1, "patience": 1, "validation_fraction": 0.0, "verbose": 0}
    timed = type(model)(**{**model.get_params(deep=False), **short})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        timed.fit(parts.train.subset(range(rows)))
    epoch = sum(row["seconds"] for row in timed.history_) * len(parts.train) / rows
    if parts.validation is not None:
        few = parts.validation.subset(range(min(len(parts.validation), ROWS)))
        began = time.perf_counter()
        timed.predict(few)
        each = (time.perf_counter() - began) / len(few)
        phases = len({row["phase"] for row in timed.history_})
        epoch += each * len(parts.validation) * phases
    return epoch * int(model.max_epochs)


def estimate(runner: Runner, fits: Sequence[Fit]) -> dict[str, float]:
    """Seconds of the runs by data and row, all seeds together; seeds take the same time."""
    known: dict[tuple[str, str, Any], float] = {}
    total: dict[str, float] = {}
    for fit in fits:
        key = fit.column.data, fit.row.label, fit.kind
        if key not in known:
            known[key] = seconds_of(fit.model, runner.load(fit.column.data))
        name = f"{fit.column.data}, {fit.row.label}"
        total[name] = total.get(name, 0.0) + known[key]
    return total
