"""A loss, a weight or a validation value that is not finite stops training; nothing is spoilt."""

import math
from pathlib import Path

import pytest
import torch
from small_runs import data, make_nets, make_trainer, same, weights

from lossnet.energies import LabelEnergy
from lossnet.errors import TrainingError
from lossnet.nets import LabelMLP
from lossnet.recipes import build
from lossnet.training import Callback, Checkpoint, resume

ROWS, BATCH = 40, 10  # four batches an epoch


class Grenade(torch.autograd.Function):
    """The identity, whose gradient is infinite."""

    @staticmethod
    def forward(ctx, value):
        return value.clone()

    @staticmethod
    def backward(ctx, grad):
        return torch.full_like(grad, math.inf)


class BadTask(LabelMLP):
    """Spoils its pass number ``bad`` in train mode: the logits, or only their gradient."""

    bad, how, passes = 0, "nan", 0

    def forward(self, x):
        logits = super().forward(x)
        self.passes += self.training
        if self.training and self.passes == self.bad:
            return Grenade.apply(logits) if self.how == "gradient" else logits * float(self.how)
        return logits


class BadEnergy(LabelEnergy):
    """Spoils its encoding number ``bad`` in train mode."""

    bad, passes = 0, 0

    def encode(self, x, mask=None):
        self.passes += self.training
        h = super().encode(x, mask)
        return h * math.nan if self.training and self.passes == self.bad else h


class LastGood(Callback):
    """A callback that keeps the weights after every batch."""

    def on_batch(self, trainer, losses) -> None:
        self.weights = weights(trainer)

    def on_epoch(self, trainer) -> None:
        self.file = self.path.read_bytes() if self.path.exists() else b""

    def on_end(self, trainer) -> None:
        self.ended = True

    def __init__(self, path: Path) -> None:
        self.path, self.file, self.ended = path, b"", False


def run(method, path: Path, *, task=None, energy=None, **options):
    """Train until it stops; the trainer, the error and what was good last."""
    nets = make_nets(method, task=BadTask, energy=BadEnergy)
    for net, settings in ((nets["task"], task), (nets.get("energy"), energy)):
        for key, value in (settings or {}).items():
            setattr(net, key, value)
    last = LastGood(path)
    trainer = make_trainer(
        method,
        nets=nets,
        data=data(ROWS),
        batch_size=BATCH,
        callbacks=[Checkpoint(path, {"run": 1}, seconds=0.0), last],
        **options,
    )
    with pytest.raises(TrainingError) as caught:
        trainer.run()
    assert last.ended
    return trainer, str(caught.value), last


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_loss_that_is_not_finite_names_where(value, tmp_path) -> None:
    path = tmp_path / "checkpoint"
    trainer, message, last = run(
        build("cross-entropy"), path, task={"bad": 4 + 3, "how": value}, max_epochs=5
    )
    assert "the loss of the 'task' update became" in message
    assert "(phase 'cross-entropy', epoch 2, batch 3)" in message
    assert "lower its learning rate" in message
    assert same(weights(trainer)["task"], last.weights["task"])  # the bad batch changed nothing
    assert path.read_bytes() == last.file != b""
    fresh = make_trainer(build("cross-entropy"), data=data(ROWS), batch_size=BATCH)
    resume(path, fresh, {"run": 1})
    assert fresh.epoch == 1


def test_the_update_that_failed_is_named(tmp_path) -> None:
    method = build("seal-nce", {"samples": 3, "energy_steps": 2})
    trainer, message, last = run(method, tmp_path / "c", energy={"bad": 2 * 2 + 1})
    assert "the loss of the 'energy' update became nan" in message
    assert "epoch 1, batch 3" in message
    assert same(weights(trainer)["energy"], last.weights["energy"])
    assert same(weights(trainer)["task"], last.weights["task"])
    assert not (tmp_path / "c").exists()  # no epoch was whole


def test_the_second_phase_is_named(tmp_path) -> None:
    trainer, message, _ = run(
        build("spen", {"inference": {"steps": 1}}), tmp_path / "c", energy={"bad": 1}, max_epochs=1
    )
    assert "(phase 'spen', epoch 1, batch 1)" in message
    assert trainer.phase.name == "spen"


def test_an_infinite_gradient_in_the_last_batch_leaves_the_checkpoint(tmp_path) -> None:
    """The loss of the batch is finite and its weights are not: no checkpoint may hold them."""
    path = tmp_path / "checkpoint"
    trainer, message, last = run(
        build("cross-entropy"), path, task={"bad": 8, "how": "gradient"}, max_epochs=5
    )
    assert "the 'task' update left weights that are not finite" in message
    assert "epoch 2" in message
    assert path.read_bytes() == last.file != b""
    resume(path, trainer, {"run": 1})
    assert trainer.epoch == 1
    assert all(torch.isfinite(value).all() for value in trainer.nets["task"].parameters())


def test_a_validation_metric_that_is_nan_stops(tmp_path) -> None:
    values = iter([0.5, math.nan])
    _, message, _ = run(build("cross-entropy"), tmp_path / "c", score=lambda proposal: next(values))
    assert "the validation metric became nan (phase 'cross-entropy', epoch 2)" in message
