"""Half of the labels not known: taken as off, or left out as NaN.

    python benchmarks/partial_labels.py run --data yeast    # resumable: runs in the store are kept
    python benchmarks/partial_labels.py table

Half of the entries of Y are removed at random in the training and validation rows. Test rows are
complete. Each measure has a fit that stops by it on validation rows: the log loss
(``metric="neg-log-loss"``), and example F1, which is measured at a threshold of 0.5. What is undone
is the share of what taking removed entries as off costs that NaN saves.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from multilabel import DATA, EPOCHS, LARGE, NETWORK
from runs import main, several

from lossnet import MultiLabelClassifier
from lossnet.reports import Run, find, has, record, summarise
from lossnet.tasks.multilabel import MultiLabelData, evaluate, load_splits, neg_log_loss
from lossnet.tasks.parts import PARTS

SEEDS = {"yeast": 3, "bibtex": 2}
#: Methods of one net, and the default.
METHODS = ("cross-entropy", "seal-nce", "default")
#: What the training and validation rows hold where a label is removed.
LABELS = {"all": "all known", "off": "removed taken as off", "nan": "removed as NaN"}
REMOVED = 0.5
#: Marks runs with a fit for each measure.
STOPS = "each measure"
#: What is measured, and the metric that such a fit stops by.
MEASURES = {"log loss": "neg-log-loss", "example-f1 at 0.5": "example-f1"}


def store_name(data: str) -> str:
    return f"partial-{data}"


def removed(data: MultiLabelData, how: str, seed: int, part: str) -> np.ndarray:
    """The labels of a part with entries removed, the same ones for every method."""
    draw = np.random.default_rng([seed, PARTS.index(part)]).random(data.Y.shape)
    Y = data.Y.astype(np.float32)
    return Y if how == "all" else np.where(draw < REMOVED, np.nan if how == "nan" else 0.0, Y)


def run(arguments: argparse.Namespace) -> None:
    """Every method on every kind of labels, for the seeds of the data set."""
    for name in arguments.data:
        parts = load_splits(DATA / name)
        if parts.validation is None:
            parts = parts.with_validation(0.15)
        for seed in range(arguments.seeds or SEEDS[name]):
            for method in arguments.methods:
                for how in LABELS:
                    fit(arguments, name, parts, method, how, seed)


def fit(
    arguments: argparse.Namespace, name: str, parts: Any, method: str, how: str, seed: int
) -> None:
    """One fit and its metrics on the test part, unless the store holds it."""
    same: dict[str, Any] = {"method": method, **NETWORK, **EPOCHS[len(parts.train) > LARGE]}
    same = {} if method == "default" else same
    models = [
        MultiLabelClassifier(metric=by, random_state=seed, **same) for by in MEASURES.values()
    ]
    own = {"labels": how, "removed": REMOVED, "stops by": STOPS}
    own["method_params"] = models[0].resolved_method_params()
    key = {"data": store_name(name), "method": method, "seed": seed}
    same.pop("method", None)
    key["configuration"] = {**same, **own}
    checksum = parts.train.checksum()
    if has(arguments.results, **key, data_checksum=checksum):
        return
    train, held = parts.train, parts.validation
    began = time.process_time()
    validation = held.X, removed(held, how, seed, "validation")
    for model in models:
        model.fit(train.X, removed(train, how, seed, "train"), validation_data=validation)
    seconds = time.process_time() - began
    for_loss, for_f1 = (model.predict_proba(parts.test.X) for model in models)
    found = -neg_log_loss(parts.test.Y, for_loss), evaluate(parts.test.Y, for_f1)["example-f1"]
    record(
        arguments.results,
        command=" ".join(["python", *sys.argv]),
        data_checksum=checksum,
        metrics=dict(zip(MEASURES, found, strict=True)),
        seconds=seconds,
        tags=[how],
        **key,
    )
    values = f"log loss {found[0]:.4f}, F1 {100 * found[1]:.2f}"
    print(name, method, how, seed, values, f"{seconds:.0f} s", flush=True)


def table(arguments: argparse.Namespace) -> None:
    """Log loss and F1 at 0.5, and how much of the damage NaN undoes."""
    print("| data | method | labels | n | log loss | undone | F1 at 0.5 | undone | seconds |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in SEEDS:
        for method in METHODS:
            runs = {how: stored(arguments, name, method, how) for how in LABELS}
            for how, found in runs.items():
                if not found:
                    continue
                loss, f1 = ([one.metrics[measure] for one in found] for measure in MEASURES)
                shares = [undone(runs, measure) if how == "nan" else "" for measure in MEASURES]
                seconds = summarise([one.seconds for one in found], percent=False, digits=0)
                values = (
                    summarise(loss, percent=False, digits=4),
                    shares[0],
                    summarise(f1),
                    shares[1],
                )
                cells = name, method, LABELS[how], str(len(found)), *values, seconds
                print(f"| {' | '.join(cells)} |")


def stored(arguments: argparse.Namespace, name: str, method: str, how: str) -> list[Run]:
    """The runs with these labels."""
    found = find(arguments.results, data=store_name(name), method=method, tags=how)
    return [one for one in found if one.configuration.get("stops by") == STOPS]


def undone(runs: dict[str, list[Run]], measure: str) -> str:
    """The share of what taking removed labels as off costs that leaving them out saves."""
    if not all(runs.values()):
        return ""
    mean = {how: np.mean([one.metrics[measure] for one in found]) for how, found in runs.items()}
    higher_is_better = measure != "log loss"
    if (mean["all"] > mean["off"]) != higher_is_better:
        return "no damage"
    return f"{(mean['off'] - mean['nan']) / (mean['off'] - mean['all']):.0%}"


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        data=several(SEEDS),
        methods=several(METHODS),
        seeds={"type": int, "help": "in place of each data set's own number"},
    )
