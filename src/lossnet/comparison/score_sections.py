"""The sections of scores: results, differences to the reference, cost, and scores by group."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean, stdev

from lossnet.comparison.answer import interval
from lossnet.comparison.blocks import Block, Cell, Charts, Folded, Forest, Interval, Table, Text
from lossnet.comparison.pictures import Axis, Series, chart, round_numbers
from lossnet.comparison.result import MeasuredRun
from lossnet.comparison.significance import Difference
from lossnet.comparison.standing import Standing, method_differences
from lossnet.plain_text import counted
from lossnet.reports.tables import MISSING

#: The most labels, types or classes that are listed.
GROUPS = 100


def results(standing: Standing) -> list[Block]:
    """Every metric of every method."""
    comparison = standing.comparison
    metrics = [m for m in comparison.metrics if any(standing.values(n, m) for n in standing.names)]
    means = {(n, m): standing.mean(n, m) for n in standing.names for m in metrics}
    highest = {m: max(_known(means[n, m] for n in standing.names), default=None) for m in metrics}
    rows = []
    for name in standing.ranked:
        cells = [Cell(name, tags=standing.tags(name), style=standing.style(name))]
        for metric in metrics:
            mean = means[name, metric]
            best = len(standing.names) > 1 and mean is not None and mean == highest[metric]
            cells.append(Cell(standing.text(name, metric), mean, best=best))
        count = len(comparison.of(name))
        rows.append([*cells, Cell(f"{count}", count)])
    how = f", {comparison.measured_how}" if comparison.measured_how else ""
    over = "mean ± deviation over seeds, in percent" if len(comparison.seeds) > 1 else "in percent"
    size = comparison.sizes.get(comparison.measured_on)
    of = f" ({size:,} {comparison.unit})" if size else ""
    caption = f"On {standing.where}{of}: {over}{how}."
    if not rows:
        return []
    return [Table(["method", *metrics, "seeds"], rows, caption, sorted_by=comparison.main)]


def _known(values: object) -> list[float]:
    return [value for value in values if value is not None]  # type: ignore[attr-defined]


def differences(standing: Standing) -> list[Block]:
    """A forest plot for each metric that is known by example, the main one first."""
    comparison = standing.comparison
    reference = comparison.of(comparison.reference)
    if not reference or len(standing.names) < 2:
        return []
    own = [m for m in reference[0].details.scores if m != comparison.main]
    found = forest(standing.differences, standing, comparison.main)
    others = [forest(method_differences(comparison, metric), standing, metric) for metric in own]
    known = [one for one in others if one is not None]
    blocks: list[Block] = [] if found is None else [found]
    blocks += [Folded("Other metrics", known)] if known else []
    return [*blocks, Text(_explained(standing))] if blocks else []


def _explained(standing: Standing) -> str:
    found = next(iter(standing.differences.values()), None)
    level = 0.95 if found is None else found.level
    methods = counted(len(standing.differences), "method")
    return (
        f"Runs are paired by seed and by example. An interval covers the true difference with at "
        f"least {100 * level:.0f} % confidence and is widened for the number of methods (Holm, "
        f"{methods}), so that it excludes 0 exactly where the difference is called real. It covers "
        f"other seeds and other examples, not other training data."
    )


def forest(found: dict[str, Difference], standing: Standing, metric: str) -> Forest | None:
    """The differences of one metric, in points."""
    known = {name: one for name, one in found.items() if not math.isnan(one.mean)}
    if not known:
        return None
    numbers = [one for d in known.values() for one in (d.mean, d.low, d.high)]
    finite = [0.0, *(100 * number for number in numbers if math.isfinite(number))]
    low, high = min(finite), max(finite)
    room = 0.04 * (high - low) or 1.0
    low, high = low - room, high + room

    def at(value: float) -> float:
        return round(100 * (value - low) / (high - low), 2)

    rows = [
        _row(found[name], standing, lambda value: at(100 * value))
        for name in sorted(found, key=lambda n: -_low(found[n].mean))
    ]
    ticks = [(at(v), f"{v:+g}".replace("-", "−") if v else "0") for v in round_numbers(low, high)]
    caption = f"{metric}: difference to {standing.reference} in percentage points, with interval."
    return Forest(rows, at(0.0), ticks, caption)


def _row(found: Difference, standing: Standing, at: Callable[[float], float]) -> Interval:
    tags = standing.tags(found.method)
    if math.isnan(found.mean):
        return Interval(found.method, "no common seed", "unknown", "open", None, None, None, tags)
    text = f"{100 * found.mean:+.1f}".replace("-", "−")
    if not found.over:
        return Interval(found.method, text, "unknown", "open", at(found.mean), None, None, tags)
    text = f"{text} ({interval(found)})"
    verdict, style = "may be chance", "open"
    if found.real:
        verdict, style = ("better", "better") if found.mean > 0 else ("worse", "worse")
    if "and" not in found.over:
        verdict += f" (over {found.over} only)"
    places = at(found.mean), at(found.low), at(found.high)
    return Interval(found.method, text, verdict, style, *places, tags)


def _low(value: float) -> float:
    return -math.inf if math.isnan(value) else value


#: Headings of the cost table, what they take of a run, and their decimals.
COSTS: dict[str, tuple[Callable[[MeasuredRun], float | None], int]] = {
    "seconds of training": (lambda run: run.seconds, 1),
    "epochs": (lambda run: run.epochs, 0),
    "parameters in training": (lambda run: run.parameters, 0),
    "parameters in use": (lambda run: run.parameters_in_use, 0),
    "predictions a second": (lambda run: run.predictions_per_second, 0),
}


def cost(standing: Standing) -> list[Block]:
    """What each method costs, and a chart of score against time."""
    rows = []
    for name in standing.ranked:
        runs = standing.comparison.of(name)
        cut = sum(run.cut for run in runs)
        tags = (*standing.tags(name), *([f"{cut} cut short by the budget"] if cut else []))
        cells = [Cell(name, tags=tags, style=standing.style(name))]
        for of, digits in COSTS.values():
            values = [value for run in runs if (value := of(run)) is not None]
            cells.append(_cost_cell([v for v in values if math.isfinite(v)], digits))
        rows.append(cells)
    if not rows:
        return []
    threads = counted(standing.comparison.threads, "thread")
    over = "Mean ± deviation over seeds; a" if len(standing.comparison.seeds) > 1 else "A"
    caption = f"{over} run has {threads}."
    table = Table(["method", *COSTS], rows, caption)
    return [table, *_equal_time(standing), *_score_by_time(standing)]


def _equal_time(standing: Standing) -> list[Block]:
    """How many nets an ensemble of equal time had, which depends on the machine."""
    texts = []
    for name in standing.names:
        chosen = [run.configuration.get("chosen", {}) for run in standing.comparison.of(name)]
        nets = sorted({one["nets"] for one in chosen if "nets" in one})
        if nets:
            many = counted(nets[0], "net") if len(nets) == 1 else f"{nets[0]} to {nets[-1]} nets"
            texts.append(
                f"{name} has {many}, as many as could be trained in the time of the slowest "
                "compared method. On another or a busier machine it has more or fewer, and other "
                "results."
            )
    return [Text(text) for text in texts]


def _cost_cell(values: list[float], digits: int) -> Cell:
    if not values:
        return Cell(MISSING)
    mean = fmean(values)
    text = f"{mean:,.{digits}f}"
    if max(values) == min(values):
        return Cell(text, mean)
    return Cell(f"{text} ± {stdev(values):,.{digits}f}", mean)


def _score_by_time(standing: Standing) -> list[Block]:
    if len(standing.names) < 2:
        return []
    main = standing.comparison.main
    series = []
    for name in standing.names:
        seconds, mean = standing.average(name, lambda run: run.seconds), standing.mean(name, main)
        if seconds and mean is not None:
            point = [[seconds, 100 * mean]]
            series.append(Series(name, point, standing.style(name), line=False, dots=True))
    x, y = Axis("seconds of training", log=True), Axis(f"{main}, %")
    drawn = chart(f"{main} by training time", series, x, y, legend=True)
    return [Charts([drawn])] if drawn else []


def groups(standing: Standing) -> list[Block]:
    """The score of every label, type or class."""
    comparison = standing.comparison
    noun = next((run.details.group_noun for run in comparison.runs if run.details.groups), "")
    found: dict[str, dict[str, list[float]]] = {}
    counts: dict[str, float] = {}
    scored = ""
    for run in comparison.runs:
        for group, values in run.details.groups.items():
            scored = scored or next((key for key in ("f1", "iou") if key in values), "")
            counts.setdefault(group, values.get("count") or 0.0)
            value = values.get(scored)
            if value is not None and math.isfinite(value):
                found.setdefault(group, {}).setdefault(run.method, []).append(value)
    if not found:
        return []
    names = [name for name in standing.ranked if any(name in own for own in found.values())]
    counted_too = any(counts.values())
    order = sorted(found, key=lambda group: -counts[group])[:GROUPS] if counted_too else [*found]
    rows = []
    for group in order[:GROUPS]:
        means = {name: fmean(values) for name, values in found[group].items()}
        highest = max(means.values())
        cells = [
            Cell(f"{100 * means[n]:.1f}", means[n], best=means[n] == highest and len(names) > 1)
            if n in means
            else Cell(MISSING)
            for n in names
        ]
        count = [Cell(f"{counts[group]:,.0f}", counts[group])] if counted_too else []
        rows.append([Cell(group), *count, *cells])
    score = {"f1": "F1", "iou": "IoU"}[scored]
    of = f"the {GROUPS} most frequent of {len(found):,}" if len(found) > len(order) else "all"
    caption = f"{score} of each {noun or 'group'} in percent, mean over seeds ({of})."
    heads = [noun or "group", *(["count"] if counted_too else []), *names]
    return [Table(heads, rows, caption, sorted_by="count" if counted_too else "")]
