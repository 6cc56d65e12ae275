"""Several task-nets, one loss-net: who learns from which rows, and who speaks for whom."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lossnet import MultiLabelClassifier
from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.energies import LabelEnergy
from lossnet.errors import DataError, SettingError
from lossnet.nets import HeldOut, LabelMLP, LabelMLPs
from lossnet.objectives import Compound
from lossnet.recipes import build
from lossnet.recipes.members import MEMBERS, with_members
from lossnet.spaces import Binary

FOLDS = torch.tensor([0, 1, 2, 0, 1])
SUPPORTED = (
    *("cross-entropy", "seal-margin", "seal-regression", "seal-regression-s", "seal-nce"),
    *("seal-ranking", "seal-static-nce", "alen"),
)


def _context(fold: torch.Tensor | None = FOLDS, *, members: int = 3) -> Context:
    torch.manual_seed(0)
    nets = {
        MEMBERS: LabelMLPs(4, 2, members=members, hidden=(5, 6), dropout=0.0),
        "task": HeldOut(MEMBERS),
        "energy": LabelEnergy(4, 2, hidden=(5,), dropout=0.0, global_hidden=6),
    }
    batch = Batch(torch.randn(5, 4), (torch.rand(5, 2) < 0.5).float(), fold=fold)
    return Context(nets, batch, Binary(), training=frozenset({MEMBERS}))


def test_a_member_is_a_net_of_its_own() -> None:
    nets = _context().nets[MEMBERS]
    alone = LabelMLP(4, 2, hidden=(5, 6), dropout=0.0)
    linear = [layer for layer in alone.features.layers if isinstance(layer, torch.nn.Linear)]
    x = torch.randn(7, 4)
    for m in range(3):
        with torch.no_grad():
            for layer, weight, bias in zip(linear, nets.weights, nets.biases, strict=True):
                layer.weight.copy_(weight[m].T)
                layer.bias.copy_(bias[m, 0])
            alone.label_embeddings.copy_(nets.label_embeddings[m])
        torch.testing.assert_close(nets(x)[:, m], alone(x))


def test_a_row_of_a_fold_has_the_member_that_left_it_out() -> None:
    context = _context()
    each = context.logits(MEMBERS)
    for row, fold in enumerate(FOLDS):
        torch.testing.assert_close(context.logits("task")[row], each[row, fold])


def test_new_rows_have_the_mean_probability() -> None:
    context = _context(None)
    mean = torch.sigmoid(context.logits(MEMBERS)).mean(1)
    torch.testing.assert_close(torch.sigmoid(context.logits("task")), mean)


@pytest.mark.parametrize("name", ["cross-entropy", "seal-nce", "seal-regression"])
def test_no_gradient_of_a_row_reaches_the_member_that_leaves_it_out(name: str) -> None:
    method = with_members(build(name), 3)
    update = next(one for one in method.updates if one.trains == MEMBERS)
    context = _context()
    losses = update.objective(context, keep_graph=True)
    embeddings = context.nets[MEMBERS].label_embeddings
    for row, fold in enumerate(FOLDS.tolist()):
        (slope,) = torch.autograd.grad(losses[row], embeddings, retain_graph=True)
        reached = slope.abs().sum((1, 2)) > 0
        assert reached.tolist() == [m != fold for m in range(3)]


def test_the_loss_is_the_mean_over_the_rows_that_a_member_sees() -> None:
    method = with_members(build("cross-entropy"), 3)
    (update,) = method.updates
    assert isinstance(update.objective, Compound)
    context = _context(torch.tensor([0, 1, 2, 0, 1]))
    losses = update.objective(context)
    own = torch.nn.functional.binary_cross_entropy_with_logits
    each, target = context.logits(MEMBERS), context.target
    by_hand = [
        1.5 * sum(own(each[b, m], target[b], reduction="sum") for m in range(3) if m != FOLDS[b])
        for b in range(5)
    ]
    torch.testing.assert_close(losses, torch.stack(by_hand))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SUPPORTED)
def test_methods_with_a_task_net_of_its_own(name: str) -> None:
    method = with_members(build(name), 4)
    assert MEMBERS in method.nets
    assert all("task" not in update.trained for update in method.updates)
    assert with_members(build(name), 1) == build(name)


@pytest.mark.parametrize("name", ["infnet-plus", "implicit-nce", "dvn", "crf", "infnet"])
def test_other_methods_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match=f"members must be 1 with the method '{name}', got 2"):
        with_members(build(name), 2)


def _rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(90, 5)).astype(np.float32)
    return X, (X[:, :3] + X[:, 1:4] > 0).astype(int)


def _classifier(method: str = "seal-nce", **given: Any) -> MultiLabelClassifier:
    own = {"hidden": (16,), "max_epochs": 4, "random_state": 0, "global_hidden": 8}
    return MultiLabelClassifier(method, **{**own, "members": 3, **given})


def test_saved_and_loaded_as_one_model(tmp_path: Any) -> None:
    X, Y = _rows()
    clf = _classifier().fit(X, Y)
    assert sorted(np.bincount(clf.folds_)) == pytest.approx([len(clf.folds_) / 3] * 3, abs=2)
    for keep in (True, False):
        again = MultiLabelClassifier.load(clf.save(tmp_path / f"{keep}", keep_energy=keep))
        np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_the_same_seed_gives_the_same_members_whatever_the_loss_net_does() -> None:
    X, Y = _rows()
    first, second = (_classifier(method_params={"energy_weight": 0.0}).fit(X, Y) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    alone = _classifier("cross-entropy").fit(X, Y)
    np.testing.assert_array_equal(first.predict_proba(X), alone.predict_proba(X))


def test_with_weights_unknown_labels_and_unlabelled_rows() -> None:
    X, Y = _rows()
    Y = Y.astype(float)
    Y[::7, 0] = np.nan
    clf = _classifier().fit(X, Y, sample_weight=np.linspace(0, 1, 90), unlabelled=X[:20])
    assert clf.predict(X).shape == Y.shape


def test_bad_settings() -> None:
    X, Y = _rows()
    with pytest.raises(SettingError, match="members must be an integer of at least 1, got 0"):
        _classifier(members=0).fit(X, Y)
    with pytest.raises(DataError, match="at most the number of training rows, 3, got 5"):
        _classifier(members=5).fit(X[:3], Y[:3], validation_data=(X, Y))
    with pytest.raises(SettingError, match="members must be 1 with a task_net of your own, got 3"):
        _classifier(task_net=lambda d, n: torch.nn.Linear(d, n)).fit(X, Y)
