"""Gated phases: the loss-net is followed only while it knows more of validation rows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from small_runs import LABELS, data, exact_match, make_nets, make_trainer, rows, same, weights
from torch import nn

from lossnet.contrasts.meaning import RATIO
from lossnet.errors import SettingError
from lossnet.objectives import Fold
from lossnet.recipes import build
from lossnet.recipes.members import MEMBERS, with_members
from lossnet.spaces import Binary
from lossnet.training import Arrays, Checkpoint, loop, resume
from lossnet.training.worth import held_out_nats, without_energy

SMALL = {"samples": 3, "task_optimiser": {"lr": 0.02}}


def gated(name: str = "seal-nce", **more):
    return build(name, {**SMALL, "gated": True, **more})


def trainer_of(method, **options):
    nets = make_nets(method)
    settings = {"score": exact_match(nets), "validation": data(30, seed=9), "patience": 9}
    return make_trainer(method, nets=nets, **{**settings, **options})


class Sees(nn.Module):
    """An energy of label sets that knows the labels: its inputs."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale))

    def encode(self, x, mask=None):
        return x[:, :LABELS]

    def forward(self, h, y, mask=None):
        return self.scale * (y.to(h) - h).abs().sum(-1)


class Flat(nn.Module):
    """A task-net without an opinion."""

    def forward(self, x):
        return torch.zeros(len(x), LABELS)


@pytest.mark.parametrize("scale", [0.0, 2.0, -2.0])
def test_nats_are_those_of_an_energy_that_is_known(scale: float) -> None:
    _, Y = rows(4000)
    nets = {"task": Flat(), "energy": Sees(scale)}
    found = held_out_nats(RATIO, nets, Binary(), Arrays(Y, Y))
    exact = LABELS * -math.log((1 + math.exp(-scale)) / 2)
    # 20 samples find the best of 16 outputs mostly.
    assert found == 0 if scale == 0 else abs(found - exact) < 0.5 < abs(found)


def test_only_rows_that_are_known_completely_count() -> None:
    _, Y = rows(40)
    nets, partial = {"task": Flat(), "energy": Sees(2.0)}, Y.copy()
    partial[:, 0] = math.nan
    assert held_out_nats(RATIO, nets, Binary(), Arrays(Y, partial)) is None
    partial[:20] = Y[:20]
    some = held_out_nats(RATIO, nets, Binary(), Arrays(Y, partial))
    assert some == pytest.approx(
        held_out_nats(RATIO, nets, Binary(), Arrays(Y[:20], Y[:20])), abs=0.3
    )


@pytest.mark.parametrize("name", ["seal-nce", "seal-ranking"])
def test_a_loss_net_that_knows_nothing_leaves_cross_entropy(name, monkeypatch) -> None:
    monkeypatch.setattr(loop, "held_out_nats", lambda *rows, **how: -1.0)
    closed = trainer_of(gated(name))
    history = closed.run()
    plain = trainer_of(build("cross-entropy", {"task_optimiser": SMALL["task_optimiser"]}))
    plain.run()
    assert same(weights(closed)["task"], weights(plain)["task"])
    assert [row["held-out nats"] for row in history] == [-1.0] * 3


def test_a_loss_net_that_knows_is_followed_from_the_second_epoch(monkeypatch) -> None:
    monkeypatch.setattr(loop, "held_out_nats", lambda *rows, **how: 1.0)
    opened = trainer_of(gated())
    assert not opened.follows
    opened.run()
    assert opened.follows
    assert opened.updates == opened.phase.updates
    always, plain = trainer_of(build("seal-nce", SMALL)), trainer_of(build("cross-entropy"))
    always.run()
    plain.run()
    for other in (always, plain):
        assert not same(weights(opened)["task"], weights(other)["task"])


def test_without_validation_rows_it_is_always_followed() -> None:
    free = trainer_of(gated(), score=None, validation=None)
    always = trainer_of(build("seal-nce", SMALL), score=None, validation=None)
    assert free.run()[0].keys() == always.run()[0].keys()
    assert same(weights(free)["task"], weights(always)["task"])


def test_several_nets_are_trained_without_the_energy_too() -> None:
    method = with_members(gated(), 3)
    update = next(one for one in without_energy(method.phases[0]) if one.trains == MEMBERS)
    assert "energy" not in update.nets
    assert [part.fold for part in update.objective.parts] == [Fold(m, 3) for m in range(3)]


def test_resuming_keeps_whether_it_is_followed(tmp_path) -> None:
    path = tmp_path / "checkpoint"
    whole = trainer_of(gated(), max_epochs=4)
    whole.run()
    first = trainer_of(gated(), max_epochs=4, callbacks=[Checkpoint(path, {}, seconds=0.0)])
    first.phase_epochs = 2
    first.run()
    again = trainer_of(gated(), max_epochs=4)
    resume(path, again, {})
    assert again.follows == first.follows
    again.run()
    assert same(weights(again)["task"], weights(whole)["task"])
    assert same(weights(again)["energy"], weights(whole)["energy"])


def test_only_energies_that_give_probabilities_can_be_gated() -> None:
    plain = build("seal-regression")
    method = replace(plain, phases=(replace(plain.phases[0], gated=True),))
    with pytest.raises(SettingError, match="gives probabilities, as NCE does; take gated=False"):
        trainer_of(method)
