"""What structure around a classifier is worth: exact match and example F1, by base.

    python benchmarks/wrapper.py run --data yeast emotions scene --seeds 3
    python benchmarks/wrapper.py table --metric subset-accuracy

A fit of ``StructuredClassifier`` with its defaults is measured on the test part in three ways: the
base's probabilities cut at a threshold tuned on validation rows; the base decided, the rules of
``decode="auto"`` on its probabilities alone, chosen on these rows; and structured, these rules with
the energy, as the fit chose them on out-of-fold and validation rows (for F1: on the latter).
Bases are 300 extremely randomised trees and one-vs-rest logistic regression, real-valued columns
standardised. Runs that are in the store are not done again. Data is found at
``../shared/data/mlc`` or ``$LOSSNET_DATA/mlc``; digits is the built-in digits-attributes.
"""

from __future__ import annotations

import argparse
import copy
import json
import re
import sys
import time
from typing import Any

import numpy as np
from label_decisions import parts
from runs import main, several
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from lossnet import StructuredClassifier
from lossnet.parameters import plain
from lossnet.reports import find, has, record, summarise
from lossnet.tasks.multilabel import get_metric

#: Data sets, and how many seeds of each ``--data all`` runs.
SETS = {"emotions": 3, "yeast": 3, "scene": 3, "digits": 3, "medical": 3, "genbase": 1,
        "bibtex": 1, "spo_fun": 1, "enron": 1}  # fmt: skip
BASES = ("extra-trees", "logistic-regression")
METRICS = ("subset-accuracy", "example-f1")
HOW = ("threshold", "decided", "structured")


def base(name: str, X: Any) -> Any:
    """An unfitted classifier for such rows."""
    if name == "extra-trees":
        return ExtraTreesClassifier(300, n_jobs=1)
    regression = LogisticRegression(solver="liblinear")
    if hasattr(X, "tocsr"):
        return OneVsRestClassifier(regression)
    steps = SimpleImputer(keep_empty_features=True), StandardScaler(), regression
    return OneVsRestClassifier(make_pipeline(*steps))


def alone(model: StructuredClassifier) -> StructuredClassifier:
    """The same model without its energy: the rules that are left need only the base."""
    found = copy.copy(model)
    found.model_ = copy.copy(model.model_)
    found.model_.nets_ = {"task": model.model_.nets_["task"]}
    return found


def measure(name: str, row: str, seed: int) -> tuple[dict[str, float], float, list[str]]:
    """Metrics of one fit on the test part, its processor seconds and the rules chosen."""
    data, began = parts(name), time.process_time()
    assert data.validation is not None
    assert data.test is not None
    model = StructuredClassifier(base(row, data.train.X), metric=METRICS[0], random_state=seed)
    model.fit(data.train, validation_data=data.validation)
    seconds = time.process_time() - began
    found, rules = {}, []
    for metric in METRICS:
        for how in HOW:
            own = model if how == "structured" else alone(model)
            own.set_params(metric=metric, decode="threshold" if how == "threshold" else "auto")
            if how != "structured" or metric != METRICS[0]:  # which the fit decided for
                own.tune_threshold(data.validation)
            predicted = own.predict(data.test.X)
            found[f"{how} {metric}"] = float(get_metric(metric)(data.test.Y, predicted))
            if how == "structured":
                rules.append(f"{metric}: {own.decision_.rule} {own.decision_.weight:g}")
    gain = model.structure_gain(data.test)
    found |= {"nats": gain.nats, "nats low": gain.low, "nats high": gain.high}
    return found, seconds, rules


def configuration() -> dict[str, Any]:
    """What a run is made of but base, data and seed."""
    settings = StructuredClassifier(None).get_params(deep=False)
    free = {"base", "method", "metric", "decode", "device", "random_state", "verbose"}
    kept = {key: value for key, value in settings.items() if key not in free}
    update = StructuredClassifier(None)._default_method().updates[0]
    objective = re.sub(r" at 0x[0-9a-f]+", "", str(update.objective))  # of functions in it
    return plain(kept | {"optimiser": update.optimiser, "objective": objective})


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store does not hold, seed by seed."""
    names = list(SETS) if arguments.data == ["all"] else arguments.data
    for seed in range(arguments.seeds or max(SETS.values())):
        for name in names:
            if arguments.seeds is None and seed >= SETS[name]:
                continue
            for row in arguments.bases:
                key = {"data": f"wrapper-{name}", "method": row, "seed": seed,
                       "configuration": configuration()}  # fmt: skip
                checksum = parts(name).train.checksum()
                if has(arguments.results, **key, data_checksum=checksum):
                    continue
                metrics, seconds, rules = measure(name, row, seed)
                record(arguments.results, command=" ".join(["python", *sys.argv]), metrics=metrics,
                       seconds=seconds, tags=rules, data_checksum=checksum, **key)  # fmt: skip
                shown = {k: round(v, 4) for k, v in metrics.items()}
                print(name, row, seed, shown, rules, f"{seconds:.0f} s", flush=True)


def table(arguments: argparse.Namespace) -> None:
    """The metric by set and base."""
    head = ["base, tuned threshold", "base, decided", "structured", "nats", "decided by"]
    print(f"| {arguments.metric} | base | n | {' | '.join(head)} |")
    print("|---" * (len(head) + 3) + "|")
    means: list[list[float]] = []
    for name in SETS:
        for row in BASES:
            runs = find(arguments.results, data=f"wrapper-{name}", method=row)
            now = json.loads(json.dumps(configuration(), default=str))
            runs = [run for run in runs if run.configuration == now]
            if not runs:
                continue
            columns = [[r.metrics[f"{how} {arguments.metric}"] for r in runs] for how in HOW]
            tags = [tag.partition(": ") for r in runs for tag in r.tags]
            rules = [rule for metric, _, rule in tags if metric == arguments.metric]
            counts = ", ".join(f"{rule} ({rules.count(rule)})" for rule in dict.fromkeys(rules))
            nats = np.mean([r.metrics["nats"] for r in runs])
            cells = [*map(summarise, columns), f"{nats:.2f}", counts]
            print(f"| {name} | {row} | {len(runs)} | {' | '.join(cells)} |")
            means.append([float(np.mean(column)) for column in columns])
    if means:
        cells = [f"{100 * mean:.1f}" for mean in np.mean(means, axis=0)]
        print(f"| mean | | | {' | '.join(cells)} | | |")


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        metric={"default": "subset-accuracy", "choices": METRICS},
        data={"nargs": "+", "default": ["all"], "choices": ["all", *SETS]},
        bases=several(BASES),
        seeds={"type": int, "help": "how many; by default as many as SETS says"},
    )
