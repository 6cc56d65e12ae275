"""Comparisons made up for tests of the page, without training anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lossnet.comparison import Comparison, EnergyFigures, MeasuredRun, Missing
from lossnet.tasks.details import Details, Examples, f1_groups

#: A name that would end up as a script, if it was not escaped.
EVIL = "<script>alert('x')</script>"
SENTENCE = "in June the lawyer Ann Lee flew from Oslo to New York for the World Bank"
WORDS = SENTENCE.split()
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
TRUE_TAGS = [0, 0, 0, 0, 1, 2, 0, 0, 3, 0, 3, 4, 0, 0, 5, 6]


def a_run(
    method: str,
    seed: int,
    details: Details,
    value: float,
    *,
    main: str = "example-f1",
    outside: bool = False,
    energy: EnergyFigures | None = None,
) -> MeasuredRun:
    """A run; what it costs follows from the method's name."""
    slow = 1 + len(method) / 8
    epochs = 12 + 3 * (seed % 4)
    history = [
        {"phase": "train", "epoch": e, "seconds": 0.1, "metric": value * (1 - 0.6 / (e + 1))}
        for e in range(1, epochs + 1)
    ]
    return MeasuredRun(
        method=method,
        seed=seed,
        outside=outside,
        metrics={main: value, "subset-accuracy": value / 2, "map": None},
        metrics_at_half={main: value - 0.03},
        details=details,
        seconds=8.0 * slow + seed / 3,
        epochs=None if outside else epochs,
        parameters=None if outside else 120_000,
        parameters_in_use=None if outside else 40_000,
        predictions_per_second=52_000 / slow,
        history=[] if outside else history,
        history_metric=main,
        cut=method.startswith("slow"),
        energy=energy,
        configuration={"hidden": [400, 400], "method_params": {"samples": 20}},
    )


def a_comparison(
    runs: Sequence[MeasuredRun], examples: Examples | None, **given: Any
) -> Comparison:
    """A comparison of the runs, the first run's method the reference."""
    methods = list(dict.fromkeys(run.method for run in runs if not run.outside))
    facts: dict[str, Any] = {
        "data": "small",
        "task": "multilabel",
        "unit": "rows",
        "sizes": {"train": 300, "validation": 60, "test": 120},
        "about": "300 train, 60 validation, 120 test rows, 20 features, 12 labels",
        "notes": [],
        "measured_on": "test",
        "metrics": ["example-f1", "example-f1@0.5", "subset-accuracy", "map"],
        "main": "example-f1",
        "methods": methods,
        "baselines": list(dict.fromkeys(run.method for run in runs if run.outside)),
        "reference": methods[0],
        "seeds": sorted({run.seed for run in runs}),
        "runs": list(runs),
        "failures": [],
        "left_out": [],
        "examples": examples,
        "command": "lossnet compare small --methods cross-entropy,seal-nce --seeds 3 --out report",
        "versions": {"python": "3.11.9", "lossnet": "0.1.0", "torch": "2.13.0"},
        "platform": "Linux",
        "threads": 1,
        "checksum": "9f2c41ab",
        "budget": None,
        "date": "2026-11-18T03:00:00+00:00",
    }
    return Comparison(**(facts | given))


def of_labels(
    methods: Sequence[str] = ("cross-entropy", "seal-nce", "dvn"),
    *,
    seeds: int = 3,
    rows: int = 120,
    labels: int = 12,
    baseline: str | None = "logistic-regression",
    evil: bool = False,
) -> Comparison:
    """Label sets; each method after the first errs less."""
    draw = np.random.default_rng(0)
    truth = (draw.random((rows, labels)) < np.geomspace(0.5, 0.1, labels)).astype(np.uint8)
    truth[:, 1] |= truth[:, 0]
    names = [f"label {k}" for k in range(labels)]
    if evil:
        methods, names[0] = [EVIL, *methods[1:]], EVIL
    runs = []
    for seed in range(seeds):
        for k, method in enumerate(methods):
            errors = 0.16 - 0.03 * k + 0.004 * draw.normal()
            energy = _energy(truth, draw) if k else None
            details, value = _label_details(truth, names, errors, draw)
            runs.append(a_run(method, seed, details, value, energy=energy))
    if baseline:
        details, value = _label_details(truth, names, 0.25, draw)
        runs.append(a_run(baseline, 0, replace(details, reliability=None), value, outside=True))
    texts = [[EVIL if evil else "a text of some words"] for _ in range(rows)]
    titles = [f"row {k}" for k in range(rows)]
    examples = Examples("labels", names, truth, titles, texts if evil else None)
    return a_comparison(runs, examples)


