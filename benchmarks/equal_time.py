"""Tags and pixels: the default of an estimator against other methods in the same training time.

    OMP_NUM_THREADS=1 python benchmarks/equal_time.py run --data twitter_pos --seeds 3   # resumable
    python benchmarks/equal_time.py table

The default is fitted first; the processor time of that fit is the budget of the others. A method
that takes less has several nets, from other seeds, whose mean probabilities predict, as long as
another one fits in; a method that takes more ends when the time is up, with the best epoch so far.
Rows "to the end" have no limit, for comparison. All share the estimators' other defaults, early
stopping on the validation part, and argmax, under the rules of the tags' scheme.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import mean, stdev
from typing import Any
from unittest import mock

import images
import numpy as np
import sequence
import torch
from runs import main, several

from lossnet import ImageSegmenter, SequenceTagger
from lossnet.reports import Run, find, get, record, summarise
from lossnet.tasks.image import load_image_splits, mean_iou
from lossnet.tasks.sequence import span_scores, token_accuracy
from lossnet.tasks.sequence.chain_marginals import Chain
from lossnet.training import Trainer

DEFAULT = "default"
#: How far a last net may exceed the budget.
SLACK = 1.15


@dataclass(frozen=True)
class Row:
    """A method (None: the default), what it is given, and whether its time is limited."""

    method: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    limited: bool = True


@dataclass(frozen=True)
class Setting:
    """A data set: its parts, the estimator with what is not left to defaults, and the rows.

    Attributes:
        parts: gives training, validation and test data.
        model: an estimator for a method (None: the default), its settings and a seed.
        measure: the metric of mean probabilities on data, by a fitted model.
        rows: methods with their settings, by name.
    """

    parts: Callable[[], tuple[Any, Any, Any]]
    model: Callable[..., Any]
    measure: Callable[[Any, Any, Any], float]
    rows: dict[str, Row]


def tag_setting(name: str) -> Setting:
    """Sentences: the settings of :mod:`sequence`, whose nets are as wide for every method."""
    task = sequence.TASKS[name]

    def parts() -> tuple[Any, Any, Any]:
        train, dev, tests = sequence.parts(name)
        return train, dev, next(iter(tests.values()))

    def model(method: str | None, seed: int, **own: Any) -> SequenceTagger:
        given = {"vectors": sequence.VECTORS, "metric": task.metric, **task.settings, **own}
        named = {} if method is None else {"method": method}
        return SequenceTagger(**named, random_state=seed, decode="argmax", **given)

    def measure(model: Any, probabilities: Any, data: Any) -> float:
        predicted = [best_tags(model, p) for p in probabilities]
        if task.metric == "accuracy":
            return token_accuracy(data.tags, predicted)
        return span_scores(data.tags, predicted).f1

    plain = {"chain": False}
    rows = {
        "cross-entropy, independent tags": Row("cross-entropy", plain),
        "crf": Row("crf"),
        "infnet-plus, independent tags": Row("infnet-plus", plain),
        "infnet-plus, chain": Row("infnet-plus", {"chain": True}),
        "seal-nce, chain": Row("seal-nce", {"chain": True}),
        "seal-nce, chain, to the end": Row("seal-nce", {"chain": True}, limited=False),
    }
    return Setting(parts, model, measure, rows)


def best_tags(model: SequenceTagger, probabilities: np.ndarray) -> list[str]:
    """The most probable tags of one sentence that keep to the scheme's rules."""
    unary = -torch.as_tensor(probabilities, dtype=torch.float64).clamp_min(1e-12).log()
    pairs, mask = unary.new_zeros((unary.shape[-1],) * 2), torch.ones(1, len(unary)).bool()
    found = Chain(unary.unsqueeze(0), pairs, mask, model._rules()).best()[0]
    return [model.tags_[tag] for tag in found.tolist()]


def image_setting(name: str) -> Setting:
    """Images: the estimator's defaults, with the U-Net as every method's task-net."""
    file, classes = images.DATA[name]

    def parts() -> tuple[Any, Any, Any]:
        found = load_image_splits(images.ROOT / file)
        return found.train, found.validation, found.test

    def model(method: str | None, seed: int, **own: Any) -> ImageSegmenter:
        named = {} if method is None else {"method": method}
        given = {"classes": classes, "random_state": seed, "decode": "argmax"}
        return ImageSegmenter(**named, **given, **own)

    def measure(model: Any, probabilities: Any, data: Any) -> float:
        return mean_iou(data.masks, model._discrete(probabilities), len(classes))

    together = {"method_params": {"share": 1.0}}
    rows = {
        "alen": Row("alen"),
        "alen, from the first epoch": Row("alen", together),
        "seal-regression": Row("seal-regression"),
        "alen, to the end": Row("alen", limited=False),
    }
    return Setting(parts, model, measure, rows)


