"""Weights that must be the same, bit for bit: without the energy term, with the same seed."""

import pytest
import torch
import torch.nn.functional as F
from scipy.sparse import csr_matrix
from small_runs import data, exact_match, make_nets, make_trainer, rows, same, weights

from lossnet.energies import LabelEnergy
from lossnet.method import Method
from lossnet.recipes import build, defaults, methods_for
from lossnet.training import Arrays, source

TASK = {"task_optimiser": {"lr": 3e-3, "weight_decay": 1e-4}}
NAMES = methods_for({"target"})
QUICK = {"inference": {"steps": 3}, "samples": 4}


def recipe(name: str, **parameters) -> Method:
    """The method with few candidates and few steps of inference."""
    known = defaults(name)
    common = {k: v for k, v in {**TASK, **QUICK}.items() if k in known}
    return build(name, {**common, **parameters})


SEAL = [
    *((name, {}) for name in NAMES if name.startswith("seal-")),
    ("seal-regression-s", {"candidates": "samples"}),
]


@pytest.fixture(scope="module")
def cross_entropy() -> dict[str, torch.Tensor]:
    trainer = make_trainer(build("cross-entropy", TASK), max_epochs=4)
    start = weights(trainer)["task"]
    trainer.run()
    trained = weights(trainer)["task"]
    assert not same(start, trained)
    return trained


@pytest.mark.parametrize(("name", "parameters"), SEAL, ids=str)
def test_seal_without_its_energy_term_is_cross_entropy(name, parameters, cross_entropy) -> None:
    """λ1 = 0, dropout 0.5, four epochs, one task-net step a batch in both."""
    method = recipe(name, energy_weight=0.0, **parameters)
    trainer = make_trainer(method, max_epochs=4)
    start = weights(trainer)
    trainer.run()
    assert same(weights(trainer)["task"], cross_entropy)
    assert not same(weights(trainer)["energy"], start["energy"])  # and the loss-net did learn


@pytest.mark.parametrize(("name", "parameters"), SEAL, ids=str)
def test_seal_with_its_energy_term_is_not(name, parameters, cross_entropy) -> None:
    trainer = make_trainer(recipe(name, energy_weight=1.0, **parameters), max_epochs=4)
    trainer.run()
    assert not same(weights(trainer)["task"], cross_entropy)


@pytest.mark.parametrize("name", ["seal-nce", "seal-static-nce"])
def test_equality_holds_with_early_stopping(name) -> None:
    runs = []
    for method in (build("cross-entropy", TASK), recipe(name, energy_weight=0.0)):
        nets = make_nets(method)
        trainer = make_trainer(
            method,
            nets=nets,
            score=exact_match(nets),
            validation=data(30, seed=9),
            patience=2,
            max_epochs=12,
        )
        history = [row for row in trainer.run() if row["phase"] in ("cross-entropy", name)]
        runs.append((weights(trainer)["task"], [row["metric"] for row in history]))
    (left, metrics), (right, others) = runs
    assert metrics == others
    assert same(left, right)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_weights(name) -> None:
    method = recipe(name)
    runs = []
    for noise in (1, 2):
        torch.manual_seed(noise)  # the global generator must not matter
        trainer = make_trainer(method, max_epochs=2)
        outside = torch.get_rng_state()
        trainer.run()
        assert torch.equal(outside, torch.get_rng_state())
        runs.append(weights(trainer))
    for net in method.nets:
        assert same(runs[0][net], runs[1][net]), net
    other = make_trainer(method, seed=1, nets=make_nets(method, seed=0), max_epochs=2)
    other.run()
    for net in method.nets:
        assert not same(runs[0][net], weights(other)[net]), net


class NoisyEnergy(LabelEnergy):
    """An energy that drops labels while it judges candidates, not only while it encodes."""

    def forward(self, h, y, mask=None):
        y = y.to_dense() if y.is_sparse else y
        return super().forward(h, F.dropout(y.to(h.dtype), 0.5, self.training), mask)


def test_no_dropout_of_the_loss_net_moves_the_task_nets() -> None:
    plain = make_trainer(build("cross-entropy", TASK))
    plain.run()
    for name in ("seal-nce", "seal-margin", "seal-static-margin"):
        method = recipe(name, energy_weight=0.0)
        trainer = make_trainer(method, nets=make_nets(method, energy=NoisyEnergy))
        trainer.run()
        assert same(weights(trainer)["task"], weights(plain)["task"]), name


def test_a_loss_net_that_drops_while_it_judges_draws_from_its_own_stream() -> None:
    method = recipe("seal-margin", energy_weight=1.0)
    runs = []
    for noise in (1, 2):
        torch.manual_seed(noise)
        trainer = make_trainer(method, nets=make_nets(method, energy=NoisyEnergy))
        outside = torch.get_rng_state()
        trainer.run()
        assert torch.equal(outside, torch.get_rng_state())
        runs.append(weights(trainer))
    assert same(runs[0]["task"], runs[1]["task"])
    assert same(runs[0]["energy"], runs[1]["energy"])
    still = make_trainer(method)
    still.run()
    assert not same(weights(still)["energy"], runs[0]["energy"])


def test_candidates_do_not_move_dropout_masks() -> None:
    few, many = (recipe("seal-nce", energy_weight=0.0, samples=k) for k in (2, 30))
    trainers = [make_trainer(few), make_trainer(many)]
    for trainer in trainers:
        trainer.run()
    left, right = (weights(trainer) for trainer in trainers)
    assert same(left["task"], right["task"])
    assert not same(left["energy"], right["energy"])


def test_a_net_more_moves_nothing() -> None:
    method = build("cross-entropy", TASK)
    nets = make_nets(recipe("seal-static-nce"))
    alone, beside = make_trainer(method), make_trainer(method, nets=nets)
    start = weights(beside)
    alone.run()
    beside.run()
    assert same(weights(alone)["task"], weights(beside)["task"])
    assert same(start["noise"], weights(beside)["noise"])
    assert same(start["energy"], weights(beside)["energy"])


def test_sparse_rows_give_the_weights_of_dense_ones() -> None:
    X, Y = rows()
    X = X * (abs(X) > 1)
    runs = []
    for limit, form in ((source._DENSE_BYTES, X), (0, csr_matrix(X))):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(source, "_DENSE_BYTES", limit)
            trainer = make_trainer(build("cross-entropy", TASK), data=Arrays(form, Y))
        trainer.run()
        runs.append(weights(trainer)["task"])
    assert same(*runs)
