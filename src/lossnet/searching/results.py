"""What a search found: its trials as rows, the best of them, and what mattered."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lossnet.files import write_text
from lossnet.plain_text import aligned
from lossnet.ranges import Drawn

#: What became of a trial.
STATES = ("complete", "pruned", "failed", "running", "waiting")


@dataclass(frozen=True)
class TrialRow:
    """One trial of a search.

    Args:
        number: from 0; trial 0 has the settings before the search.
        state: ``"complete"``, ``"pruned"``, ``"failed"``, ``"running"`` or ``"waiting"``.
        value: the validation metric; of a pruned trial the best until it ended; else None.
        values: the searched parameters by name.
        epochs: how many epochs it trained, over all phases.
        seconds: how long it took.
        error: why it failed.
    """

    number: int
    state: str
    value: float | None
    values: dict[str, Any]
    epochs: int | None = None
    seconds: float | None = None
    error: str = ""


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Args:
        metric: name of the validation metric.
        space: what was tried of each parameter.
        trials: every trial, in order.
        importances: share of each parameter in what the trials' metric differs by; empty where
            there are too few trials to tell.
        model: the estimator, trained with the best settings; None where it was not asked for.
    """

    metric: str
    space: dict[str, Drawn]
    trials: list[TrialRow]
    importances: dict[str, float] = field(default_factory=dict)
    model: Any = None

    @property
    def best(self) -> TrialRow | None:
        """The complete trial of the highest metric, the first of equal ones; None without any."""
        complete = [row for row in self.trials if row.state == "complete"]
        return max(complete, key=lambda row: (row.value, -row.number), default=None)

    @property
    def start(self) -> TrialRow | None:
        """The trial with the settings before the search, if it is complete."""
        found = [row for row in self.trials if row.number == 0 and row.state == "complete"]
        return found[0] if found else None

    def table(self) -> str:
        """The searched parameters: before the search, the best, and how much each mattered."""
        best = self.best
        if best is None:
            return "no trial is complete"
        lines = [["parameter", "searched", "start", "best", "importance"]]
        order = sorted(self.space, key=lambda name: -self.importances.get(name, 0.0))
        for name in order:
            before = _shown(self.start.values[name]) if self.start else ""
            weight = self.importances.get(name)
            share = "" if weight is None else f"{100 * weight:.0f} %"
            searched = str(self.space[name])
            lines.append([name, searched, before, _shown(best.values[name]), share])
        values = [row.value for row in (self.start, best) if row is not None and row.value]
        shown = [f"{100 * value:.2f}" for value in values]
        lines.append([f"validation {self.metric}", "", *([""] * (2 - len(shown))), *shown, ""])
        return aligned(lines, right=[4])


def write_trials(path: Path, space: Mapping[str, Drawn], trials: Sequence[TrialRow]) -> None:
    """Write the trials as rows of a CSV file, atomically."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["trial", "state", "value", *space, "epochs", "seconds", "error"])
    for row in trials:
        cells = [row.number, row.state, row.value, *(row.values.get(name) for name in space)]
        seconds = None if row.seconds is None else round(row.seconds, 2)
        writer.writerow(["" if c is None else c for c in (*cells, row.epochs, seconds, row.error)])
    write_text(path, text.getvalue())


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
