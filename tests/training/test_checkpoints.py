"""Checkpoints: a resumed run ends with the uninterrupted run's weights, bit for bit."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from small_runs import data, exact_match, make_nets, make_trainer, same, weights

from lossnet.errors import DataError
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Judge
from lossnet.recipes import build, defaults
from lossnet.terms import CrossEntropy, Weighted
from lossnet.training import Callback, Checkpoint, Trainer, resume, save_checkpoint

SETTINGS = {"method": "nce-energy", "lr": 0.1, "hidden": (8, 8)}


class Copies(Callback):
    """A callback that copies the checkpoint after every epoch; it can stop training, too."""

    def __init__(self, path: Path, stop_at: int | None = None) -> None:
        self.path, self.stop_at = path, stop_at
        self.copies: list[Path] = []
        self.batches = 0

    def on_batch(self, trainer, losses) -> None:
        self.batches += 1
        if self.batches == self.stop_at:
            raise KeyboardInterrupt

    def on_epoch(self, trainer) -> None:
        copy = self.path.with_name(f"{self.path.name}.{len(self.copies)}")
        self.copies.append(Path(shutil.copy(self.path, copy)))


def method_of(name: str) -> Method:
    small = {
        "samples": 3,
        "inference": {"steps": 2},
        "predict_steps": 2,
        "tune_optimiser": {"lr": 0.01},
    }
    known = defaults(name)
    return build(
        name, {k: v for k, v in small.items() if k in known} | {"task_optimiser": {"lr": 0.02}}
    )


def trainer_of(name: str, path: Path | None = None, stop_at: int | None = None) -> Trainer:
    """With dropout, early stopping, a monitored loss and plateaus, as in real use."""
    method = method_of(name)
    nets = make_nets(method)
    callbacks = []
    if path is not None:
        callbacks = [Checkpoint(path, SETTINGS, seconds=0.0), Copies(path, stop_at)]
    return make_trainer(
        method,
        nets=nets,
        score=exact_match(nets),
        validation=data(30, seed=9),
        patience=2,
        max_epochs=4,
        callbacks=callbacks,
    )


def timeless(history):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in history]


@pytest.mark.parametrize(
    "name",
    [
        "nce-energy",
        "seal-static-margin",
        "seal-nce",
        "infnet",
        "infnet-plus",
        "alen",
        "implicit-nce",
    ],
)
def test_resuming_after_any_epoch_gives_the_uninterrupted_weights(name, tmp_path) -> None:
    whole = trainer_of(name, tmp_path / "checkpoint")
    whole.run()
    expected = weights(whole)
    copies = whole.callbacks[1].copies
    phases = {row["phase"] for row in whole.history}
    assert len(phases) == len(whole.method.phases)
    assert len(copies) == len(whole.history) >= 3
    for copy in copies:
        resumed = trainer_of(name)
        resume(copy, resumed, SETTINGS)
        resumed.run()
        for net, value in weights(resumed).items():
            assert same(value, expected[net]), (copy.name, net)
        assert timeless(resumed.history) == timeless(whole.history)


def test_lowered_learning_rates_are_resumed(tmp_path) -> None:
    xent = Judge((Weighted(1.0, CrossEntropy()),))
    update = Update("task", xent, optimiser=Optimiser(lr=0.05, plateau=1))
    method = Method("mine", (Phase((update,)),))

    def trainer_with(scores, callbacks) -> Trainer:
        return make_trainer(
            method, score=lambda p: next(scores), patience=9, max_epochs=5, callbacks=callbacks
        )

    path = tmp_path / "checkpoint"
    scores = [0.5, 0.4, 0.4, 0.6, 0.1]
    whole = trainer_with(iter(scores), [Checkpoint(path, SETTINGS, seconds=0.0), Copies(path)])
    whole.run()
    assert whole.optimisers[0].lr == 0.05 / 8
    for number, copy in enumerate(whole.callbacks[1].copies):
        resumed = trainer_with(iter(scores[number + 1 :]), [])
        resume(copy, resumed, SETTINGS)
        resumed.run()
        assert resumed.optimisers[0].lr == 0.05 / 8
        assert same(weights(resumed)["task"], weights(whole)["task"])


def test_optimisers_are_resumed_in_their_weights_layout(tmp_path) -> None:
    """A fused step pairs weights and their averages by place in memory, whatever the strides."""

    def trainer() -> Trainer:
        trainer = trainer_of("nce-energy")
        trainer._start_phase()
        with torch.no_grad():
            for weight in trainer.optimisers[0].parameters:
                if weight.ndim == 2:
                    weight.set_(weight.t().contiguous().t())
        return trainer

    first = trainer()
    first._epoch()
    path = tmp_path / "checkpoint"
    save_checkpoint(path, first, SETTINGS)
    second = trainer_of("nce-energy")
    second._start_phase = lambda: None
    second.optimisers = trainer().optimisers
    resume(path, second, SETTINGS)
    for before, after in zip(first.optimisers, second.optimisers, strict=True):
        for weight, old, new in zip(after.parameters, before.slots, after.slots, strict=True):
            assert new.keys() == old.keys()
            for key, value in new.items():
                assert torch.equal(value, old[key])
                assert value.ndim == 0 or value.stride() == weight.stride()


@pytest.mark.parametrize("name", ["nce-energy", "infnet"])
def test_a_run_killed_in_the_middle_of_an_epoch_goes_on(name, tmp_path) -> None:
    path = tmp_path / "checkpoint"
    whole = trainer_of(name)
    whole.run()
    first = [row["phase"] for row in whole.history].count(whole.method.phases[0].name)
    for stop_at in (5, 3 * first + 5):  # three batches an epoch: in either phase
        killed = trainer_of(name, path, stop_at)
        with pytest.raises(KeyboardInterrupt):
            killed.run()
        assert killed.phase_index == (stop_at > 5)
        resumed = trainer_of(name)
        resume(path, resumed, SETTINGS)
        assert len(resumed.history) < len(whole.history)
        resumed.run()
        for net, value in weights(resumed).items():
            assert same(value, weights(whole)[net])


def test_a_finished_run_resumes_to_itself(tmp_path) -> None:
    whole = trainer_of("nce-energy", tmp_path / "checkpoint")
    whole.run()
    resumed = trainer_of("nce-energy")
    resume(tmp_path / "checkpoint", resumed, SETTINGS)
    resumed.run()
    assert timeless(resumed.history) == timeless(whole.history)
    for net, value in weights(resumed).items():
        assert same(value, weights(whole)[net])


def test_checkpoints_are_written_no_oftener_than_asked(tmp_path) -> None:
    path = tmp_path / "checkpoint"
    trainer = make_trainer(
        build("cross-entropy"), callbacks=[Checkpoint(path, {}, seconds=3600.0)], max_epochs=3
    )
    trainer.run()
    other = make_trainer(build("cross-entropy"))
    resume(path, other, {})
    assert other.epoch == 1  # the first, and none in the hour after it


@pytest.fixture
def saved(tmp_path) -> Path:
    trainer = trainer_of("nce-energy")
    trainer._epoch()
    path = tmp_path / "checkpoint"
    save_checkpoint(path, trainer, SETTINGS)
    assert [p.name for p in tmp_path.iterdir()] == ["checkpoint"]  # nothing temporary is left
    return path


def refused(path: Path, message: str, settings=SETTINGS, name: str = "nce-energy") -> None:
    """Resuming is a DataError, and the trainer stays where it was."""
    trainer = trainer_of(name)
    before, order = weights(trainer), trainer.order.get_state()
    with pytest.raises(DataError, match=message) as caught:
        resume(path, trainer, settings)
    assert str(path) in str(caught.value)
    assert trainer.epoch == 0
    assert trainer.history == []
    assert torch.equal(order, trainer.order.get_state())
    for net, value in weights(trainer).items():
        assert same(value, before[net])


def test_other_settings_are_refused_by_name(saved) -> None:
    refused(saved, r"made with other settings \(different: lr", {**SETTINGS, "lr": 0.2})
    refused(saved, r"\(different: hidden, lr\); resume", {"method": "nce-energy"})
    resume(saved, trainer_of("nce-energy"), {**SETTINGS, "hidden": [8, 8]})  # a list is a tuple


def test_a_missing_file_is_refused(tmp_path) -> None:
    refused(tmp_path / "none", "there is no checkpoint .*none to resume from")


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.9999])
def test_a_truncated_file_is_refused(saved, share) -> None:
    content = saved.read_bytes()
    saved.write_bytes(content[: int(share * len(content))])
    refused(saved, "is damaged .*start again")


@pytest.mark.parametrize("place", [0.02, 0.5, 0.75, 0.99])
def test_a_changed_byte_is_refused(saved, place) -> None:
    content = bytearray(saved.read_bytes())
    index = int(place * len(content))
    content[index] ^= 0x10
    saved.write_bytes(content)
    refused(saved, "is damaged")


def test_another_kind_of_file_is_refused(saved) -> None:
    saved.write_text("method: nce-energy\n")
    refused(saved, "is damaged")
    save_file({"weight": torch.zeros(3)}, saved)
    refused(saved, "is damaged")


def test_a_folder_is_refused(tmp_path) -> None:
    refused(tmp_path, "is damaged")


def test_a_checkpoint_of_other_nets_is_refused(saved) -> None:
    trainer = trainer_of("seal-static-margin")
    with pytest.raises(DataError, match="does not fit this method and its nets"):
        resume(saved, trainer, SETTINGS)