SETTINGS = {
    "twitter_pos": tag_setting("twitter_pos"),
    "wnut17": tag_setting("wnut17"),
    "horses": image_setting("horses"),
    "faces": image_setting("faces"),
}


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store lacks, seed by seed, the default first."""
    for seed in range(arguments.first, arguments.seeds):
        for name in arguments.data:
            setting = SETTINGS[name]
            data = setting.parts()
            budget = one(arguments, name, data, DEFAULT, seed, math.inf)
            for row in setting.rows:
                if arguments.rows is None or row in arguments.rows:
                    one(arguments, name, data, row, seed, budget)


def one(
    arguments: argparse.Namespace,
    name: str,
    data: tuple[Any, Any, Any],
    row: str,
    seed: int,
    budget: float,
) -> float:
    """The seconds of a row's fits, which are made unless the store holds them."""
    setting = SETTINGS[name]
    chosen = setting.rows.get(row, Row())
    model = setting.model(chosen.method, seed, **chosen.settings)
    key: dict[str, Any] = {"data": f"equal-time-{name}", "method": row, "seed": seed}
    key["configuration"] = configuration(model)
    checksum = data[0].checksum()
    if (stored := get(arguments.results, **key, data_checksum=checksum)) is not None:
        return stored.seconds
    limit = budget if chosen.limited else math.inf
    models, seconds = fitted(setting, chosen, seed, data, limit)
    metrics = {"nets": float(len(models)), "epochs": float(len(models[0].history_))}
    for part, held in (("validation", data[1]), ("test", data[2])):
        outputs = [np.asarray(p, dtype=object) for p in (m.predict_proba(held) for m in models)]
        metrics[part] = setting.measure(models[0], averaged(outputs), held)
    record(
        arguments.results,
        command=" ".join(["python", *sys.argv]),
        data_checksum=checksum,
        metrics=metrics,
        seconds=seconds,
        tags=["equal-time"],
        **key,
    )
    shown = {k: round(100 * v, 2) for k, v in metrics.items() if k in ("validation", "test")}
    spent = f"{seconds:.0f} s, {len(models)} nets, {len(models[0].history_)} epochs"
    print(name, row, seed, spent, shown, flush=True)
    return seconds


def configuration(model: Any) -> dict[str, Any]:
    """Every setting that could change a result, as ``fit`` takes it."""
    free = ("device", "random_state", "verbose", "vectors", "encoder")
    return {k: v for k, v in model.resolved_params().items() if k not in free}


def fitted(
    setting: Setting,
    row: Row,
    seed: int,
    data: tuple[Any, Any, Any],
    budget: float,
) -> tuple[list[Any], float]:
    """As many nets as the budget has time for, and their processor seconds."""
    models: list[Any] = []
    began = time.process_time()
    spent = 0.0
    while not models or spent + spent / len(models) <= SLACK * budget < math.inf:
        model = setting.model(row.method, seed + 100 * len(models), **row.settings)
        with stopping_at(began + budget):
            model.fit(data[0], validation_data=data[1])
        models.append(model)
        spent = time.process_time() - began
    return models, spent


@contextmanager
def stopping_at(deadline: float) -> Iterator[None]:
    """Let training end after the epoch in which the process reaches that time."""
    over = Trainer._phase_over

    def reached(trainer: Trainer) -> bool:
        return over(trainer) or time.process_time() > deadline

    with mock.patch.object(Trainer, "_phase_over", reached):
        yield


def averaged(outputs: list[Any]) -> Any:
    """The mean of several nets' probabilities, of every sentence or of all images."""
    total = outputs[0]
    for other in outputs[1:]:
        total = total + other
    found = total / len(outputs)
    return found if found.ndim == 1 else found.astype(np.float64)


def table(arguments: argparse.Namespace) -> None:
    """Mean ± deviation over seeds, and whether the default is within a deviation of the best."""
    for name in arguments.data:
        runs = find(arguments.results, data=f"equal-time-{name}", tags="equal-time")
        rows = {row: [one for one in runs if one.method == row] for row in _rows(name)}
        rows = {row: own for row, own in rows.items() if own}
        if DEFAULT not in rows:
            continue
        print(f"\n**{name}**\n\n| method | n | nets | seconds | validation | test |")
        print("|---|---|---|---|---|---|")
        for row, own in rows.items():
            nets, seconds = (mean(v) for v in (_values(own, "nets"), [r.seconds or 0 for r in own]))
            cells = [summarise(_values(own, part)) for part in ("validation", "test")]
            print(f"| {row} | {len(own)} | {nets:.1f} | {seconds:.0f} | {' | '.join(cells)} |")
        print(f"\n{verdict(rows)}")


def verdict(rows: dict[str, list[Run]]) -> str:
    """How far the default is below the best of the others, each compared on the seeds of both.

    The deviation is pooled over the two.
    """
    limited = [row for row in rows if row != DEFAULT and not row.endswith("to the end")]
    gaps = {row: _compared(rows[DEFAULT], rows[row]) for row in limited}
    if not gaps:
        return "No other method has been measured."
    best = max(gaps, key=lambda row: gaps[row][0])
    gap, spread = gaps[best]
    where = f"{abs(gap):.1f} {'above' if gap > 0 else 'below'} the default"
    if spread is None:
        return f"Best other: {best}, {where} (one seed: no deviation)."
    held = "within" if gap <= spread else "not within"
    return f"Best other: {best}, {where}; the default is {held} a deviation ({spread:.1f}) of it."


def _compared(default: list[Run], other: list[Run]) -> tuple[float, float | None]:
    """The other's lead in points on the seeds of both, and the pooled deviation of several."""
    seeds = {one.seed for one in default} & {one.seed for one in other}
    pair = [_values([one for one in own if one.seed in seeds], "test") for own in (default, other)]
    lead = 100 * (mean(pair[1]) - mean(pair[0]))
    if len(seeds) < 2:
        return lead, None
    return lead, 100 * math.sqrt(mean(stdev(values) ** 2 for values in pair))


def _rows(name: str) -> list[str]:
    return [DEFAULT, *SETTINGS[name].rows]


def _values(runs: list[Run], key: str) -> list[float]:
    return [float(one.metrics[key] or 0.0) for one in runs]


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        data=several(SETTINGS),
        rows={"nargs": "+"},
        seeds={"type": int, "default": 3},
        first={"type": int, "default": 0, "help": "the first seed"},
    )
