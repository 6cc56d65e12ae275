"""Train the methods of a task over seeds; every run goes into a results store."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.demo.plan import Entry, Task
from lossnet.files import read_json
from lossnet.reports import Run, record
from lossnet.tasks.multilabel.classifier import MultiLabelClassifier
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.digits import contradicts
from lossnet.tasks.multilabel.metric_registry import evaluate
from lossnet.tasks.multilabel.splits import Splits
from lossnet.tasks.multilabel.thresholds import apply_threshold

Labels = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Outcome:
    """The runs of a task, and what the methods predicted on the first seed's test rows.

    Args:
        test: the first seed's test rows.
        runs: one for each entry and seed.
        predictions: entry to 0/1 labels of the test rows.
    """

    test: MultiLabelData
    runs: list[Run] = field(default_factory=list)
    predictions: dict[str, Labels] = field(default_factory=dict)


def run_task(
    task: Task,
    seeds: Sequence[int],
    store: str | Path,
    *,
    command: str,
    tell: Callable[[str], None] = print,
) -> Outcome:
    """Train every entry on every seed's data and record the runs.

    Args:
        task: what to train.
        seeds: each draws its own data and its own weights.
        store: folder of the results store.
        command: how to repeat it.
        tell: called with one line a run.
    """
    outcome: Outcome | None = None
    for seed in seeds:
        splits = task.data(seed)
        assert splits.test is not None
        outcome = outcome or Outcome(splits.test)
        for name, entry in task.entries.items():
            predicted, metrics, seconds = _train(task, entry, splits, seed)
            if seed == seeds[0]:
                outcome.predictions[name] = predicted
            path = record(
                store,
                command=command,
                data=task.name,
                data_checksum=splits.test.checksum(),
                method=name,
                seed=seed,
                configuration={**task.estimator, **asdict(entry)},
                metrics=metrics,
                seconds=seconds,
                tags=["demo"],
            )
            outcome.runs.append(Run(**read_json(path)))
            count = f"{len(outcome.runs)}/{len(seeds) * len(task.entries)}"
            exact = 100 * metrics["subset-accuracy"]
            tell(
                f"[{count}] {task.name}, seed {seed}, {name}: exact match {exact:.1f} %, "
                f"{seconds:.1f} s"
            )
    assert outcome is not None
    return outcome


def _train(
    task: Task, entry: Entry, splits: Splits, seed: int
) -> tuple[Labels, dict[str, float], float]:
    """Predicted labels of the test rows, their metrics, and seconds of training."""
    assert splits.validation is not None
    assert splits.test is not None
    model = MultiLabelClassifier(
        entry.method,
        method_params=entry.params,
        refine=entry.refine,
        random_state=seed,
        **task.estimator,
    )
    held_out = (splits.validation.X, splits.validation.Y)
    began = time.perf_counter()
    model.fit(splits.train.X, splits.train.Y, validation_data=held_out)
    seconds = time.perf_counter() - began
    proba = model.predict_proba(splits.test.X)
    predicted = apply_threshold(proba, model.threshold_)
    metrics = evaluate(splits.test.Y, proba, model.threshold_)
    if task.taxonomy:
        metrics["contradictions"] = float(contradicts(predicted).mean())
    return predicted, metrics, seconds
