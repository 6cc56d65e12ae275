"""What the numbers say, in a sentence made from them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from lossnet.demo.plan import BASELINE
from lossnet.reports import Run


def verdict(runs: Sequence[Run]) -> str:
    """Whether the learned losses of one task beat the baseline on exact match, seed by seed.

    A method is called better where it wins on every seed, worse where it loses on every seed;
    anything else is no clear difference.
    """
    base = {run.seed: run for run in runs if run.method == BASELINE}
    learned = [m for m in dict.fromkeys(run.method for run in runs) if m != BASELINE]
    sentences, better = [], 0
    for method in learned:
        pairs = [(run, base[run.seed]) for run in runs if run.method == method]
        gains = _differences(pairs, "subset-accuracy")
        better += all(gain > 0 for gain in gains)
        sentences.append(f"{method} {_says(gains)}{_contradictions(pairs)}.")
    count = len(base)
    seeds = "this seed" if count == 1 else f"each of {count} seeds"
    head = (
        f"{_number(better)} of {len(learned)} learned losses beat {BASELINE} on exact match in "
        f"{seeds}"
        if better
        else f"no learned loss beat {BASELINE} on exact match in {seeds}"
    )
    return "\n".join([f"{head[0].upper()}{head[1:]}.", *sentences])


def _differences(pairs: Sequence[tuple[Run, Run]], metric: str) -> list[float]:
    """The metric's differences, in points."""
    return [
        100 * ((ours.metrics[metric] or 0.0) - (theirs.metrics[metric] or 0.0))
        for ours, theirs in pairs
    ]


def _says(gains: list[float]) -> str:
    mean = statistics.fmean(gains)
    won = sum(gain > 0 for gain in gains)
    lost = sum(gain < 0 for gain in gains)
    size = f"{abs(mean):.1f} points {'above' if mean >= 0 else 'below'} it"
    if won == len(gains):
        return f"helped: exact match {size}"
    if lost == len(gains):
        return f"did harm: exact match {size}"
    return f"made no clear difference: {size}, better in {won} of {len(gains)} seeds"


def _contradictions(pairs: Sequence[tuple[Run, Run]]) -> str:
    if any("contradictions" not in run.metrics for pair in pairs for run in pair):
        return ""
    mean = statistics.fmean(_differences(pairs, "contradictions"))
    return f", label sets that contradict themselves {abs(mean):.1f} points " + (
        "fewer" if mean <= 0 else "more"
    )


def _number(count: int) -> str:
    return {1: "one", 2: "two", 3: "three"}.get(count, str(count))
