"""What the history holds beside the losses: parts, gradient norms, the solver's residual."""

import math

import pytest
import torch
from small_runs import data, make_nets, make_trainer

from lossnet.context import Context
from lossnet.recipes import build
from lossnet.spaces import Binary


def history(name: str, max_epochs: int = 2, **parameters):
    trainer = make_trainer(build(name, parameters), max_epochs=max_epochs)
    rows = trainer.run()
    assert len(rows) == max_epochs * len(trainer.method.phases)
    return rows


@pytest.mark.parametrize("sharing", ["separated", "shared", "stacked"])
def test_rows_of_infnet_plus(sharing) -> None:
    for row in history("infnet-plus", sharing=sharing, perceptron_weight=0.5, net_steps=2):
        assert {
            "loss/energy",
            "loss/task+augmented",
            "cost-augmented loss",
            "hinge loss",
            "perceptron loss",
            "loss of task",
            "loss of augmented",
            "gradient norm/energy",
            "gradient norm/task+augmented",
        } <= row.keys()
        assert all(math.isfinite(value) for value in row.values() if isinstance(value, float))
        total = row["hinge loss"] + 0.5 * row["perceptron loss"]
        assert row["loss/energy"] == pytest.approx(total, rel=1e-5)
        total = row["loss of task"] + row["loss of augmented"]
        assert row["loss/task+augmented"] == pytest.approx(total, rel=1e-5)
        assert row["gradient norm/energy"] > 0
        assert row["gradient norm/task+augmented"] > 0


def test_a_part_of_weight_0_has_no_column() -> None:
    for row in history("infnet-plus", perceptron_weight=0.0):
        assert "perceptron loss" not in row
        assert row["hinge loss"] == pytest.approx(row["loss/energy"], rel=1e-5)


def test_the_numbers_are_those_of_the_batch() -> None:
    """One batch, one epoch, no dropout: each is computed here by its definition."""
    method = build("infnet-plus", {"sharing": "separated", "cost": "l1", "margin": 2.0})
    nets = make_nets(method, dropout=0.0)
    source = data(20)
    context = Context(nets, source.batch(torch.arange(20)), Binary())
    f, a = (torch.sigmoid(nets[name](context.batch.x)) for name in ("augmented", "task"))
    with context.updating(["energy"]):
        e_target, e_f, e_a = context.energy(torch.stack([context.target, f, a]).detach())
    delta = 2.0 * (f - context.target).abs().sum(-1).detach()
    hinge = (delta - e_f + e_target).clamp_min(0).mean()
    perceptron = (e_target - e_a).clamp_min(0).mean()
    slope = torch.autograd.grad(hinge + perceptron, list(nets["energy"].parameters()))
    norm = math.sqrt(sum(float(g.square().sum()) for g in slope))
    trainer = make_trainer(method, nets=nets, data=source, max_epochs=1)
    (row,) = trainer.run()
    assert row["hinge loss"] == pytest.approx(float(hinge.detach()), rel=1e-5)
    assert row["perceptron loss"] == pytest.approx(float(perceptron.detach()), rel=1e-5, abs=1e-6)
    assert row["gradient norm/energy"] == pytest.approx(norm, rel=1e-4)
    # The nets are judged after the energy's first step, which is small.
    augmented = float((delta - e_f).mean().detach())
    assert row["cost-augmented loss"] == pytest.approx(augmented, rel=0.02)


@pytest.mark.parametrize("name", ["implicit-ssvm", "implicit-dvn", "implicit-cd", "implicit-nce"])
def test_rows_of_implicit_methods(name) -> None:
    for row in history(name):
        assert row["explicit norm/energy"] > 0
        assert row["implicit norm/energy"] > 0
        assert 0 <= row["solver residual/energy"] <= 1.001
    for row in history(name, max_epochs=1, gradient="direct"):
        assert "implicit norm/energy" not in row


def test_rows_of_infnet() -> None:
    joint, tune = history("infnet", max_epochs=1)
    assert {"loss/energy", "loss/augmented", "hinge loss", "cost-augmented loss"} <= joint.keys()
    assert {"gradient norm/energy", "gradient norm/augmented"} <= joint.keys()
    assert "loss/task" in tune
    assert not {"hinge loss", "cost-augmented loss", "loss/augmented"} & tune.keys()
