"""Weights of rows and of entries in the losses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from small_runs import LABELS, data, make_nets, make_trainer, rows, same, weights

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.objectives import Judge
from lossnet.recipes import METHODS, build, methods_for
from lossnet.spaces import Binary
from lossnet.terms import CrossEntropy, Weighted
from lossnet.training import Arrays
from lossnet.training.weights import WeightedRows

XENT = Judge((Weighted(1.0, CrossEntropy()),))


def gradient_of(name: str, batch: Batch):
    """Loss and gradient of every update of a method without randomness, on a batch."""
    method = build(name)
    nets = {key: net.double() for key, net in make_nets(method, dropout=0.0).items()}
    found = []
    for update in method.updates:
        if "Samples" in repr(update) or "Perturbed" in repr(update) or "Either" in repr(update):
            continue
        context = Context(nets, batch, Binary(), training=frozenset(update.trained))
        parameters = [p for key in update.trained for p in nets[key].parameters()]
        found.append(update.gradient(update.objective, context, update.trained, parameters))
    assert found
    return found


def batch() -> Batch:
    return data(12).double().batch(slice(None))


def some(batch: Batch, chosen: torch.Tensor) -> Batch:
    return Batch(batch.x[chosen], batch.target[chosen])


CERTAIN = ["cross-entropy", "spen", "seal-margin", "seal-regression", "infnet", "implicit-ssvm"]


@pytest.mark.parametrize("name", CERTAIN)
def test_rows_of_weight_zero_are_as_if_left_out(name) -> None:
    every = batch()
    kept = torch.arange(12) % 3 != 0
    weighted = replace(every, row_weight=kept.double())
    for mine, theirs in zip(
        gradient_of(name, weighted), gradient_of(name, some(every, kept)), strict=True
    ):
        torch.testing.assert_close(mine.loss, theirs.loss)
        for one, other in zip(mine.values, theirs.values, strict=True):
            torch.testing.assert_close(one, other, atol=1e-9, rtol=1e-6)


@pytest.mark.parametrize("name", CERTAIN)
def test_a_weight_of_two_is_a_row_given_twice(name) -> None:
    every = batch()
    twice = torch.cat([torch.arange(12), torch.tensor([1, 5])])
    weight = torch.ones(12, dtype=torch.float64)
    weight[[1, 5]] = 2.0
    pairs = (
        gradient_of(name, replace(every, row_weight=weight)),
        gradient_of(name, some(every, twice)),
    )
    for mine, theirs in zip(*pairs, strict=True):
        torch.testing.assert_close(mine.loss, theirs.loss)
        for one, other in zip(mine.values, theirs.values, strict=True):
            torch.testing.assert_close(one, other, atol=1e-9, rtol=1e-6)


def test_a_batch_of_weight_zero_has_no_loss() -> None:
    context = Context({}, Batch(None, row_weight=torch.zeros(3)), Binary())
    assert context.mean(torch.ones(3)) == 0


@pytest.mark.parametrize("name", ["cross-entropy", "seal-nce"])
def test_equal_weights_change_nothing(name) -> None:
    plain, weighted = (
        make_trainer(build(name), data=source)
        for source in (data(), WeightedRows(data(), np.full(50, 0.5)))
    )
    for trainer in (plain, weighted):
        trainer.run()
    for net, found in weights(plain).items():
        for key, value in found.items():
            torch.testing.assert_close(weights(weighted)[net][key], value, rtol=1e-3, atol=1e-5)


def test_batches_in_pieces_weigh_rows_alike() -> None:
    X, Y = rows()
    weight = np.random.default_rng(0).uniform(0.1, 3.0, len(X))
    found = []
    for accumulate in (1, 4):
        method = build("cross-entropy")
        nets = make_nets(method, dropout=0.0)
        source = WeightedRows(Arrays(X, Y), weight)
        trainer = make_trainer(method, nets=nets, data=source, accumulate=accumulate)
        trainer.run()
        found.append(weights(trainer)["task"])
    for key, value in found[0].items():
        torch.testing.assert_close(found[1][key], value, rtol=1e-3, atol=1e-5)


def test_entry_weights_are_those_of_labels_on_and_off() -> None:
    labels = np.array([[1.0, 0.5, 2.0, 1.0], [3.0, 1.0, 0.0, 4.0]])
    source = WeightedRows(data(6), labels=labels)
    given = source.batch(slice(None))
    assert given.row_weight is None
    logits = torch.randn(6, LABELS, generator=torch.Generator().manual_seed(0))
    found = XENT(Context({}, given, Binary(), given={"task": logits}))
    each = torch.nn.functional.binary_cross_entropy_with_logits(
        logits, given.target, reduction="none"
    )
    for b in range(6):
        own = sum(labels[int(given.target[b, i]), i] * float(each[b, i]) for i in range(LABELS))
        assert float(found[b]) == pytest.approx(own, rel=1e-5)


class Filled:
    """Rows whose unknown labels hold a number of our choice."""

    def __init__(self, source: Arrays, fill: float) -> None:
        self.source, self.fill = source, fill

    def __len__(self) -> int:
        return len(self.source)

    def batch(self, chosen) -> Batch:
        found = self.source.batch(chosen)
        return replace(found, target=found.target.where(found.known, self.fill))

    def shuffled(self, *given):
        return self.source.shuffled(*given)

    def in_order(self, *given):
        return self.source.in_order(*given)


NAMES = [name for name in methods_for({"target"}) if "task" in build(name).nets]


@pytest.mark.parametrize("name", NAMES)
def test_no_method_reads_labels_that_are_not_known(name) -> None:
    X, Y = rows()
    Y[np.random.default_rng(1).random(Y.shape) < 0.4] = np.nan
    found = []
    for fill in (0.0, 1.0):
        trainer = make_trainer(build(name), data=Filled(Arrays(X, Y), fill), max_epochs=1)
        trainer.run()
        found.append(weights(trainer))
    assert found[0].keys() == found[1].keys()
    assert all(same(found[0][net], found[1][net]) for net in found[0])


def test_most_methods_have_a_task_net() -> None:
    assert 15 < len(NAMES) < len(METHODS)