def _label_details(
    truth: np.ndarray, names: list[str], errors: float, draw: np.random.Generator
) -> tuple[Details, float]:
    flipped = draw.random(truth.shape) < errors
    on = np.where(flipped, 1 - truth, truth).astype(np.uint8)
    right = (on & truth).sum(1)
    total = on.sum(1, dtype=int) + truth.sum(1)
    scores = np.where(total > 0, 2 * right / np.maximum(total, 1), 1.0)
    counts = np.stack([(on & truth).sum(0), on.sum(0), truth.sum(0)], axis=1)
    centres = np.arange(0.05, 1.0, 0.1)
    share = np.clip(centres + 0.5 * errors * (0.5 - centres), 0, 1)
    bins = np.stack([centres, share, np.full(10, 40.0)], axis=1)
    bins[4] = np.nan, np.nan, 0
    details = Details(
        scores={"example-f1": scores},
        predictions=on,
        groups=f1_groups(names, counts),
        group_noun="label",
        reliability=bins,
        calibration={"ece": errors / 4, "log_loss": 0.3 + errors, "brier": 0.08 + errors / 5},
    )
    return details, float(scores.mean())


def _energy(truth: np.ndarray, draw: np.random.Generator) -> EnergyFigures:
    cost = np.repeat(np.linspace(0, 0.8, 9)[:, None], 60, axis=1)
    energy = 6 * cost + draw.normal(size=cost.shape) * (cost > 0)
    steps = np.arange(0, 21.0)
    rise = 1 - np.exp(-steps / 4)
    descents = {
        "task-net": np.stack([steps, np.full(21, 0.78)], 1),
        "task-net + GBI": np.stack([steps, 0.78 + 0.02 * rise], 1),
        "random + GBI": np.stack([steps, 0.3 + 0.4 * rise], 1),
    }
    Y = truth.astype(float)
    together = np.nan_to_num((Y.T @ Y) / np.maximum(Y.sum(0)[:, None], 1) - Y.mean(0))
    ties = -together + 0.1 * draw.normal(size=together.shape)
    frequent = np.ones(together.shape, dtype=bool)
    return EnergyFigures(energy, cost, 0.83, descents, ties, together, frequent)


def of_tags(*, evil: bool = False, plain: bool = False) -> Comparison:
    """Tagged sentences, scores as counts of spans."""
    draw = np.random.default_rng(0)
    count = 8
    names = ["DET", "NOUN", "VERB", "ADP", "PROPN", "X", "ADJ"] if plain else TAGS
    truth = np.tile(np.array(TRUE_TAGS, dtype=np.int32), count)
    words = [EVIL if evil and k == 3 else word for k, word in enumerate(WORDS)]
    offsets = np.arange(count + 1) * len(WORDS)
    runs = []
    for seed in range(2):
        for method, errors in (("cross-entropy", 0.2), ("crf", 0.08)):
            wrong = draw.random(truth.shape) < errors
            predicted = np.where(wrong, draw.integers(0, len(names), truth.shape), truth)
            right = np.add.reduceat((predicted == truth) & (truth > 0), offsets[:-1])
            made = np.add.reduceat(predicted > 0, offsets[:-1])
            true = np.add.reduceat(truth > 0, offsets[:-1])
            counts = np.stack([right, made, true], axis=1)
            details = Details(
                {"span-f1": counts},
                predicted.astype(np.int32),
                {"PER": {"f1": 0.5, "count": 8.0}},
                "type",
            )
            value = 2 * right.sum() / (made + true).sum()
            runs.append(a_run(method, seed, details, float(value), main="span-f1"))
    titles = [f"sentence {k}" for k in range(count)]
    examples = Examples("tags", list(names), truth, titles, [words] * count, offsets=offsets)
    given: dict[str, Any] = {"metrics": ["span-f1"], "main": "span-f1", "unit": "sentences"}
    return a_comparison(runs, examples, task="sequence", **given)


def of_masks() -> Comparison:
    """Discs on noise."""
    draw = np.random.default_rng(0)
    i, j = np.mgrid[:32, :32]
    centre = draw.uniform(10, 22, (2, 6, 1, 1))
    away = np.hypot(i - centre[0], j - centre[1])
    truth = (away < 8).astype(np.uint8)
    images = (120 * truth + draw.integers(0, 130, truth.shape)).astype(np.uint8)
    runs = []
    for seed in range(2):
        for method, size in (("cross-entropy", 6.0), ("alen", 7.5)):
            masks = (away < size + 0.4 * draw.normal(size=(6, 1, 1))).astype(np.uint8)
            both, either = ((masks & truth).sum((1, 2)), (masks | truth).sum((1, 2)))
            iou = both / either
            groups = {"background": {"iou": 0.9}, "disc": {"iou": float(iou.mean())}}
            details = Details({"mean-iou": iou}, masks, groups, "class")
            runs.append(a_run(method, seed, details, float(iou.mean()), main="mean-iou"))
    titles = [f"{k}.png" for k in range(6)]
    examples = Examples("mask", ["background", "disc"], truth, titles, images=images)
    given: dict[str, Any] = {"metrics": ["mean-iou"], "main": "mean-iou", "unit": "images"}
    return a_comparison(runs, examples, task="image", **given)


def with_failures(comparison: Comparison) -> Comparison:
    """The comparison with a run that failed and one that was left out."""
    failed = Missing("spen", 0, False, f"loss is not finite {EVIL}")
    left = Missing("alen", 1, False, "the budget was used up")
    return replace(comparison, failures=[failed], left_out=[left], budget=600.0)
