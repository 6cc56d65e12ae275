"""The loss-net's features on bibtex: what each choice of ``energy_features`` costs and gives.

    OMP_NUM_THREADS=1 python benchmarks/features.py cost    # milliseconds of a seal-nce step
    OMP_NUM_THREADS=1 python benchmarks/features.py fit --seeds 0 1 2

``cost`` compares steps of one energy step each with cross-entropy's, interleaved on one thread.
``fit`` takes the library's defaults and prints F1 on validation and test rows, the threshold tuned
on validation rows. ``--results FOLDER`` records them.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from multilabel import data
from speed import BATCH, method_epoch
from timing import measure

from lossnet import MultiLabelClassifier
from lossnet.reports import record
from lossnet.tasks.method_checks import ENERGY_FEATURES
from lossnet.tasks.multilabel import evaluate

STEPS = 20


def costs(repeats: int) -> dict[str, float]:
    """Milliseconds of a step by its name, in the quickest of interleaved epochs."""
    train = data("bibtex")[0].train
    X, Y = (part[: STEPS * BATCH] for part in (train.X, train.Y))
    jobs = {"cross-entropy": method_epoch(X, Y, "cross-entropy")}
    for features, shared in (("own", None), ("shared", "task")):
        params: dict[str, Any] = {"energy_steps": 1, "task_steps": 1}
        jobs[f"seal-nce, {features}"] = method_epoch(X, Y, "seal-nce", shared=shared, **params)
    for _ in range(4):  # past the first epochs, whose samples are dense
        for job in jobs.values():
            job()
    return {
        name: 1000 * seconds / STEPS for name, seconds in measure(jobs, repeats, pick=min).items()
    }


def fit(features: str, seed: int) -> dict[str, float]:
    """F1 of one fit on validation and test rows, and how long it took."""
    splits, _ = data("bibtex")
    began = time.perf_counter()
    model = MultiLabelClassifier("seal-nce", energy_features=features, random_state=seed)
    model.fit(splits.train, validation_data=splits.validation)
    seconds = time.perf_counter() - began
    Y, proba = splits.test.Y, model.predict_proba(splits.test)
    tuned, fixed = (evaluate(Y, proba, threshold=t) for t in (model.threshold_, 0.5))
    return {
        "validation F1": float(model.best_metric_ or 0.0),
        "test F1": tuned["example-f1"],
        "test F1 at 0.5": fixed["example-f1"],
        "epochs": float(len(model.history_)),
        "seconds": seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["cost", "fit"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--features", nargs="+", choices=ENERGY_FEATURES, default=ENERGY_FEATURES)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--results", help="folder of the results store")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.what == "cost":
        found = costs(arguments.repeats)
        for name, value in found.items():
            print(f"{name:20s} {value:6.2f} ms  {value / found['cross-entropy']:5.2f}x")
        keep(arguments, "cost", 0, found)
        return
    for seed in arguments.seeds:
        for features in arguments.features:
            found = fit(features, seed)
            values = "  ".join(f"{name} {value:.4g}" for name, value in found.items())
            print(f"{features:7s} seed {seed}  {values}", flush=True)
            keep(arguments, features, seed, found)


def keep(arguments: argparse.Namespace, method: str, seed: int, metrics: dict[str, float]) -> None:
    """Record a run where a store was named."""
    if arguments.results:
        record(
            arguments.results,
            command=f"python benchmarks/features.py {arguments.what}",
            data="bibtex-features",
            data_checksum=data("bibtex")[1],
            method=method,
            seed=seed,
            configuration={"method": "seal-nce"},
            metrics=metrics,
            seconds=metrics.get("seconds", 0.0),
        )


if __name__ == "__main__":
    main()
