"""Tables of recorded runs: mean ± deviation over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from lossnet.errors import SettingError, unknown
from lossnet.plain_text import aligned
from lossnet.reports.store import Run, field_of

MISSING = "–"
#: Nats that the loss-net knows beyond the task-net.
NATS = "nats a row"


def summarise(values: Iterable[float | None], *, percent: bool = True, digits: int = 1) -> str:
    """Mean ± sample deviation, sqrt(Σ (v - mean)^2 / (n - 1)); of one value only the value.

    None and NaN are left out; of no value the text is "–".

    >>> summarise([0.453, 0.459, 0.456])
    '45.6 ± 0.3'
    >>> summarise([12.25], percent=False, digits=2)
    '12.25'
    """
    scale = 100.0 if percent else 1.0
    numbers = [scale * v for v in values if v is not None and not math.isnan(v)]
    if not numbers:
        return MISSING
    mean = f"{statistics.fmean(numbers):.{digits}f}"
    return f"{mean} ± {statistics.stdev(numbers):.{digits}f}" if len(numbers) > 1 else mean


def table(
    runs: Sequence[Run],
    metrics: Sequence[str] | Mapping[str, str],
    *,
    rows: str = "method",
    columns: str | None = "data",
    format: Literal["markdown", "text"] = "markdown",
    percent: bool = True,
    digits: int = 1,
    allow_mixed: bool = False,
) -> str:
    """Runs as a table, each cell mean ± deviation over its runs and their number n.

    Rows and columns are in the order of the runs.

    Args:
        runs: from :func:`lossnet.reports.find`.
        metrics: names of recorded metrics, or headings by such names; "seconds" is the time and
            never in percent, nor is "nats a row".
        rows: the field of :class:`Run` that names a row, ``configuration__hidden`` for instance.
        columns: the field that names a column; None for one column per metric.
        format: "markdown", or "text" for columns aligned in a terminal.
        percent: whether metrics are written in percent.
        digits: decimals.
        allow_mixed: a cell whose runs differ in configuration or data checksum is an error,
            for their deviation would not be over seeds; True allows it.
    """
    if format not in ("markdown", "text"):
        raise unknown("table format", str(format), ["markdown", "text"])
    names = [metrics] if isinstance(metrics, str) else metrics
    headings = names if isinstance(names, Mapping) else {name: name for name in names}
    known = {name for run in runs for name in run.metrics} | {"seconds"}
    for name in headings:
        if runs and name not in known:
            raise unknown("metric", name, known)

    cells: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        place = str(field_of(run, rows)), "" if columns is None else str(field_of(run, columns))
        cells.setdefault(place, []).append(run)
    if not allow_mixed:
        for place, members in cells.items():
            _check_alike(place, members)

    down = list(dict.fromkeys(row for row, _ in cells))
    across = [(column, name) for column in dict.fromkeys(c for _, c in cells) for name in headings]
    heads = [
        f"{column} {headings[name]}".strip() if len(headings) > 1 or not column else column
        for column, name in across
    ]
    lines = [[rows, *heads]]
    for row in down:
        found = [(cells.get((row, column), []), name) for column, name in across]
        lines.append([row, *(_cell(*one, percent, digits) for one in found)])
    if format == "markdown":
        return _markdown(lines)
    return aligned(lines, right=range(1, len(heads) + 1))


def _check_alike(place: tuple[str, str], members: list[Run]) -> None:
    kinds = [(run.configuration, run.data_checksum) for run in members]
    if any(kind != kinds[0] for kind in kinds):
        where = f"the cell of {', '.join(filter(None, place))} mixes runs"
        remedy = "filter them, put what differs in rows or columns, or pass allow_mixed=True"
        raise SettingError(f"{where} of different configuration or data: {remedy}")


def _cell(members: list[Run], name: str, percent: bool, digits: int) -> str:
    values = [run.seconds if name == "seconds" else run.metrics.get(name) for run in members]
    values = [value for value in values if value is not None]
    if not values:
        return MISSING
    percent = percent and name not in ("seconds", NATS)
    text = summarise(values, percent=percent, digits=max(digits, 2) if name == NATS else digits)
    return f"{text} (n={len(values)})"


def _markdown(lines: list[list[str]]) -> str:
    head, *body = [[text.replace("|", "\\|") for text in line] for line in lines]
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *body])
