"""DVN as published, on bibtex's official parts: F1 at 0.5 (the DVN paper: 44.7).

    python benchmarks/dvn.py run     # resumable: runs in the store are kept
    python benchmarks/dvn.py table

The published value network: 150 hidden and 16 global units, 20 plain steps of 0.5 on the value. The
weight decay is chosen on 15 % of the training rows; then, as in the published code, all training
rows are fitted, for a fixed number of epochs.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from multilabel import DATA, OFFICIAL, official
from runs import main

from lossnet import MultiLabelClassifier
from lossnet.reports import Run, find, has, record, summarise
from lossnet.tasks.multilabel import MultiLabelData, get_metric, load_files

SETTINGS: dict[str, Any] = {
    "hidden": [150],
    "global_hidden": 16,
    "dropout": 0.0,
    "batch_size": 32,
    "max_epochs": 40,
    "threshold": 0.5,
    "validation_fraction": 0.0,
}
DECAYS = (0.06, 0.2, 0.5)
ROW = "dvn, published net"


def run(arguments: argparse.Namespace) -> None:
    """Choose the weight decay on held-out rows, then fit all of them."""
    parts = official()
    assert parts.validation is not None
    for decay in DECAYS:
        fit(arguments, decay, 0, "search", parts.train, parts.validation)
    best = max(searched(arguments), key=lambda one: one.metrics["example-f1 at 0.5"] or 0.0)
    train, test = load_files([DATA / "bibtex" / f"bibtex-{p}.arff" for p in ("train", "test")])
    for seed in range(arguments.seeds):
        fit(arguments, best.configuration["weight_decay"], seed, "all rows", train, test)


def searched(arguments: argparse.Namespace) -> list[Run]:
    """The runs that chose the weight decay."""
    return find(arguments.results, data=OFFICIAL, method=ROW, tags="search")


def fit(
    arguments: argparse.Namespace,
    decay: float,
    seed: int,
    stage: str,
    train: MultiLabelData,
    held_out: MultiLabelData,
) -> None:
    """One fit and its F1 on rows it has not seen, unless the store holds it."""
    params = {"energy_optimiser": {"weight_decay": decay}}
    model = MultiLabelClassifier("dvn", random_state=seed, method_params=params, **SETTINGS)
    resolved = model.resolved_method_params()
    own = {"weight_decay": decay, "stage": stage, "method_params": resolved}
    key = {"data": OFFICIAL, "method": ROW, "seed": seed, "configuration": {**SETTINGS, **own}}
    if has(arguments.results, **key, data_checksum=train.checksum()):
        return
    began = time.process_time()
    model.fit(train.X, train.Y)
    seconds = time.process_time() - began
    value = get_metric("example-f1")(held_out.Y, model.predict(held_out.X))
    record(
        arguments.results,
        command=" ".join(["python", *sys.argv]),
        data_checksum=train.checksum(),
        metrics={"example-f1 at 0.5": value},
        seconds=seconds,
        tags=[stage],
        **key,
    )
    print(stage, decay, seed, f"{100 * value:.2f}", f"{seconds:.0f} s", flush=True)


def table(arguments: argparse.Namespace) -> None:
    """F1 at 0.5: held-out rows by weight decay, and the official test part."""
    print("| rows | weight decay | n | F1 at 0.5 | seconds |\n|---|---|---|---|---|")
    for stage in ("search", "all rows"):
        for decay in DECAYS:
            runs = [
                one
                for one in find(arguments.results, data=OFFICIAL, method=ROW, tags=stage)
                if one.configuration["weight_decay"] == decay
            ]
            if runs:
                rows = {"search": "85 %, measured on the others", "all rows": "all, test part"}
                value = summarise([one.metrics["example-f1 at 0.5"] for one in runs])
                seconds = summarise([one.seconds for one in runs], percent=False, digits=0)
                print(f"| {rows[stage]} | {decay:g} | {len(runs)} | {value} | {seconds} |")


if __name__ == "__main__":
    main(__doc__, run, table, seeds={"type": int, "default": 3})
