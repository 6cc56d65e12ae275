"""How long training on bibtex takes to a validation F1 that every row reaches.

    OMP_NUM_THREADS=1 python benchmarks/time_to_f1.py run --seeds 3    # what the store lacks
    OMP_NUM_THREADS=1 python benchmarks/time_to_f1.py table            # medians, and as ratios

The F1 is :data:`TARGET`, fixed before anything was measured: the example F1 of the validation part
at its best threshold, as early stopping sees it. A fit ends with the first epoch that reaches it.
Seconds are of this process's CPU, with validation, so that other programs on the machine count
little. Runs that are in the store are not done again: it may be stopped and taken up.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from typing import Any

from multilabel import NETWORK, data
from runs import Measured, each_once, main, several

from lossnet import Callback, MultiLabelClassifier, Trainer
from lossnet.reports import find

TARGET = 0.40
PREFIX, SET = "time-to-f1", "bibtex"
#: The rows: a method and what it sets.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "cross-entropy": ("cross-entropy", {}),
    "seal-nce, 1 energy step": ("seal-nce", {"energy_steps": 1}),
    "seal-nce, 2 energy steps": ("seal-nce", {"energy_steps": 2}),
}
SETTINGS: dict[str, Any] = {"max_epochs": 60, "patience": 60, "metric": "example-f1"}


class UntilReached(Callback):
    """Ends training at the first epoch that reaches the target, and notes the CPU's seconds."""

    def __init__(self) -> None:
        self.seconds, self.epochs = math.nan, 0

    def on_start(self, trainer: Trainer) -> None:
        self._began = time.process_time()

    def on_epoch(self, trainer: Trainer) -> None:
        self.epochs += 1
        if trainer.history[-1]["metric"] >= TARGET:
            self.seconds = time.process_time() - self._began
            trainer.stop()


def measure(name: str, row: str, seed: int) -> Measured:
    """One fit until it reaches the target."""
    method, params = ROWS[row]
    parts, reached = data(name)[0], UntilReached()
    model = MultiLabelClassifier(
        method, method_params=params, random_state=seed, **NETWORK, **SETTINGS
    )
    began = time.perf_counter()
    model.fit(parts.train, validation_data=parts.validation, callbacks=[reached])
    metrics = {"seconds": reached.seconds, "epochs": float(reached.epochs)}
    if math.isnan(reached.seconds):
        raise SystemExit(f"{row}, seed {seed}: F1 stayed below {TARGET} in {reached.epochs} epochs")
    return metrics, time.perf_counter() - began, [PREFIX]


def run(given: argparse.Namespace) -> None:
    """Fit what the store lacks."""
    given.data = [SET]
    each_once(
        given,
        PREFIX,
        given.rows,
        checksum=lambda name: data(name)[0].train.checksum(),
        configuration=lambda row: {"row": ROWS[row], "target": TARGET, **NETWORK, **SETTINGS},
        measure=measure,
    )


def table(given: argparse.Namespace) -> None:
    """Medians over the seeds in the store, next to cross-entropy's."""
    found = {row: find(given.results, data=f"{PREFIX}-{SET}", method=row) for row in ROWS}
    base = None
    for row, runs in found.items():
        if not runs:
            print(f"{row:26s} no runs")
            continue
        seconds = statistics.median(run.metrics["seconds"] for run in runs)
        epochs = statistics.median(run.metrics["epochs"] for run in runs)
        base = seconds if base is None else base
        ratio = f"{seconds / base:4.2f}x"
        print(f"{row:26s} {seconds:7.1f} s  {ratio}  {epochs:4.0f} epochs  {len(runs)} seeds")


if __name__ == "__main__":
    main(__doc__, run, table, seeds={"type": int, "default": 3}, rows=several(ROWS))
