"""Outside baselines of label sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from lossnet import MultiLabelClassifier
from lossnet.tasks.multilabel import MultiLabelData, baselines, evaluate, tune_threshold
from lossnet.tasks.multilabel.baselines import BASELINES, chain, ensemble, logistic
from lossnet.tasks.multilabel.task import TASK
from lossnet.tasks.parts import Parts, divide


def data(n: int = 90, *, seed: int = 0) -> MultiLabelData:
    X = np.random.default_rng(seed).normal(size=(n, 4))
    Y = np.stack([X[:, 0] > 0, X[:, 0] + X[:, 1] > 0.5, X[:, 2] > 1], 1)
    return MultiLabelData(X, Y.astype(int))


def fitted(name: str, parts: Parts[Any], **params: Any) -> Any:
    template = MultiLabelClassifier("cross-entropy", hidden=(8,), max_epochs=2, **params)
    return TASK.fit_baseline(name, parts, seed=0, seconds=0.0, template=template)


@pytest.mark.parametrize("name", [name for name in BASELINES if name != "extra-trees"])
def test_thresholds_are_tuned_on_validation_rows(name: str) -> None:
    parts = divide(data())
    model = fitted(name, parts)
    assert parts.validation is not None
    assert parts.test is not None
    threshold, _ = tune_threshold(parts.validation.Y, model.predict_proba(parts.validation))
    assert model.threshold_ == threshold
    measured = TASK.measure(model, parts.test)["as predicted"]
    found = evaluate(parts.test.Y, model.predict_proba(parts.test), threshold)
    assert measured["example-f1"] == found["example-f1"]
    assert model.seconds_ > 0


def test_without_a_validation_part() -> None:
    model = fitted("logistic-regression", Parts(data(), test=data(20, seed=1)))
    assert 0 < model.threshold_ < 1


def test_chain_is_that_of_sklearn() -> None:
    rows, order = data(), np.random.default_rng(3).permutation(3)
    theirs = ClassifierChain(LogisticRegression(solver="liblinear"), order=list(order))
    theirs.fit(rows.X, rows.Y)
    for X in (rows.X, csr_matrix(rows.X)):
        ours = chain(X, rows.Y.astype(float), 3)(X)
        np.testing.assert_allclose(ours, theirs.predict_proba(rows.X), atol=1e-3)


def test_labels_that_are_not_known_or_never_change() -> None:
    rows = data()
    Y = rows.Y.astype(float)
    Y[:5, 0] = np.nan
    Y[:, 1] = 1.0
    found = logistic(rows.X, Y, 1.0)(rows.X)
    np.testing.assert_array_equal(found[:, 1], 1.0)
    alone = logistic(rows.X[5:], Y[5:, :1], 1.0)(rows.X)
    np.testing.assert_array_equal(found[:, :1], alone)


def test_an_ensemble_uses_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = divide(data())
    template = MultiLabelClassifier("cross-entropy", hidden=(8,), max_epochs=1)
    few = ensemble(parts, template, seed=1, seconds=0.0)
    assert few.settings_ == {"nets": 2}
    monkeypatch.setattr(baselines, "MOST", 4)
    assert ensemble(parts, template, seed=1, seconds=1e9).settings_ == {"nets": 4}
    models = [MultiLabelClassifier("cross-entropy", hidden=(8,), max_epochs=1) for _ in range(2)]
    mean = np.mean(
        [
            model.set_params(random_state=1000 + k)
            .fit(parts.train, validation_data=parts.validation)
            .predict_proba(parts.test)
            for k, model in enumerate(models)
        ],
        0,
    )
    np.testing.assert_allclose(few.predict_proba(parts.test), mean)
