"""The default against what a user would take instead, on every multi-label set.

    OMP_NUM_THREADS=1 python benchmarks/defaults.py run --data emotions yeast --seeds 3  # resumable
    python benchmarks/defaults.py table --metric subset-accuracy

Rows are ``MultiLabelClassifier()``, cross-entropy, one-vs-rest logistic regression, 300 extremely
randomised trees, and the mean of as many cross-entropy nets as take the default's time, two at
least and ten at most. The default is fitted for example F1 and for exact match, each with that
``metric``, and decides as it then does; the time is that of the first. The other rows have one fit,
and a threshold that is tuned for each on validation rows. A last row is the default without
anything learnt of labels together, neither loss nor joint: four cross-entropy nets with the same
trees, decided by their probabilities. Data is found at
``../shared/data/mlc`` or ``$LOSSNET_DATA/mlc``; digits is the built-in digits-attributes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from statistics import stdev
from typing import Any

import numpy as np
from label_decisions import parts
from multilabel import OFFICIAL
from runs import main, several
from wrapper import base

from lossnet import MultiLabelClassifier
from lossnet.parameters import plain
from lossnet.reports import find, has, record, summarise
from lossnet.tasks.bases import seeded
from lossnet.tasks.multilabel import get_metric, tune_threshold
from lossnet.tasks.multilabel.bases import fit_bases

SETS = ("emotions", "yeast", "scene", "digits", "medical", "enron", "genbase", "cal500", "spo_fun",
        "bibtex", "delicious", OFFICIAL)  # fmt: skip
#: Sets without a mean of exact match, which is about 0, and without trees, which take too long.
NO_EXACT_MATCH, NO_TREES = ("cal500", "spo_fun", "delicious"), ("delicious",)
#: Sets that count in no mean: those without trees, and one that counts already.
NOT_IN_MEANS = (*NO_TREES, OFFICIAL)
METRICS = ("example-f1", "subset-accuracy")
ROWS = ("default", "cross-entropy", "logistic-regression", "extra-trees", "cross-entropy xN")
#: The default without its learned loss and its joint.
WITHOUT = "default, cross-entropy"
MOST = 10


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store lacks, seed by seed."""
    for seed in range(arguments.seeds):
        for name in arguments.data:
            checksum = parts(name).train.checksum()
            seconds: dict[str, float] = {}
            for row in arguments.rows:
                if row == "extra-trees" and name in NO_TREES:
                    continue
                key = {"data": f"defaults-{name}", "method": row, "seed": seed,
                       "configuration": configuration(row, name)}  # fmt: skip
                stored = find(arguments.results, data=key["data"], method=row)
                if not has(arguments.results, **key, data_checksum=checksum):
                    metrics, seconds[row] = measure(name, row, seed, seconds)
                    record(arguments.results, command=" ".join(["python", *sys.argv]),
                           data_checksum=checksum, metrics=metrics, seconds=seconds[row],
                           tags=["defaults"], **key)  # fmt: skip
                    shown = {k: round(100 * v, 1) for k, v in metrics.items() if k in METRICS}
                    print(name, seed, row, shown, f"{seconds[row]:.1f} s", flush=True)
                else:
                    own = [one for one in stored if one.seed == seed]
                    seconds[row] = own[-1].seconds


def configuration(row: str, name: str) -> dict[str, Any]:
    """What a run on a data set is made of but the seed."""
    if row in ("logistic-regression", "extra-trees"):
        return {"row": row}
    found = dict(plain(classifier(row).resolved_params()))
    own = found["method_params"] or {}
    # Runs from before there were such settings are found.
    if not own.get("gated"):
        own.pop("gated", None)
    if row not in ("default", WITHOUT) or name in NO_EXACT_MATCH:  # no joint is learnt
        found.pop("joint")
    return dict(json.loads(json.dumps(found, default=str)))


def classifier(row: str, **more: Any) -> MultiLabelClassifier:
    """An unfitted classifier of the library."""
    if row == "default":
        return MultiLabelClassifier(**more)
    same = {"members": 4, "trees": MultiLabelClassifier().trees, "joint": False}
    return MultiLabelClassifier("cross-entropy", **(same if row == WITHOUT else {}), **more)


