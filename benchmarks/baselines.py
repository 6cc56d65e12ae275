"""What one would take instead: scikit-learn on the same splits, the same threshold tuning.

    python benchmarks/baselines.py [--data bibtex ...]

One-vs-rest logistic regression (C chosen on validation), 300 extremely randomised trees and 10
nearest neighbours by cosine; real-valued features are standardised. Recorded in the results store
next to the methods' runs.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from multilabel import ALL_SETS, data
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from lossnet.reports import has, record
from lossnet.tasks.multilabel import MultiLabelData, evaluate, tune_threshold
from lossnet.tasks.multilabel.imputer import Imputer
from lossnet.tasks.parts import Parts
from lossnet.tasks.standardiser import Standardiser

Probabilities = Callable[[Any], np.ndarray]


def logistic(X: Any, Y: np.ndarray, C: float) -> Probabilities:
    """One model a label; a label with one value in training keeps it."""
    models = [
        LogisticRegression(C=C, solver="liblinear").fit(X, column)
        if 0 < column.sum() < len(Y)
        else float(column[0])
        for column in Y.T
    ]

    def probabilities(rows: Any) -> np.ndarray:
        return np.column_stack(
            [
                np.full(rows.shape[0], model)
                if isinstance(model, float)
                else model.predict_proba(rows)[:, 1]
                for model in models
            ]
        )

    return probabilities


def together(model: Any, X: Any, Y: np.ndarray) -> Probabilities:
    """A scikit-learn classifier that takes the complete indicator matrix."""
    model.fit(X, Y)

    def probabilities(rows: Any) -> np.ndarray:
        columns = []
        for label, proba in enumerate(model.predict_proba(rows)):
            classes = list(model.classes_[label])
            columns.append(proba[:, classes.index(1)] if 1 in classes else np.zeros(len(proba)))
        return np.column_stack(columns)

    return probabilities


BASELINES: dict[str, list[tuple[dict[str, Any], Callable[[Any, np.ndarray], Probabilities]]]] = {
    "logistic-regression": [
        ({"C": C}, lambda X, Y, C=C: logistic(X, Y, C)) for C in (0.3, 1.0, 3.0)
    ],
    "extra-trees": [
        ({"trees": 300}, lambda X, Y: together(ExtraTreesClassifier(300, random_state=0), X, Y))
    ],
    "nearest-neighbours": [
        (
            {"k": 10},
            lambda X, Y: together(
                KNeighborsClassifier(10, metric="cosine", algorithm="brute"), X, Y
            ),
        )
    ],
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
    best = max(
        (trial(splits, fit) for _, fit in BASELINES[baseline][: arguments.trials]),
        key=lambda found: found["validation example-f1"],
    )
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


def trial(
    splits: Parts[MultiLabelData], fit: Callable[[Any, np.ndarray], Probabilities]
) -> dict[str, float]:
    """Metrics of one fit at its tuned threshold, and F1 at 0.5."""
    assert splits.validation is not None
    assert splits.test is not None
    impute = Imputer.of(splits.train.X)
    standardise = Standardiser.of(impute(splits.train.X), "auto") or (lambda X: X)
    probabilities = fit(standardise(impute(splits.train.X)), splits.train.Y)
    held_out = probabilities(standardise(impute(splits.validation.X)))
    threshold, value = tune_threshold(splits.validation.Y, held_out)
    proba = probabilities(standardise(impute(splits.test.X)))
    at_half = evaluate(splits.test.Y, proba, 0.5)["example-f1"]
    return {
        **evaluate(splits.test.Y, proba, threshold),
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
