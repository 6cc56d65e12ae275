"""How long runs would take, by a few real batches of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lossnet.papers.runs import Fit, Runner
from lossnet.tasks.rehearsal import rehearse


def estimate(runner: Runner, fits: Sequence[Fit]) -> dict[str, float]:
    """Seconds of the runs by data and row, all seeds together; seeds take the same time."""
    known: dict[tuple[str, str, Any], float] = {}
    total: dict[str, float] = {}
    for fit in fits:
        key = fit.column.data, fit.row.label, fit.kind
        if key not in known:
            parts = runner.load(fit.column.data)
            found = rehearse(fit.model, parts.train, validation_data=parts.validation)
            known[key] = found.longest
        name = f"{fit.column.data}, {fit.row.label}"
        total[name] = total.get(name, 0.0) + known[key]
    return total
