"""Nested steps: a phase's updates several times per batch, in order."""

import pytest
import torch
from small_runs import FEATURES, LABELS, make_nets, make_trainer, same, weights

import lossnet.training.loop as loop
from lossnet import LearnedLoss
from lossnet.energies import LabelEnergy
from lossnet.errors import SettingError
from lossnet.method import Phase
from lossnet.recipes import METHODS, build
from lossnet.training import Callback, resume, save_checkpoint


def order(monkeypatch, method, **options) -> list[str]:
    """The nets in the order in which one batch trains them."""
    taken, step = [], loop.step
    monkeypatch.setattr(
        loop, "step", lambda update, *a, **k: (taken.append(update.name), step(update, *a, **k))[1]
    )
    make_trainer(method, max_epochs=1, batch_size=50, **options).run()
    return taken


def test_bibtex_nce_takes_twelve_and_one_five_times(monkeypatch) -> None:
    method = build("seal-nce", {"energy_steps": 12, "rounds": 5, "samples": 2})
    assert method.steps_per_batch == {"energy": 60, "task": 5}
    assert order(monkeypatch, method) == (["energy"] * 12 + ["task"]) * 5


@pytest.mark.parametrize("accumulate", [1, 2])
def test_margin_with_the_task_net_inside(monkeypatch, accumulate) -> None:
    method = build("seal-margin", {"task_steps": 6, "first": "task", "rounds": 2})
    turns = order(monkeypatch, method, accumulate=accumulate)
    assert turns == (["task"] * 6 + ["energy"]) * 2


def test_static_takes_several_task_steps_per_batch(monkeypatch) -> None:
    for name in ("seal-static-margin", "seal-static-regression", "seal-static-nce"):
        assert build(name, {"task_steps": 10}).phases[-1].updates[0].steps == 10


def test_history_is_the_mean_over_all_rounds() -> None:
    once = make_trainer(build("seal-ranking"), max_epochs=1).run()
    thrice = make_trainer(build("seal-ranking", {"rounds": 3}), max_epochs=1).run()
    assert thrice[0]["loss/task"] == pytest.approx(once[0]["loss/task"], rel=0.3)


def test_one_round_is_the_default_and_changes_no_weight() -> None:
    assert all(phase.repeats == 1 for name in METHODS for phase in build(name).phases)
    default, once = (weights(_ran(build("seal-nce", p))) for p in ({}, {"rounds": 1}))
    assert all(same(once[net], default[net]) for net in default)


def test_resumes_bit_for_bit(tmp_path) -> None:
    method, file = build("seal-nce", {"rounds": 2}), tmp_path / "checkpoint"
    expected = weights(_ran(method, max_epochs=3))
    stopped = make_trainer(method, max_epochs=3)
    stopped.callbacks.append(_StopAfter(1, file))
    with pytest.raises(KeyboardInterrupt):
        stopped.run()
    resumed = make_trainer(method, max_epochs=3)
    resume(file, resumed, {})
    resumed.run()
    assert all(same(value, expected[net]) for net, value in weights(resumed).items())


def test_the_schedule_runs_on_through_the_rounds() -> None:
    decaying = {"task_optimiser": {"lr": 1e-2, "decay": "linear"}, "rounds": 4}
    trainer = _ran(build("seal-nce", decaying), max_epochs=2)
    last = trainer.optimisers[1].progress
    batches = 3
    assert last == pytest.approx(1 - 0.5 / 4 / batches / 2)


def test_rounds_must_be_at_least_one() -> None:
    with pytest.raises(SettingError, match="repeats must be at least 1, got 0"):
        Phase(build("cross-entropy").phases[0].updates, repeats=0)
    with pytest.raises(SettingError, match="rounds must be at least 1, got 0"):
        build("seal-nce", {"rounds": 0})


def test_learned_loss_leaves_rounds_to_the_users_loop() -> None:
    energy = LabelEnergy(FEATURES, LABELS, hidden=(4,))
    with pytest.raises(SettingError, match="rounds must be 1 in LearnedLoss, got 2"):
        LearnedLoss(energy, method_params={"rounds": 2})


def _ran(method, **options):
    torch.manual_seed(0)
    trainer = make_trainer(method, nets=make_nets(method), **options)
    trainer.run()
    return trainer


class _StopAfter(Callback):
    """Writes a checkpoint and stops after some epochs."""

    def __init__(self, epochs, file) -> None:
        self.epochs, self.file = epochs, file

    def on_epoch(self, trainer) -> None:
        if trainer.epoch == self.epochs:
            save_checkpoint(self.file, trainer, {})
            raise KeyboardInterrupt
