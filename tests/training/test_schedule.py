"""Learning rates: those of pretrained modules, warm-up and decay, and their resumption."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_runs import FEATURES, LABELS, data, make_trainer, same, weights
from torch import nn

from lossnet.errors import SettingError
from lossnet.method import Method, Optimiser, Phase, Update
from lossnet.objectives import Judge
from lossnet.terms import CrossEntropy, Weighted
from lossnet.training import Callback, Checkpoint, resume
from lossnet.training.adamw import AdamW
from lossnet.training.schedule import Group, Schedule
from lossnet.training.step import build_optimiser

BATCHES = 3


class Encoder(nn.Sequential):
    """A module whose weights count as pretrained, those of its submodules too."""

    pretrained = True
    suggested_lr = 5e-4


class Net(nn.Module):
    def __init__(self, encoder: type = Encoder) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.encoder = encoder(nn.Linear(FEATURES, 5), nn.Tanh())
            self.head = nn.Linear(5, LABELS)

    def forward(self, x):
        return self.head(self.encoder(x))


def method_of(**settings) -> Method:
    optimiser = Optimiser(**{"lr": 0.01, **settings})
    update = Update("task", Judge((Weighted(1.0, CrossEntropy()),)), steps=2, optimiser=optimiser)
    return Method("mine", (Phase((update,)),))


def trainer_of(net: nn.Module | None = None, callbacks=(), **settings):
    nets = {"task": Net() if net is None else net}
    options = {"max_epochs": 4, "patience": 9, "score": lambda proposal: 0.0}
    return make_trainer(method_of(**settings), nets=nets, callbacks=list(callbacks), **options)


def rates_of(net: nn.Module, **settings) -> list[tuple[int, float]]:
    (phase,) = method_of(**settings).phases
    groups = build_optimiser(phase.updates[0], {"task": net}).groups
    return [(len(group.parameters), group.lr) for group in groups]


class Rates(Callback):
    """A callback that keeps the learning rate of every batch's last step."""

    def __init__(self) -> None:
        self.rates: list[float] = []

    def on_batch(self, trainer, losses) -> None:
        self.rates.append(trainer.optimisers[0].lr)


def test_pretrained_modules_take_a_rate_of_their_own() -> None:
    class Plain(nn.Sequential):
        pretrained = True

    assert rates_of(Net()) == [(2, 0.01), (2, 5e-4)]
    assert rates_of(Net(Plain)) == [(2, 0.01), (2, 5e-5)]
    assert rates_of(Net(), encoder_lr=1e-5) == [(2, 0.01), (2, 1e-5)]
    assert rates_of(Net(nn.Sequential), encoder_lr=1e-5) == [(4, 0.01)]
    frozen = Net()
    frozen.encoder.requires_grad_(False)
    assert rates_of(frozen) == [(2, 0.01)]


def test_groups_step_as_torchs_do() -> None:
    ours, theirs = Net(), Net()
    settings = {"betas": (0.9, 0.999), "weight_decay": 0.1}
    rates = {"head": 0.01, "encoder": 3e-4}
    own = {part: list(ours.get_submodule(part).parameters()) for part in rates}
    mine = AdamW([Group(own[part], lr) for part, lr in rates.items()], **settings)
    other = {part: theirs.get_submodule(part).parameters() for part in rates}
    groups = [{"params": other[part], "lr": lr} for part, lr in rates.items()]
    torchs = torch.optim.AdamW(groups, fused=True, **settings)
    for number in range(4):
        for net, optimiser in ((ours, mine), (theirs, torchs)):
            for weight in net.parameters():
                weight.grad = weight.detach().sin() + number
            optimiser.step()
    assert same(ours.state_dict(), theirs.state_dict())


@pytest.mark.parametrize("decay", ["linear", "cosine"])
def test_rates_rise_over_the_warm_up_and_fall_to_0(decay) -> None:
    recorded = Rates()
    trainer_of(callbacks=[recorded], warmup=0.25, decay=decay).run()
    steps = 4 * BATCHES * 2
    middles = np.array([(2 * batch + 1.5) / steps for batch in range(4 * BATCHES)])
    line = (1 - middles) / 0.75
    # cos²(a / 2) = (1 + cos a) / 2, written otherwise than in the schedule.
    falling = line if decay != "cosine" else np.cos(np.pi / 2 * (1 - line)) ** 2
    expected = 0.01 * np.where(middles < 0.25, middles / 0.25, falling)
    assert recorded.rates == pytest.approx(expected.tolist())


