"""Loss curves of small runs, by one process or, as a program under torchrun, by several."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from small_runs import make_nets, make_trainer, rows

from lossnet.recipes import build
from lossnet.training import Arrays, Callback, Trainer
from lossnet.training.processes import join, leave
from lossnet.training.weights import WeightedRows

#: Methods and what is particular to their runs.
RUNS: dict[str, dict[str, Any]] = {
    "cross-entropy": {},
    "seal-nce": {},
    "infnet-plus": {},
    "alen": {},
    "dvn": {"max_epochs": 1},
    "implicit-nce": {"max_epochs": 1},
    "seal-ranking": {"accumulate": 2, "max_epochs": 1},
    "seal-regression": {"weighted": True, "max_epochs": 1},
}


class Curve(Callback):
    """Keeps the losses of every batch."""

    def __init__(self) -> None:
        self.losses: list[dict[str, float]] = []

    def on_batch(self, trainer: Trainer, losses: Mapping[str, float]) -> None:
        self.losses.append(dict(losses))


def curve(name: str) -> list[dict[str, float]]:
    """The losses of 50 batches and more: float64, no dropout, candidates drawn per row."""
    options = {"max_epochs": 13, **RUNS[name]}
    method, kept = build(name), Curve()
    nets = make_nets(method, dropout=0.0)
    for net in nets.values():
        net.double()
    # 49 rows in batches of 16: the last has one row, which only one process can have.
    source: Any = Arrays(*rows(49)).double()
    if options.pop("weighted", False):
        source = WeightedRows(source, np.linspace(0.1, 2.0, 49))
    how = {"draw_by_row": True, "batch_size": 16, "callbacks": [kept], **options}
    history = make_trainer(method, nets=nets, data=source, **how).run()
    return [*kept.losses, *history]


if __name__ == "__main__":
    processes = join()
    curves = {name: curve(name) for name in RUNS}
    if processes.first:
        Path(sys.argv[1]).write_text(json.dumps(curves), encoding="utf-8")
    leave()