def measure(
    name: str, row: str, seed: int, seconds: dict[str, float]
) -> tuple[dict[str, float], float]:
    """Metrics of one row on the test part, and its processor seconds of training."""
    data, began = parts(name), time.process_time()
    assert data.validation is not None
    assert data.test is not None
    if row in ("default", WITHOUT):
        found, spent = {}, 0.0
        for metric in METRICS[:1] if name in NO_EXACT_MATCH else METRICS:
            began = time.process_time()
            model = classifier(row, metric=metric, random_state=seed)
            model.fit(data.train, validation_data=data.validation)
            spent = spent or time.process_time() - began
            found[metric] = float(get_metric(metric)(data.test.Y, model.predict(data.test)))
            found |= {f"{metric}, share of trees": getattr(model, "trees_share_", 0.0)}
        return found, spent
    if row in ("logistic-regression", "extra-trees"):
        bases = fit_bases(seeded([base(row, data.train.X)], seed), data.train.X, data.train.Y)
        spent = time.process_time() - began
        return thresholded(
            [(bases.proba(data.validation.X), bases.proba(data.test.X))], name
        ), spent
    ratio = seconds["default"] / seconds["cross-entropy"] if row == "cross-entropy xN" else 1
    number = int(np.clip(round(ratio), 2, MOST)) if row == "cross-entropy xN" else 1
    each = []
    for k in range(number):
        model = classifier(row, random_state=100 * k + seed)
        model.fit(data.train, validation_data=data.validation)
        each.append((model.predict_proba(data.validation), model.predict_proba(data.test)))
    spent = time.process_time() - began
    return thresholded(each, name) | {"nets": float(number)}, spent


def thresholded(each: list[tuple[np.ndarray, np.ndarray]], name: str) -> dict[str, float]:
    """Metrics of mean probabilities, cut at the threshold that is best on validation rows."""
    data, found = parts(name), {}
    assert data.validation is not None
    assert data.test is not None
    validation, test = (np.mean(part, axis=0) for part in zip(*each, strict=True))
    for metric in METRICS:
        cut, _ = tune_threshold(data.validation.Y, validation, metric=metric)
        found[metric] = float(get_metric(metric)(data.test.Y, (test >= cut).astype(np.uint8)))
    return found


def table(arguments: argparse.Namespace) -> None:
    """The metric by set and row, and by how much the default is above the best other row."""
    shown = (*ROWS, WITHOUT)
    print(f"| {arguments.metric} | {' | '.join(shown)} | default above the best other | time |")
    print("|---" * (len(shown) + 3) + "|")
    means = []
    for name in SETS:
        if arguments.metric == "subset-accuracy" and name in NO_EXACT_MATCH:
            continue
        runs = {row: latest(arguments.results, name, row, arguments.metric) for row in shown}
        if not runs["default"]:
            continue
        values = {row: [r.metrics[arguments.metric] for r in own] for row, own in runs.items()}
        cells = [summarise(values[row]) if values[row] else "" for row in shown]
        mean = {row: float(np.mean(own)) if own else np.nan for row, own in values.items()}
        best = max((row for row in ROWS[1:] if values[row]), key=lambda row: mean[row], default="")
        above = ""
        if best:
            pooled = np.sqrt(np.mean([deviation(values[row]) ** 2 for row in ("default", best)]))
            above = f"{100 * (mean['default'] - mean[best]):+.1f} (deviation {100 * pooled:.1f})"
        spent = {row: np.mean([r.seconds for r in own]) for row, own in runs.items() if own}
        ratio = spent["default"] / spent.get("cross-entropy", np.nan)
        print(f"| {name} | {' | '.join(cells)} | {above} | {ratio:.1f}x |")
        if name not in NOT_IN_MEANS:
            means.append([mean[row] for row in shown])
    if means:
        cells = ["" if np.isnan(m) else f"{100 * m:.1f}" for m in np.mean(means, axis=0)]
        print(f"| mean | {' | '.join(cells)} | | |")


def deviation(values: list[float]) -> float:
    """The standard deviation over seeds; 0 of a single one."""
    return stdev(values) if len(values) > 1 else 0.0


def latest(results: str, name: str, row: str, metric: str) -> list[Any]:
    """The runs of the current configuration, one for each seed.

    For F1 there is no joint, and runs from before there was one count too.
    """
    runs = find(results, data=f"defaults-{name}", method=row)
    now = configuration(row, name)
    former = {key: value for key, value in now.items() if key != "joint"}
    known = [former, now] if metric == METRICS[0] and row == "default" else [now]
    found: dict[int, Any] = {}
    for wanted in known:
        found |= {one.seed: one for one in runs if one.configuration == wanted}
    return [found[seed] for seed in sorted(found)]


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        data=several(SETS),
        rows=several([*ROWS, WITHOUT]),
        seeds={"type": int, "default": 3},
        metric={"default": "example-f1", "choices": METRICS},
    )