def test_cosine_is_torchs() -> None:
    weight = torch.nn.Parameter(torch.zeros(1))
    theirs = torch.optim.SGD([weight], lr=0.3)
    annealed = torch.optim.lr_scheduler.CosineAnnealingLR(theirs, T_max=20)
    for step in range(20):
        assert 0.3 * Schedule(decay="cosine")(step / 20) == pytest.approx(
            theirs.param_groups[0]["lr"]
        )
        theirs.step()
        annealed.step()


@pytest.mark.parametrize(
    ("encoder", "settings", "expected"),
    [
        (Encoder, {}, Schedule(0.1, "linear")),
        (Encoder, {"warmup": 0.0, "decay": False}, Schedule()),
        (Encoder, {"decay": False}, Schedule(0.1)),
        (nn.Sequential, {}, Schedule()),
        (nn.Sequential, {"warmup": 0.3}, Schedule(0.3)),
    ],
)
def test_a_schedule_is_the_default_where_a_pretrained_module_is_trained(
    encoder, settings, expected
) -> None:
    trainer = trainer_of(Net(encoder), **settings)
    assert trainer.optimisers[0].schedule == expected
    row = trainer.run()[-1]
    assert ("learning rate/task" in row) == (expected != Schedule())


def test_plateaus_halve_what_the_schedule_leaves() -> None:
    scores = iter([0.5, 0.4, 0.4, 0.4])
    nets = {"task": Net()}
    method = method_of(warmup=0.0, decay="linear", plateau=1)
    trainer = make_trainer(
        method, nets=nets, max_epochs=4, patience=9, score=lambda proposal: next(scores)
    )
    last = [row["learning rate/task"] for row in trainer.run()]
    share = [1 - (epoch * 6 + 5.5) / 24 for epoch in range(4)]
    halved = [1, 1, 0.5, 0.25]
    assert last == pytest.approx([0.01 * a * b for a, b in zip(share, halved, strict=True)])


def test_a_run_resumed_within_the_schedule_ends_with_the_same_weights(tmp_path) -> None:
    path = tmp_path / "checkpoint"
    copies = []

    class Copies(Rates):
        def on_epoch(self, trainer) -> None:
            copies.append(tmp_path / str(trainer.epoch))
            copies[-1].write_bytes(path.read_bytes())

    settings = {"plateau": 1, "warmup": 0.4}
    whole = trainer_of(callbacks=[Checkpoint(path, {}, seconds=0.0), Copies()], **settings)
    whole.run()
    assert len(copies) == 4
    for copy in copies[:3]:
        resumed = trainer_of(**settings)
        resume(copy, resumed, {})
        resumed.run()
        assert same(weights(resumed)["task"], weights(whole)["task"])
        rates = [[row["learning rate/task"] for row in t.history] for t in (resumed, whole)]
        assert rates[0] == rates[1]


def test_without_pretrained_modules_the_weights_are_torchs_own() -> None:
    net, other = Net(nn.Sequential), Net(nn.Sequential)
    make_trainer(method_of(), nets={"task": net}, batch_size=50, max_epochs=5).run()
    plain = torch.optim.AdamW(other.parameters(), 0.01, weight_decay=1e-5, fused=True)
    batch = data().batch(slice(50))
    for _ in range(10):
        plain.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(
            other(batch.x), batch.target, reduction="sum"
        )
        (loss / 50).backward()
        plain.step()
    for mine, theirs in zip(net.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"warmup": 1.0}, "warmup must be below 1 or None, got 1.0"),
        ({"warmup": -0.1}, "warmup must be at least 0 or None, got -0.1"),
        ({"decay": "cosin"}, "unknown decay 'cosin'.*cosine"),
        ({"encoder_lr": 0.0}, "encoder_lr must be above 0 or None, got 0.0"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings, message) -> None:
    with pytest.raises(SettingError, match=message):
        Optimiser(**settings)
