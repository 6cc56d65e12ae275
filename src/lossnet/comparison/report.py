"""The tables of a comparison: ``report.md``, ``results.csv`` and what a terminal shows."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from lossnet.comparison.answer import answer
from lossnet.comparison.measuring import AT_HALF, NATS_PARTS
from lossnet.comparison.result import Comparison
from lossnet.comparison.standing import Standing
from lossnet.files import write_text
from lossnet.recipes import METHODS, listing, parameters
from lossnet.reports import Run, table
from lossnet.reports.tables import NATS
from lossnet.structure import in_words

REPORT, TABLE = "report.md", "results.csv"
#: Columns of ``results.csv`` before the metrics.
COLUMNS = (
    "method",
    "seed",
    "outside",
    "seconds",
    "epochs",
    "parameters",
    "parameters_in_use",
    "predictions_per_second",
    "cut",
)


def write_reports(comparison: Comparison, folder: Path) -> None:
    """Write ``report.md`` and ``results.csv`` to a comparison's folder."""
    write_text(folder / TABLE, as_csv(comparison))
    write_text(folder / REPORT, as_markdown(comparison))


def as_csv(comparison: Comparison) -> str:
    """A row per run: what it cost, and every metric."""
    names = list(dict.fromkeys(name for run in comparison.runs for name in run.metrics))
    halves = list(dict.fromkeys(name for run in comparison.runs for name in run.metrics_at_half))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *names, *(f"{name}{AT_HALF}" for name in halves)])
    for run in comparison.runs:
        values = [getattr(run, column) for column in COLUMNS]
        values += [run.metrics.get(name) for name in names]
        values += [run.metrics_at_half.get(name) for name in halves]
        writer.writerow(["" if value is None else value for value in values])
    return text.getvalue()


def summary(comparison: Comparison) -> str:
    """What a terminal shows: the table, what it says in words, and what is missing."""
    shown = _table(comparison, _as_stored(comparison), "text")
    lines = [shown, "", *answer(Standing(comparison)), *_structure(comparison)]
    for missing, how in _missing(comparison):
        lines.append(f"{missing.method}, seed {missing.seed} {how}: {missing.why}")
    return "\n".join(lines)


def _missing(comparison: Comparison) -> list[tuple[Any, str]]:
    failed = [(one, "failed") for one in comparison.failures]
    return failed + [(one, "was left out") for one in comparison.left_out]


def _as_stored(comparison: Comparison) -> list[Run]:
    """The runs in the form that tables take."""
    same: dict[str, Any] = {
        name: getattr(comparison, name)
        for name in ("data", "command", "versions", "platform", "threads", "date")
    }
    found = []
    for run in comparison.runs:
        halves = {f"{name}{AT_HALF}": value for name, value in run.metrics_at_half.items()}
        own: dict[str, Any] = {"method": run.method, "seed": run.seed, "seconds": run.seconds}
        own |= {"configuration": run.configuration, "metrics": {**run.metrics, **halves}}
        found.append(Run(**same, **own, data_checksum=comparison.checksum, tags=[]))
    return found


def _table(comparison: Comparison, runs: Sequence[Run], format: Any) -> str:
    if not runs:
        return "No run was finished."
    known = {name for run in runs for name in run.metrics}
    columns = [name for name in comparison.metrics if name in known and name != NATS]
    columns += ["seconds", *([NATS] if NATS in known else [])]
    # Ensembles of equal time have settings that depend on it.
    return table(runs, columns=None, metrics=columns, format=format, allow_mixed=True)


def _structure(comparison: Comparison) -> list[str]:
    """For each method whose loss-net gives probabilities, whether structure pays."""
    lines = []
    for method in comparison.methods:
        found = [run.metrics for run in comparison.of(method)]
        names = [NATS, *(f"{NATS}, {part}" for part in NATS_PARTS)]
        values = [[metrics[name] for metrics in found if name in metrics] for name in names]
        if values[0]:
            lines.append(f"{method}: {in_words(*(fmean(value) for value in values if value))}")
    return lines


def as_markdown(comparison: Comparison) -> str:
    """The table with all that is needed to repeat it."""
    runs = _as_stored(comparison)
    how = ["mean ± sample deviation over n seeds, in percent", comparison.measured_how]
    measured = f"Measured on the {comparison.measured_on} part: {', '.join(filter(None, how))}"
    head = f"# {comparison.data}\n\n{comparison.about}.\n{measured}; seconds of training.\n\n"
    said = " ".join(answer(Standing(comparison)))
    body = [said, _table(comparison, runs, "markdown"), *_structure(comparison)]
    if missing := _missing(comparison):
        lines = [f"- {one.method}, seed {one.seed} {how}: {one.why}" for one, how in missing]
        body.append("\n".join(lines))
    own = [run for run in runs if run.method in comparison.methods]
    if own:
        body.append("\n".join(["Settings:", "", *_settings(own)]))
    if comparison.baselines:
        body.append(f"Outside baselines: {', '.join(comparison.baselines)}.")
    versions = ", ".join(f"{name} {version}" for name, version in comparison.versions.items())
    seeds = ", ".join(map(str, comparison.seeds))
    body.append(f"Seeds {seeds}. {versions}. Data checksum {comparison.checksum[:16]}.")
    return head + "\n\n".join([*body, f"Made by `{comparison.command}`.", ""])


def _settings(runs: Sequence[Run]) -> list[str]:
    """The settings of each method, and those that all share."""
    lines, differing = [], _differing(runs)
    for method, configuration in {run.method: run.configuration for run in runs}.items():
        recipe, texts = configuration["method"], []  # what "auto" stands for
        if recipe in METHODS:  # not a method of the user's own
            found = parameters(recipe, configuration["method_params"])
            texts = [f"{key}={value}" for key, value, _ in listing(recipe, found)]
        texts += [f"{key}={configuration.get(key)}" for key in differing]
        lines.append(f"- {method}: {', '.join(texts)}")
    own = {"method", "method_params", "code", "budget", *differing}
    shared = [f"{k}={v}" for k, v in runs[0].configuration.items() if k not in own]
    return [*lines, f"- all: {', '.join(shared)}"]


def _differing(runs: Sequence[Run]) -> list[str]:
    """Parameters of the estimator that a preset sets differently for the methods."""
    configurations = [run.configuration for run in runs]
    keys = [k for k in configurations[0] if k not in ("method", "method_params", "code", "budget")]
    return [
        key for key in keys if any(c.get(key) != configurations[0][key] for c in configurations)
    ]
