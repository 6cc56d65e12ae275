"""Few labelled rows and many unlabelled ones: what unlabelled rows add.

    python benchmarks/few_labels.py run --data yeast emotions --seeds 5    # resumable
    python benchmarks/few_labels.py table

A seed draws the labelled rows from the training part; the others lose their labels. Validation rows
are held out from the labelled ones, as ``fit`` does by itself. Every row has the library's
defaults and is measured on the test part:

- ``cross-entropy`` and ``learned loss`` train on the labelled rows;
- ``pseudo-labels`` is cross-entropy trained again on all rows, those without labels with what the
  first fit predicts for them;
- ``learned loss, unlabelled`` follows the loss-net on the unlabelled rows too;
- ``default`` is ``MultiLabelClassifier()``, without and with the unlabelled rows.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from multilabel import DATA
from runs import main, several

from lossnet.papers.data_sets import DATA_SETS
from lossnet.reports import find, has, record, summarise
from lossnet.tasks.multilabel import digits_attributes, load_splits
from lossnet.tasks.parts import Parts
from lossnet.tasks.registry import task_named

ROOT = DATA.parent


@dataclass(frozen=True)
class Problem:
    """How many rows are labelled, which metrics count, and which learned loss is tried."""

    labelled: int
    metrics: tuple[str, ...] = ("example-f1", "subset-accuracy")
    method: str = "seal-nce"
    task: str = "multilabel"
    read: Callable[[], Parts[Any]] | None = None
    settings: dict[str, Any] = field(default_factory=dict)


def _of_papers(name: str) -> Callable[[], Parts[Any]]:
    return lambda: DATA_SETS[name].load(ROOT)[0]


PROBLEMS = {
    "yeast": Problem(100),
    "emotions": Problem(60),
    "enron": Problem(150),
    "digits-attributes": Problem(100, read=digits_attributes),
    "twitter_pos": Problem(
        100,
        ("accuracy",),
        task="sequence",
        read=_of_papers("twitter_pos"),
        settings=DATA_SETS["twitter_pos"].own_settings(ROOT),
    ),
    "horses": Problem(
        20,
        ("mean-iou",),
        "seal-regression",
        "image",
        _of_papers("horses"),
        DATA_SETS["horses"].own_settings(ROOT),
    ),
}
ROWS = ("cross-entropy", "pseudo-labels", "learned loss", "learned loss, unlabelled")
#: Of labels alone: the other estimators' default is cross-entropy.
DEFAULTS = ("default", "default, unlabelled")
_LOADED: dict[str, Parts[Any]] = {}


def parts(name: str) -> Parts[Any]:
    """All rows of a problem, read once."""
    if name not in _LOADED:
        read = PROBLEMS[name].read
        _LOADED[name] = read() if read else load_splits(DATA / name)
    return _LOADED[name]


def drawn(name: str, seed: int) -> tuple[Any, Any]:
    """The labelled rows, and the others without their labels."""
    train = parts(name).train
    rows = np.random.default_rng(seed).permutation(len(train))
    count = PROBLEMS[name].labelled
    return train.subset(np.sort(rows[:count])), train.subset(np.sort(rows[count:])).without_labels()


def estimator(name: str, row: str, seed: int) -> Any:
    """The estimator of a row."""
    problem = PROBLEMS[name]
    make: Any = task_named(problem.task).estimator
    if row in DEFAULTS:
        return make(random_state=seed, **problem.settings)
    method = problem.method if row.startswith("learned") else "cross-entropy"
    return make(method, random_state=seed, **problem.settings)


def fitted(name: str, row: str, seed: int) -> Any:
    """The row's model."""
    labelled, others = drawn(name, seed)
    model = estimator(name, row, seed)
    if row.endswith("unlabelled"):
        return model.fit(labelled, unlabelled=others)
    model.fit(labelled)
    if row != "pseudo-labels":
        return model
    guessed = _with_guesses(PROBLEMS[name].task, model, others)
    # Early stopping watches true labels alone: those that the first fit held out.
    rest, held, _ = model._split(model._data(labelled), None, seed)
    joined = type(rest).join({"labelled": rest, "guessed": model._data(guessed)})
    return estimator(name, row, seed).fit(joined, validation_data=held)


def _with_guesses(task: str, model: Any, others: Any) -> Any:
    """The unlabelled rows with what the model predicts for them."""
    from dataclasses import replace

    predicted = model.predict(others)
    if task == "multilabel":
        return replace(others, Y=predicted, label_names=list(model.label_names_))
    return replace(others, **{"sequence": {"tags": predicted}, "image": {"masks": predicted}}[task])


def rows_of(name: str, wanted: Sequence[str]) -> list[str]:
    """The wanted rows that a problem has."""
    known = ROWS + (DEFAULTS if PROBLEMS[name].task == "multilabel" else ())
    return [row for row in wanted if row in known]


def run(arguments: argparse.Namespace) -> None:
    """Fit and record what the store lacks."""
    for seed in range(arguments.seeds):
        for name in arguments.data:
            checksum = parts(name).train.checksum()
            for row in rows_of(name, arguments.rows):
                model, problem = estimator(name, row, seed), PROBLEMS[name]
                settings = {k: v for k, v in problem.settings.items() if k != "vectors"}
                own = {"labelled": problem.labelled, "method": model.method, **settings}
                own["method_params"] = model.resolved_method_params()
                key = {"data": f"few-{name}", "method": row, "seed": seed, "configuration": own}
                if has(arguments.results, **key, data_checksum=checksum):
                    continue
                began = time.process_time()
                task = task_named(problem.task)
                values = task.flat(task.measure(fitted(name, row, seed), parts(name).test))
                record(
                    arguments.results,
                    command=" ".join(["python", *sys.argv]),
                    data_checksum=checksum,
                    metrics={metric: values[metric] for metric in problem.metrics},
                    seconds=time.process_time() - began,
                    tags=["few labels"],
                    **key,
                )
                shown = ", ".join(f"{m} {100 * values[m]:.1f}" for m in problem.metrics)
                print(name, seed, row, shown, f"{time.process_time() - began:.0f} s", flush=True)


def table(arguments: argparse.Namespace) -> None:
    """Mean and deviation over the draws, and how many there are."""
    print("| data, labelled | metric |", " | ".join(ROWS + DEFAULTS), "|")
    print("|---|---|" + "---:|" * len(ROWS + DEFAULTS))
    for name, problem in PROBLEMS.items():
        runs = find(arguments.results, data=f"few-{name}")
        for metric in problem.metrics if runs else ():
            cells = []
            for row in ROWS + DEFAULTS:
                values = [one.metrics[metric] for one in runs if one.method == row]
                cells.append(f"{summarise(values)} (n={len(values)})" if values else "")
            print(f"| {name}, {problem.labelled} | {metric} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        data=several(PROBLEMS),
        rows=several(ROWS + DEFAULTS),
        seeds={"type": int, "default": 5, "help": "draws of the labelled rows"},
    )
