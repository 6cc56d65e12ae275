"""What a comparison found, in memory: the contract between what measures and what reports.

:func:`load_comparison` reads it from a comparison's folder without fitting anything.
Metrics are fractions, not percent, and higher is better.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lossnet.tasks.details import Details, Examples


@dataclass(frozen=True, eq=False)
class EnergyFigures:
    """What a loss-net knows, measured on the part that the run is measured on.

    Attributes:
        energy, cost: of K candidate outputs of up to 200 examples, ``(K, n)`` each; lower is
            better in both. Candidate 0 is the truth, of cost 0; the others are the truth with more
            and more entries replaced at random. All runs on one data set have the same candidates.
        rank_correlation: mean over examples of Spearman's correlation of energy and cost; 1 where
            lower energy always means lower cost, NaN where energies do not differ.
        descents: lines of ``history_metric`` by steps of a descent on the energy, on validation
            rows (the measured ones where there are none): ``(points, 2)`` arrays of steps and
            metric. ``"task-net"`` (constant) and ``"task-net + GBI"`` for methods with a task-net,
            and ``"random + GBI"``; for methods that predict by a descent ``"as it predicts"``, from
            where theirs starts.
        ties: for labels, how the gradient of the global energy for label k changes as label i goes
            from 0 to 1, row i, column k: below 0, i draws k along (paper 000, Figure 2). ``(L, L)``
            in the order of :attr:`Examples.names`; None for other outputs and other energies.
        cooccurrence: p(k on | i on) - p(k on) over training rows, row i, column k; None with
            ``ties``.
        frequent: which pairs have rows enough to be compared, ``(L, L)`` bool; None with ``ties``.
        kinship: for labels in a hierarchy, 1 for parent and child, -1 for pairs without a common
            ancestor, else 0, ``(L, L)``; None without a hierarchy.
    """

    energy: np.ndarray
    cost: np.ndarray
    rank_correlation: float
    descents: Mapping[str, np.ndarray] = field(default_factory=dict)
    ties: np.ndarray | None = None
    cooccurrence: np.ndarray | None = None
    frequent: np.ndarray | None = None
    kinship: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """One model, trained with one seed and measured.

    Attributes:
        method: the method's or the baseline's name.
        seed: of all its randomness. A baseline without randomness is fitted once for all seeds and
            has the comparison's first seed.
        outside: whether it is an outside baseline, not one of the compared methods.
        metrics: every metric of the predictions as the model makes them, its threshold tuned on
            validation data, by name: ``"example-f1"``; of seal-nce and the like ``"nats a row"``.
        metrics_at_half: the same metrics at a threshold of 0.5 under the same names; empty for
            tasks without thresholds.
        details: scores by example, predictions, groups and calibration: see
            :class:`~lossnet.tasks.details.Details`.
        seconds: wall-clock time of ``fit``, with validation and the choice of thresholds.
        epochs: number of epochs, over all phases; None for a baseline that has none.
        parameters: trainable numbers in all nets; None where they are not counted.
        parameters_in_use: the same of what predicts.
        predictions_per_second: examples, measured on the measured part.
        history: one row per epoch, in order: ``"phase"``, ``"epoch"`` (counted in its phase),
            ``"seconds"``, ``"loss/<update>"`` and, where validated, ``"metric"``; as ``history_``
            of the estimators. Empty for baselines without epochs.
        history_metric: what ``"metric"`` in ``history`` is called.
        cut: whether the time budget ended its training.
        energy: what its loss-net knows; None for methods without a loss-net.
        configuration: every resolved setting, as the store holds it; of an outside baseline also
            what it has ``"chosen"`` itself.
    """

    method: str
    seed: int
    outside: bool
    metrics: Mapping[str, float]
    metrics_at_half: Mapping[str, float]
    details: Details
    seconds: float
    epochs: int | None
    parameters: int | None
    parameters_in_use: int | None
    predictions_per_second: float
    history: list[dict[str, Any]]
    history_metric: str
    cut: bool
    energy: EnergyFigures | None
    configuration: Mapping[str, Any]


@dataclass(frozen=True)
class Missing:
    """A run that a comparison lacks.

    Attributes:
        method, seed, outside: see :class:`MeasuredRun`.
        why: the error's message, or that the budget was used up.
    """

    method: str
    seed: int
    outside: bool
    why: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods and outside baselines over several seeds, on the same parts of the same data.

    Attributes:
        data: the data set's name.
        task: the task's name.
        unit: what its examples are called, in the plural.
        sizes: number of examples of each part, by the part's name.
        about: counts of the data set in one line, for a subtitle.
        notes: what a user should know of the data.
        measured_on: the part that is measured on, ``"test"`` or ``"validation"``.
        metrics: names of the metrics to show, in order; a name that ends in ``@0.5`` is in
            ``metrics_at_half``, and where some run has it ``"nats a row"`` is the last.
        main: the metric that methods are judged by; every run has ``details.scores`` of it, but
            for a task of another package that scores no examples.
        methods: the compared methods, in order.
        baselines: the outside baselines, in order.
        reference: the method that differences are taken to.
        seeds: the seeds, in order.
        runs: what was measured, seed by seed; where some failed or were left out, fewer than
            methods times seeds.
        failures: runs that ended with an error.
        left_out: runs that did not fit in the budget.
        examples: the measured examples; None where the task shows none.
        command: how to repeat the comparison: a shell command, or the call in Python.
        versions: of Python and the packages that results depend on.
        platform: operating system and machine.
        threads: how many threads the arithmetic of a run uses.
        checksum: of the data as read, all parts.
        budget: total seconds allowed; None without a limit.
        date: when it was finished, UTC, ISO 8601.
        measured_how: how the metrics were measured, in words; may be empty.
    """

    data: str
    task: str
    unit: str
    sizes: Mapping[str, int]
    about: str
    notes: list[str]
    measured_on: str
    metrics: list[str]
    main: str
    methods: list[str]
    baselines: list[str]
    reference: str
    seeds: list[int]
    runs: list[MeasuredRun]
    failures: list[Missing]
    left_out: list[Missing]
    examples: Examples | None
    command: str
    versions: Mapping[str, str]
    platform: str
    threads: int
    checksum: str
    budget: float | None
    date: str
    measured_how: str = ""

    def of(self, method: str) -> list[MeasuredRun]:
        """The runs of one method or baseline, in the order of the seeds."""
        return [run for run in self.runs if run.method == method]

    def value(self, run: MeasuredRun, metric: str) -> float | None:
        """A metric of a run by the name that ``metrics`` has; None where it is not defined."""
        name, at, _ = metric.partition("@0.5")
        return (run.metrics_at_half if at else run.metrics).get(name)
