"""A classifier of logits: what its energies learn from, and who judges which row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from exclusive_labels import one_of_three
from sklearn.base import clone

from lossnet import MultiLabelClassifier
from lossnet.tasks.multilabel.logit_classifier import LogitClassifier
from lossnet.training import TimeLimit


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    return one_of_three(200)


def test_no_row_is_judged_by_an_energy_that_saw_it(monkeypatch) -> None:
    X, Y = one_of_three(60)
    learnt: list[set[float]] = []
    judged: list[set[float]] = []
    fit, decided = MultiLabelClassifier.fit, MultiLabelClassifier._decided

    def watch_fit(self: Any, data: Any, *given: Any, **how: Any) -> Any:
        if not isinstance(self, LogitClassifier):
            learnt.append(set(data.X[:, 0].tolist()))
            self.number = len(learnt) - 1
        return fit(self, data, *given, **how)

    def watch(self: Any, decision: Any, data: Any) -> Any:
        if not isinstance(self, LogitClassifier):
            seen = set(np.asarray(data.X)[:, 0].tolist())
            judged.append(seen)
            assert not seen & learnt[self.number]
        return decided(self, decision, data)

    monkeypatch.setattr(MultiLabelClassifier, "fit", watch_fit)
    monkeypatch.setattr(MultiLabelClassifier, "_decided", watch)
    LogitClassifier(metric="subset-accuracy", max_epochs=2, random_state=0).fit(X, Y)
    assert [len(one) for one in learnt] == [45] * 4
    assert set().union(*judged) == set(X[:, 0].tolist())


def test_validation_rows_are_chosen_on_and_not_learnt_from() -> None:
    X, Y = one_of_three(100)
    params = {"metric": "subset-accuracy", "max_epochs": 3, "random_state": 0}
    alone = LogitClassifier(**params).fit(X[:60], Y[:60])
    more = LogitClassifier(**params).fit(X[:60], Y[:60], validation_data=(X[60:], Y[60:]))
    np.testing.assert_array_equal(more.energy(X, Y), alone.energy(X, Y))
    shares = np.array(list(more.decision_.tried.values()))
    np.testing.assert_allclose(100 * shares, np.round(100 * shares))


def test_the_loss_net_is_the_mean_of_the_energies_and_starts_from_the_same_seed() -> None:
    X, Y = one_of_three(80)
    model = LogitClassifier(metric="subset-accuracy", max_epochs=2, random_state=0).fit(X, Y)
    energy, x, y = model.nets_["energy"], torch.as_tensor(X[:5]), torch.ones(1, 5, 3)
    each = [part(part.encode(x), y) for part in energy.parts]
    assert len(each) == 4
    torch.testing.assert_close(energy(energy.encode(x), y), torch.stack(each).mean(0))
    again = clone(model).fit(X, Y)
    np.testing.assert_array_equal(again.energy(X, Y), model.energy(X, Y))
    assert again.decision_ == model.decision_
    assert sorted({row["fold"] for row in model.history_}) == [0, 1, 2, 3]


def test_a_joint_pays_where_labels_exclude_each_other() -> None:
    X, Y = one_of_three(600)
    test = one_of_three(400, seed=1)
    # Logits of an estimator that knows each label, and not that exactly one is on.
    model = LogitClassifier(metric="subset-accuracy", random_state=0).fit(X, Y)
    assert model.decision_.weight > 0
    one = model.set_params(decode="mode").predict(test[0])
    assert (one.sum(1) == 1).mean() > 0.95
    best = np.eye(3)[test[0].argmax(1)]  # what is right most often
    assert (one == best).all(1).mean() > 0.75
    base = model.set_params(decode="threshold").score(*test)
    assert model.set_params(decode="auto").score(*test) > base + 0.1
    assert model.structure_gain(*test).dependence > 0.2


def test_equal_weights_change_nothing_and_others_count(rows) -> None:
    X, Y = rows
    model = LogitClassifier(metric="subset-accuracy", max_epochs=3, random_state=0)
    plain = clone(model).fit(X, Y).energy(X, Y)
    alike = clone(model).fit(X, Y, sample_weight=np.full(len(X), 2.0)).energy(X, Y)
    np.testing.assert_allclose(alike, plain, atol=1e-5)
    other = clone(model).fit(X, Y, sample_weight=np.where(Y[:, 0], 9.0, 1.0)).energy(X, Y)
    assert np.abs(other - plain).max() > 1e-3


def test_decisions_are_chosen_on_some_of_many_rows(monkeypatch) -> None:
    monkeypatch.setattr("lossnet.tasks.multilabel.logit_classifier._MOST_ROWS", 50)
    X, Y = one_of_three(120)
    model = LogitClassifier(metric="subset-accuracy", max_epochs=2, random_state=0).fit(X, Y)
    shares = np.array(list(model.decision_.tried.values()))
    np.testing.assert_allclose(50 * shares, np.round(50 * shares))


def test_a_time_limit_is_shared_by_the_folds(rows) -> None:
    limit = TimeLimit(0.5)
    model = LogitClassifier(metric="subset-accuracy", max_epochs=5000, patience=5000)
    model.fit(*rows, callbacks=[limit])
    epochs = [sum(row["fold"] == k for row in model.history_) for k in range(4)]
    assert limit.cut
    assert min(epochs) > 0.2 * max(epochs)
