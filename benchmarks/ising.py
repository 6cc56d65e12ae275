"""How much of the gap to the Bayes-optimal prediction a learned loss closes.

    python benchmarks/ising.py run [--seeds 5]     # resumable: runs in the store are kept
    python benchmarks/ising.py table

The labels of ``ising`` follow a pairwise model that can be enumerated, so the best possible exact
match is known. Cross-entropy learns each label's marginal; the most probable label set is not the
set of most probable labels once the labels are coupled. Every method has the same network, epochs
and threshold tuning for exact match; of each method's trials the one with the best mean over the
validation rows of all seeds is shown. A fit is measured with its tuned threshold and as
``decode="auto"`` decides, for exact match and, the decision tuned again on validation rows, for
example F1.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np
from runs import main

from lossnet import MultiLabelClassifier
from lossnet.reports import Run, find, has, record, summarise
from lossnet.tasks.multilabel import Ising, MultiLabelData, get_metric, ising
from lossnet.tasks.parts import Parts

COUPLINGS = (0.0, 3.0)
NETWORK: dict[str, Any] = {
    "hidden": [200, 200],
    "dropout": 0.2,
    "batch_size": 64,
    "max_epochs": 60,
    "patience": 12,
    "metric": "subset-accuracy",
}
#: Two trials a method.
TRIALS: dict[str, list[dict[str, Any]]] = {
    "cross-entropy": [{}, {"task_optimiser": {"lr": 1e-3}}],
    "seal-nce": [
        {"energy_weight": 1.0, "xent_weight": 0.1, "entropy_weight": weight}
        for weight in (0.0, 1.0)
    ],
    "seal-static-nce": [{}, {"energy_optimiser": {"lr": 2e-3}}],
}
#: The metrics that are measured, by the name that Ising's Bayes values have.
METRICS = {"exact match": "subset-accuracy", "f1": "example-f1"}
VALIDATED = "validation exact match"


def run(arguments: argparse.Namespace) -> None:
    """Fit every trial of every method on every seed."""
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        for coupling in arguments.couplings:
            for method, trials in TRIALS.items():
                for trial in trials:
                    fit(arguments, coupling, method, trial, seed)


def name_of(coupling: float) -> str:
    return f"ising-{coupling:g}"


def best_runs(arguments: argparse.Namespace, coupling: float, method: str) -> list[Run]:
    """The runs of the trial with the best mean validation exact match."""
    trials: dict[str, list[Run]] = {}
    for one in find(arguments.results, data=name_of(coupling), method=method):
        trials.setdefault(str(one.configuration["method_params"]), []).append(one)

    def validated(runs: list[Run]) -> float:
        return float(np.mean([run.metrics[VALIDATED] or 0.0 for run in runs]))

    return max(trials.values(), key=validated, default=[])


def fit(
    arguments: argparse.Namespace, coupling: float, method: str, trial: dict[str, Any], seed: int
) -> None:
    """Fit and record one run, unless the store holds it. The seed draws the model as well."""
    splits = ising(coupling=coupling, seed=seed)
    assert splits.validation is not None
    assert splits.test is not None
    settings = {**NETWORK, "method_params": trial}
    key = {
        "data": name_of(coupling),
        "method": method,
        "seed": seed,
        "configuration": {**settings, "decode": "auto"},
    }
    if has(arguments.results, **key):
        return
    began = time.perf_counter()
    model = MultiLabelClassifier(method, random_state=seed, **settings)
    validation = (splits.validation.X, splits.validation.Y)
    model.fit(splits.train.X, splits.train.Y, validation_data=validation)
    seconds = time.perf_counter() - began
    metrics = {VALIDATED: max([*model.decision_.tried.values(), model.best_metric_ or 0.0])}
    truth = Ising(coupling=coupling, seed=seed)
    for name, metric in METRICS.items():
        metrics |= measured(model, splits, name, metric)
        metrics[f"bayes {name}"] = float(truth.bayes_value(splits.test.X, metric).mean())
    record(
        arguments.results,
        command=" ".join(["python", *sys.argv]),
        data_checksum=splits.train.checksum(),
        metrics=metrics,
        seconds=seconds,
        **key,
    )
    print(coupling, method, trial, seed, metrics, f"{seconds:.0f} s", flush=True)


def measured(
    model: MultiLabelClassifier, splits: Parts[MultiLabelData], name: str, metric: str
) -> dict[str, float]:
    """A metric of the test rows, with the tuned threshold and as decided for it."""
    assert splits.validation is not None
    assert splits.test is not None
    model.set_params(metric=metric, decode="auto")
    model.tune_threshold(splits.validation)
    value = get_metric(metric)
    found = {name: value(splits.test.Y, model.predict(splits.test.X))}
    model.set_params(decode="threshold")
    return found | {f"{name}, threshold": value(splits.test.Y, model.predict(splits.test.X))}


def table(arguments: argparse.Namespace) -> None:
    """Each metric by method and rule, and the share of cross-entropy's gap to Bayes closed."""
    print("| coupling | metric | method | n | Bayes | threshold | decided | gap closed |")
    print("|---" * 8 + "|")
    for coupling in arguments.couplings:
        best = {method: best_runs(arguments, coupling, method) for method in TRIALS}
        base = best["cross-entropy"]
        for metric in METRICS:
            for method, runs in best.items():
                own = {r.seed: r.metrics for r in runs}
                pairs = [(own[r.seed], r.metrics) for r in base if r.seed in own]
                if pairs:
                    print(f"| {coupling:g} | {metric} | {method} | {_cells(pairs, metric)} |")


def _cells(pairs: list[tuple[dict[str, Any], dict[str, Any]]], metric: str) -> str:
    """Count, Bayes, threshold, decided and gap closed, of runs next to cross-entropy's."""
    names = f"bayes {metric}", f"{metric}, threshold", metric
    bayes, cut, decided = ([own[name] for own, _ in pairs] for name in names)
    start = sum(base[f"{metric}, threshold"] for _, base in pairs)
    gap = sum(bayes) - start
    small = gap / len(pairs) < 0.02
    closed = "-" if small else f"{100 * (sum(decided) - start) / gap:.0f} %"
    cells = [str(len(pairs)), *(summarise(values) for values in (bayes, cut, decided)), closed]
    return " | ".join(cells)


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        couplings={"type": float, "nargs": "+", "default": list(COUPLINGS)},
        seeds={"type": int, "default": 5},
        first_seed={"type": int, "default": 0},
    )
