"""Several task-nets and the default: what they add, and what they cost.

    OMP_NUM_THREADS=1 python benchmarks/members.py run --data emotions yeast --seeds 3   # resumable
    python benchmarks/members.py table

Cross-entropy and seal-nce with one net and with four, the library's other defaults, the threshold
tuned on validation rows; and ``MultiLabelClassifier()`` with its four nets and with one. Example F1
and exact match of the test part, and processor seconds of training.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from label_decisions import parts
from runs import Measured, each_once, main, several

from lossnet import MultiLabelClassifier
from lossnet.parameters import plain
from lossnet.reports import Run, find, summarise
from lossnet.tasks.multilabel import get_metric

SETS = ("emotions", "yeast", "scene", "medical", "enron", "bibtex")
ROWS: dict[str, dict[str, Any]] = {
    f"{method}, {members}": {"method": method, "members": members, "decode": "threshold"}
    for method in ("cross-entropy", "seal-nce")
    for members in (1, 4)
} | {"default": {}, "default, 1": {"members": 1}}
METRICS = ("example-f1", "subset-accuracy")
#: The row whose time is 1.
UNIT = "cross-entropy, 1"


def run(given: argparse.Namespace) -> None:
    """Fit and record what the store lacks, seed by seed."""
    each_once(
        given,
        "members",
        ROWS,
        checksum=lambda name: parts(name).train.checksum(),
        configuration=configuration,
        measure=measure,
    )


def configuration(row: str) -> dict[str, Any]:
    """What a run is made of but data and seed."""
    own, model = ROWS[row], MultiLabelClassifier(**ROWS[row])
    if "method" in own:
        return {"members": own["members"], "decode": "threshold",
                "method_params": model.resolved_method_params()}  # fmt: skip
    return dict(json.loads(json.dumps(dict(plain(model.resolved_params())), default=str)))


def measure(name: str, row: str, seed: int) -> Measured:
    """Metrics of one fit, and its processor seconds."""
    data, began = parts(name), time.process_time()
    model = MultiLabelClassifier(random_state=seed, **ROWS[row])
    model.fit(data.train, validation_data=data.validation)
    seconds = time.process_time() - began
    assert data.test is not None
    predicted = model.predict(data.test)
    found = {metric: float(get_metric(metric)(data.test.Y, predicted)) for metric in METRICS}
    return found | {"epochs": float(len(model.history_))}, seconds, ["members"]


def table(given: argparse.Namespace) -> None:
    """Mean and deviation over seeds, and times relative to one cross-entropy net's."""
    print("| data | nets | example F1 | exact match | time of a fit | of an epoch |")
    print("|---|---|---:|---:|---:|---:|")
    for name in SETS:
        runs = find(given.results, data=f"members-{name}")
        each = {row: [one for one in runs if one.method == row] for row in ROWS}
        for row, own in each.items():
            if own:
                cells = [summarise([one.metrics[metric] for one in own]) for metric in METRICS]
                seeds = {one.seed for one in own}
                unit = [one for one in each[UNIT] if one.seed in seeds]
                times = [f"{a / b:.1f}" for a, b in zip(_times(own), _times(unit), strict=False)]
                print(f"| {name} | {row} | {' | '.join([*cells, *times])} |")


def _times(runs: list[Run]) -> list[float]:
    """Seconds of a fit and of an epoch, means."""
    seconds = sum(one.seconds for one in runs)
    return [seconds / len(runs), seconds / sum(one.metrics["epochs"] or 0 for one in runs)]


if __name__ == "__main__":
    main(__doc__, run, table, data=several(SETS), seeds={"type": int, "default": 3})
