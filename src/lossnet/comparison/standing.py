"""Where the methods of a comparison stand: means, order, colours, differences to the reference."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

import numpy as np

from lossnet.comparison.pictures import colour
from lossnet.comparison.result import Comparison, MeasuredRun
from lossnet.comparison.significance import Difference, Scores, differences, ratio_scores
from lossnet.reports.tables import NATS, summarise


def method_differences(
    comparison: Comparison, metric: str | None = None, *, level: float = 0.95
) -> dict[str, Difference]:
    """The differences of all methods and baselines to the reference, by name.

    A baseline without randomness, fitted once, counts as the same under every seed. Metrics are
    fractions, so intervals end at -1 and 1.

    Args:
        comparison: what was measured.
        metric: one that all runs have ``details.scores`` of; None: the main one.
        level: see :func:`~lossnet.comparison.significance.differences`.
    """
    metric = metric or comparison.main
    scores: dict[str, Scores] = {}
    for name in [*comparison.methods, *comparison.baselines]:
        runs = [run for run in comparison.of(name) if metric in run.details.scores]
        own = {run.seed: example_scores(run.details.scores[metric]) for run in runs}
        if _fitted_once(comparison, name):
            own = dict.fromkeys(comparison.seeds, next(iter(own.values()))) if own else own
        if own:
            scores[name] = own
    if comparison.reference not in scores:
        return {}
    found = differences(scores, comparison.reference, level=level)
    ends = {name: np.clip([one.low, one.high], -1.0, 1.0).tolist() for name, one in found.items()}
    return {n: replace(one, low=ends[n][0], high=ends[n][1]) for n, one in found.items()}


def example_scores(values: np.ndarray) -> np.ndarray:
    """Scores ``(n,)`` whose mean is the metric, from such or from counts ``(n, 3)``.

    See :attr:`lossnet.tasks.details.Details.scores`.
    """
    values = np.asarray(values, dtype=float)
    if values.ndim == 1:
        return values
    right, predicted, true = values.T
    if not (predicted + true).sum() > 0:
        return np.zeros(len(values))
    return ratio_scores(2 * right, predicted + true)


def _fitted_once(comparison: Comparison, name: str) -> bool:
    """Whether a baseline was fitted once for all seeds, and no other of its runs is missing."""
    missing = [*comparison.failures, *comparison.left_out]
    seeds = {run.seed for run in comparison.of(name)}
    seeds |= {one.seed for one in missing if one.method == name}
    return name in comparison.baselines and seeds == {comparison.seeds[0]}


@dataclass(frozen=True)
class Standing:
    """A comparison's methods and baselines that were measured, in order."""

    comparison: Comparison

    @cached_property
    def names(self) -> list[str]:
        """Methods and baselines with at least one run."""
        all_names = [*self.comparison.methods, *self.comparison.baselines]
        return [name for name in dict.fromkeys(all_names) if self.comparison.of(name)]

    @cached_property
    def ranked(self) -> list[str]:
        """The names by the mean of the main metric, the highest first."""
        means = {name: self.mean(name, self.comparison.main) for name in self.names}
        return sorted(self.names, key=lambda name: -_low(means[name]))

    @cached_property
    def differences(self) -> dict[str, Difference]:
        """Differences of the main metric."""
        return method_differences(self.comparison)

    @property
    def where(self) -> str:
        """What was measured on, in words."""
        part = self.comparison.measured_on
        return f"all {self.comparison.unit}" if part == "all" else f"the {part} part"

    @property
    def reference(self) -> str:
        """The method that the others are compared with."""
        return self.comparison.reference

    def values(self, name: str, metric: str) -> list[float]:
        """A metric of all runs of a method, where it is defined."""
        found = [self.comparison.value(run, metric) for run in self.comparison.of(name)]
        return [value for value in found if value is not None and math.isfinite(value)]

    def mean(self, name: str, metric: str) -> float | None:
        """The mean over runs; None where it is not defined."""
        values = self.values(name, metric)
        return fmean(values) if values else None

    def text(self, name: str, metric: str) -> str:
        """Mean and deviation over runs."""
        nats = metric == NATS
        text = summarise(self.values(name, metric), percent=not nats, digits=2 if nats else 1)
        return text.replace("-", "−")

    def average(self, name: str, of: Callable[[MeasuredRun], float | None]) -> float | None:
        """The mean of what a function gives for a method's runs."""
        found = [of(run) for run in self.comparison.of(name)]
        known = [value for value in found if value is not None and math.isfinite(value)]
        return fmean(known) if known else None

    def style(self, name: str) -> str:
        """The class of the method's colour."""
        return colour(self.names.index(name))

    def tags(self, name: str) -> tuple[str, ...]:
        """What to say of a method next to its name."""
        if len(self.names) == 1:
            return ()
        marks = {"reference": name == self.reference, "baseline": name in self.comparison.baselines}
        return tuple(mark for mark, holds in marks.items() if holds)


def _low(value: float | None) -> float:
    return -math.inf if value is None else value
