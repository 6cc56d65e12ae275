"""Small runs by one process or, as a program under torchrun, by several."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch.distributed as dist
from small_runs import exact_match, make_nets, make_trainer, rows, weights
from torch import nn

from lossnet import MultiLabelClassifier
from lossnet.errors import LossnetError
from lossnet.recipes import build
from lossnet.training import Arrays, Callback, Checkpoint, Trainer, join, resume
from lossnet.training.processes import current, leave
from lossnet.training.weights import WeightedRows

#: Methods whose loss curves are compared, and what is particular to their runs.
RUNS: dict[str, dict[str, Any]] = {
    "cross-entropy": {},
    "seal-nce": {},
    "infnet-plus": {},
    "alen": {},
    "dvn": {"max_epochs": 1},
    "implicit-nce": {"max_epochs": 1},
    "seal-ranking": {"max_epochs": 1, "accumulate": 2},
    "seal-regression": {"max_epochs": 1, "weighted": True},
    "seal-margin": {"max_epochs": 1, "unlabelled": True},
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
    # 49 rows in batches of 16: the last has one row, which only one process can have.
    source: Any = Arrays(*rows(49)).double()
    if options.pop("weighted", False):
        source = WeightedRows(source, np.linspace(0.1, 2.0, 49))
    if options.pop("unlabelled", False):
        from lossnet.recipes.parts import following_unlabelled

        method = following_unlabelled(method, 0.7)
        options["unlabelled"] = Arrays(rows(30, seed=1)[0]).double()
    nets = make_nets(method, dropout=0.0)
    for net in nets.values():
        net.double()
    how = {"draw_by_row": True, "batch_size": 16, "callbacks": [kept], **options}
    history = make_trainer(method, nets=nets, data=source, **how).run()
    return [*kept.losses, *history]


class Halt(Callback):
    """Ends training after two epochs, as a kill would: checkpoints come before it."""

    def on_epoch(self, trainer: Trainer) -> None:
        if trainer.epoch == 2:
            raise InterruptedError("halted")


def trained(path: Path, *, halt: bool = False, again: bool = False) -> str:
    """A checksum of the nets of a run with dropout, validation and a checkpoint, maybe resumed."""
    method = build("seal-nce")
    nets = make_nets(method)
    trainer = make_trainer(method, nets=nets, score=exact_match(nets), max_epochs=4)
    if again:
        resume(path, trainer, {})
    trainer.callbacks += [Checkpoint(path, {}, seconds=0.0), *([Halt()] if halt else [])]
    try:
        trainer.run()
    except InterruptedError:
        return "halted"
    digest = hashlib.sha256()
    for own in weights(trainer).values():
        for tensor in own.values():
            digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


def message_of(call: Callable[[], object]) -> str:
    """What the error says that a call raises."""
    try:
        call()
    except LossnetError as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def refusals(folder: Path) -> dict[str, str]:
    """The errors of processes that do not fit together."""
    own = current().rank
    X, Y = rows()
    plain: dict[str, Any] = {"hidden": (8,), "max_epochs": 1}

    def fit(X: np.ndarray, *, checkpoint: Path | None = None, **params: Any) -> None:
        MultiLabelClassifier("seal-nce", **plain, **params).fit(X, Y, checkpoint=checkpoint)

    def normalising() -> None:
        net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 4))
        make_trainer(build("cross-entropy"), nets={"task": net})

    (folder / "file").touch()
    return {
        "data": message_of(lambda: fit(X + own)),
        "parameter": message_of(lambda: fit(X, batch_size=8 + own)),
        "unwritable": message_of(lambda: fit(X, checkpoint=folder / "file" / "checkpoint")),
        "normalising": message_of(normalising),
    }


def found(folder: Path) -> dict[str, Any]:
    """What the tests compare, of this process."""
    checkpoint = folder / "halted.safetensors"
    X, Y = rows()
    model = MultiLabelClassifier(trees=3, members=2, hidden=(8,), max_epochs=2).fit(X, Y)
    return {
        "curves": {name: curve(name) for name in RUNS},
        "uninterrupted": trained(folder / "run.safetensors"),
        "halted": trained(checkpoint, halt=True),
        "resumed": trained(checkpoint, again=True),
        "refusals": refusals(folder),
        "probabilities": model.predict_proba(X).tolist(),
    }


if __name__ == "__main__":
    processes, target = join(), Path(sys.argv[1])
    everyone: list[Any] = [None] * processes.count
    dist.all_gather_object(everyone, found(target.parent))
    if processes.first:
        target.write_text(json.dumps(everyone), encoding="utf-8")
    leave()
