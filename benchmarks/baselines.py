"""What one would take instead: scikit-learn on the same splits, the same threshold tuning.

    python benchmarks/baselines.py [--data bibtex ...]

One-vs-rest logistic regression (C chosen on validation), 300 extremely randomised trees, 10 nearest
neighbours by cosine, and the labels' frequencies, which do not read the input: at a tuned threshold
every row has the same labels. Real-valued features are standardised. Recorded in the results store
next to the methods' runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from multilabel import ALL_SETS, data
from sklearn.neighbors import KNeighborsClassifier

from lossnet.reports import has, record
from lossnet.tasks.multilabel import MultiLabelData, evaluate
from lossnet.tasks.multilabel.baselines import Fit, Probabilities, fit_best, together, trials
from lossnet.tasks.parts import Parts


def neighbours(X: Any, Y: np.ndarray, seed: int) -> Probabilities:
    """10 nearest neighbours by cosine."""
    return together(KNeighborsClassifier(10, metric="cosine", algorithm="brute"), X, Y)


def frequencies(X: Any, Y: np.ndarray, seed: int) -> Probabilities:
    """The share of the training rows that have each label, for every row."""
    shares = Y.mean(0)
    return lambda rows: np.tile(shares, (rows.shape[0], 1))


BASELINES: dict[str, list[tuple[dict[str, Any], Fit]]] = {
    **{name: trials(name) for name in ("logistic-regression", "extra-trees")},
    "nearest-neighbours": [({"k": 10}, neighbours)],
    "label-frequencies": [({}, frequencies)],
}


def measure(arguments: argparse.Namespace, name: str, baseline: str) -> None:
    """Fit every trial, keep the one best on validation, record its test metrics."""
    splits, checksum = data(name)
    key = {
        "data": name,
        "method": baseline,
        "seed": 0,
        "configuration": {"trials": arguments.trials},
    }
    if has(arguments.results, **key, data_checksum=checksum):
        return
    began = time.perf_counter()
    best = metrics(splits, BASELINES[baseline][: arguments.trials])
    record(
        arguments.results,
        command=" ".join(["python", *sys.argv]),
        data_checksum=checksum,
        metrics=best,
        seconds=time.perf_counter() - began,
        tags=["baseline"],
        **key,
    )
    print(
        name,
        baseline,
        f"{100 * best['example-f1']:.1f} {100 * best['example-f1 at 0.5']:.1f}",
        flush=True,
    )


def metrics(
    splits: Parts[MultiLabelData], trials: list[tuple[dict[str, Any], Fit]]
) -> dict[str, float]:
    """Metrics of the best trial at its tuned threshold, and F1 at 0.5."""
    assert splits.test is not None
    model, value = fit_best(trials, splits)
    proba = model.predict_proba(splits.test)
    at_half = evaluate(splits.test.Y, proba, 0.5)["example-f1"]
    return {
        **evaluate(splits.test.Y, proba, model.threshold_),
        "example-f1 at 0.5": at_half,
        "validation example-f1": float(value),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=ALL_SETS)
    parser.add_argument("--methods", nargs="+", default=list(BASELINES), choices=list(BASELINES))
    parser.add_argument("--trials", type=int, default=3, help="most trials of a baseline")
    parser.add_argument("--results", default=str(Path(__file__).parents[1] / "results"))
    arguments = parser.parse_args()
    for name in arguments.data:
        for baseline in arguments.methods:
            measure(arguments, name, baseline)


if __name__ == "__main__":
    main()
