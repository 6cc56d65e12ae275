"""Unlabelled rows: the nets follow the loss-net there, by the terms that need no truth."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from lossnet.context import Batch, Context
from lossnet.energies import LabelEnergy
from lossnet.method import Method
from lossnet.needs import TARGET, UNLABELLED
from lossnet.nets import LabelMLP
from lossnet.objectives import Compound
from lossnet.recipes import METHODS, build
from lossnet.recipes.parts import following_unlabelled
from lossnet.spaces import Binary

DYNAMIC = (
    *("seal-margin", "seal-regression", "seal-regression-s", "seal-nce", "seal-ranking"),
    *("seal-static-margin", "seal-static-regression", "seal-static-nce", "alen", "infnet"),
    *("infnet-plus", "implicit-ssvm", "implicit-dvn", "implicit-cd", "implicit-nce"),
)
WITHOUT = ("cross-entropy", "spen", "dvn", "nce-energy", "crf")


@pytest.mark.parametrize("name", DYNAMIC)
def test_every_method_with_a_task_net_that_follows_an_energy(name: str) -> None:
    method = following_unlabelled(build(name), 0.5)
    assert method.needs >= UNLABELLED
    for update in method.updates:
        parts = update.objective.parts if isinstance(update.objective, Compound) else ()
        for part in parts:
            if part.rows == "unlabelled":
                assert "energy" not in update.trained
                assert part.weight == 0.5
                assert not part.objective.needs >= TARGET
    assert following_unlabelled(method, 0.5) is method


@pytest.mark.parametrize("name", WITHOUT)
def test_methods_without_such_terms_stay(name: str) -> None:
    assert not following_unlabelled(build(name), 1.0).needs >= UNLABELLED


def test_the_weight_0_changes_nothing() -> None:
    for name in sorted(METHODS.keys() - {"seal-reward", "implicit-reward"}):
        method = build(name)
        assert following_unlabelled(method, 0.0) == method


def test_the_implicit_gradient_is_through_both_kinds_of_rows() -> None:
    method = following_unlabelled(build("implicit-nce"), 1.0)
    task, energy = method.updates
    assert energy.gradient.inner == task.objective  # type: ignore[attr-defined]


def _context(rows: int, others: int) -> Context:
    torch.manual_seed(0)
    nets = {
        "task": LabelMLP(4, 3, hidden=(5,), dropout=0.0),
        "energy": LabelEnergy(4, 3, hidden=(5,), dropout=0.0, global_hidden=6),
    }
    batch = Batch(torch.randn(rows, 4), (torch.rand(rows, 3) < 0.5).float())
    unlabelled = Batch(torch.randn(others, 4))
    return Context(nets, batch, Binary(), training=frozenset({"task"}), unlabelled=unlabelled)


def test_the_loss_is_that_of_labelled_rows_plus_the_mean_over_the_others() -> None:
    given: dict[str, Any] = {"energy_weight": 2.0, "entropy_weight": 0.5}
    plain, method = build("seal-nce", given), following_unlabelled(build("seal-nce", given), 3.0)
    context = _context(6, 9)
    loss = _task(method).objective(context).mean()
    logits = context.nets["task"](context.unlabelled.x)  # type: ignore[union-attr]
    p = torch.sigmoid(logits)
    energy = context.nets["energy"]
    e = energy(energy.encode(context.unlabelled.x), p.unsqueeze(0))[0]  # type: ignore[union-attr]
    entropy = -(p * p.log() + (1 - p) * (1 - p).log()).sum(-1)
    by_hand = _task(plain).objective(context).mean() + 3.0 * (2.0 * e - 0.5 * entropy).mean()
    torch.testing.assert_close(loss, by_hand)


def _task(method: Method) -> Any:
    return next(update for update in method.updates if update.trains == "task")
