"""InfNet's two phases: whose weights the second starts from, and which rows it sees."""

import shutil
from pathlib import Path

import pytest
import torch
from small_runs import exact_match, make_nets, make_trainer, rows, same, weights

from lossnet.errors import SettingError
from lossnet.recipes import build
from lossnet.training import Arrays, Callback, Checkpoint, resume

SIZES = {"train": 50, "validation": 30, "unlabelled": 20}
SETTINGS = {"method": "infnet"}


class Recorded(Arrays):
    """A source that keeps the row numbers of training batches; validation asks for slices."""

    def __init__(self, X, Y=None) -> None:
        super().__init__(X, Y)
        self.asked: list[int] = []

    def batch(self, rows):
        if isinstance(rows, torch.Tensor):
            self.asked += rows.tolist()
        return super().batch(rows)


def make_sources() -> dict[str, Recorded]:
    X, Y = rows(50)
    Xv, Yv = rows(30, seed=9)
    return {
        "train": Recorded(X, Y),
        "validation": Recorded(Xv, Yv),
        "unlabelled": Recorded(rows(20, seed=5)[0]),
    }


def trainer_of(tune_on: str = "train", sources=None, callbacks=(), **parameters):
    """With early stopping and dropout, as in real use."""
    given = {
        "tune_on": tune_on,
        "tune_optimiser": {"lr": 0.01},
        "task_optimiser": {"lr": 0.02},
        "energy_optimiser": {"lr": 0.01},
        **parameters,
    }
    method = build("infnet", given)
    nets = make_nets(method)
    sources = sources or make_sources()
    return make_trainer(
        method,
        nets=nets,
        data=sources["train"],
        validation=sources["validation"],
        unlabelled=sources["unlabelled"],
        score=exact_match(nets),
        max_epochs=3,
        patience=2,
        callbacks=callbacks,
    )


def test_the_second_phase_starts_from_the_augmented_net() -> None:
    """With steps too small to move a weight the copy is still the copy at the end."""
    still = trainer_of(tune_optimiser={"lr": 1e-30, "weight_decay": 0.0})
    before = weights(still)
    assert not same(before["task"], before["augmented"])
    still.run()
    after = weights(still)
    assert [row["phase"] for row in still.history].count("tune") >= 1
    assert same(after["task"], after["augmented"])
    assert not same(after["augmented"], before["augmented"])
    moved = trainer_of()
    moved.run()
    assert same(weights(moved)["augmented"], after["augmented"])  # the tuning leaves it alone
    assert same(weights(moved)["energy"], after["energy"])
    assert not same(weights(moved)["task"], after["task"])


@pytest.mark.parametrize("tune_on", ["train", "validation", "unlabelled"])
def test_the_second_phase_sees_the_rows_asked_for(tune_on) -> None:
    sources = make_sources()
    trainer = trainer_of(tune_on, sources)
    trainer.run()
    phases = [row["phase"] for row in trainer.history]
    epochs = {name: {"train": 0, "validation": 0, "unlabelled": 0} for name in ("infnet", "tune")}
    for name in phases:
        epochs[name]["train" if name == "infnet" else tune_on] += 1
    for name, source in sources.items():
        wanted = epochs["infnet"][name] + epochs["tune"][name]
        assert sorted(source.asked) == sorted(list(range(SIZES[name])) * wanted), name
    assert phases.count("tune") >= 1


def test_the_rows_decide_what_is_learned() -> None:
    runs = {}
    for tune_on in SIZES:
        trainer = trainer_of(tune_on)
        trainer.run()
        runs[tune_on] = weights(trainer)
    for left, right in (("train", "validation"), ("train", "unlabelled")):
        assert same(runs[left]["augmented"], runs[right]["augmented"])
        assert not same(runs[left]["task"], runs[right]["task"])


@pytest.mark.parametrize("rows_asked", ["validation", "unlabelled"])
def test_missing_rows_are_named_before_training(rows_asked) -> None:
    method = build("infnet", {"tune_on": rows_asked})
    message = f"phase 'tune' trains on {rows_asked} rows, and none are given"
    with pytest.raises(SettingError, match=message):
        make_trainer(method)


def test_the_perceptron_has_nothing_to_tune() -> None:
    method = build("infnet", {"loss": "perceptron"})
    assert method.nets == {"task", "energy"}
    trainer = make_trainer(method)
    trainer.run()
    assert {row["phase"] for row in trainer.history} == {"infnet"}
    assert all("perceptron loss" in row for row in trainer.history)


# Resuming ----------------------------------------------------------------------------------------


class Copies(Callback):
    """A callback that keeps every checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.copies: list[Path] = []

    def on_epoch(self, trainer) -> None:
        copy = self.path.with_name(f"{self.path.name}.{len(self.copies)}")
        self.copies.append(Path(shutil.copy(self.path, copy)))


@pytest.mark.parametrize("tune_on", ["train", "validation", "unlabelled"])
def test_resuming_in_either_phase_gives_the_same_weights(tune_on, tmp_path) -> None:
    path = tmp_path / "checkpoint"
    copies = Copies(path)
    whole = trainer_of(tune_on, callbacks=[Checkpoint(path, SETTINGS, seconds=0.0), copies])
    whole.run()
    expected = weights(whole)
    phases = [row["phase"] for row in whole.history]
    assert phases.count("infnet") >= 2
    assert phases.count("tune") >= 2
    assert len(copies.copies) == len(phases)
    for copy in copies.copies:
        resumed = trainer_of(tune_on)
        resume(copy, resumed, SETTINGS)
        resumed.run()
        for net, value in weights(resumed).items():
            assert same(value, expected[net]), (copy.name, net)
        for left, right in zip(resumed.history, whole.history, strict=True):
            assert {**left, "seconds": 0} == {**right, "seconds": 0}
