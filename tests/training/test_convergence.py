"""A warning, and a line of progress, where max_epochs ended a phase that was still improving."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from small_runs import make_trainer

from lossnet import MultiLabelClassifier, build
from lossnet.training import Convergence, ProgressLines, Trainer

METHOD = build("cross-entropy")


def run(score: Callable[[int], float] | None, *, method=METHOD, **options) -> Trainer:
    """A run whose validation metric is a function of the epoch, from 1."""
    trainer = make_trainer(method, **{"max_epochs": 10, **options})
    if score is not None:
        trainer.score = lambda proposal: score(trainer.epoch)
    trainer.callbacks.append(Convergence("f1"))
    trainer.run()
    return trainer


@pytest.mark.parametrize("score", [lambda e: e / 20, lambda e: -abs(e - 9) - 1.0])
def test_a_warning_where_the_best_epoch_is_among_the_last_two(score) -> None:
    wanted = "max_epochs=10 ended the phase 'cross-entropy' while the validation f1 was still"
    with pytest.warns(ConvergenceWarning, match=wanted + " improving; raise max_epochs"):
        run(score)


@pytest.mark.parametrize(
    ("score", "options"),
    [
        (None, {}),  # without validation data
        (lambda e: -abs(e - 8) - 1.0, {}),  # two epochs ago
        (lambda e: e / 20, {"max_epochs": 9}),  # a trial
        (lambda e: float(e == 10), {"max_epochs": 12, "patience": 2}),  # patience ended it
        (lambda e: -abs(e - 9) - 1.0, {"patience": 1}),  # patience ended it in the last epoch
        (lambda e: 0.0, {}),  # it never improved
        (
            lambda e: e / 20,
            {"method": build("cross-entropy", {"task_optimiser": {"decay": "linear"}})},
        ),
    ],
)
def test_no_warning(score, options) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert run(score, **options).epoch > 0


def test_every_phase_is_judged_by_itself() -> None:
    method = build("seal-static-margin")
    with pytest.warns(ConvergenceWarning) as caught:
        run(lambda e: e / 20, method=method)
    phases = [phase.name for phase in method.phases]
    assert len(phases) > 1
    assert [next(p for p in phases if repr(p) in str(w.message)) for w in caught] == phases


def test_progress_has_a_line(capsys) -> None:
    trainer = make_trainer(METHOD, max_epochs=10)
    trainer.score = lambda proposal: -abs(trainer.epoch - 9) - 1.0
    trainer.callbacks.append(ProgressLines("f1"))
    trainer.run()
    *_, before, last = capsys.readouterr().err.splitlines()
    assert "epoch 10 of at most 10" in before
    assert last.startswith("cross-entropy: epoch 9 of at most 10 was the best so far; more epochs")


def test_estimators_warn() -> None:
    X = np.random.default_rng(0).normal(size=(60, 4))
    Y = (X[:, :2] > 0).astype(int)
    small = MultiLabelClassifier(
        "cross-entropy", hidden=(), max_epochs=10, random_state=0, metric=lambda Y, P: next(values)
    )
    values = iter(range(1, 10_000))
    with pytest.warns(ConvergenceWarning, match="raise max_epochs"):
        small.fit(X, Y)


def test_the_warning_names_the_line_that_called_lossnet() -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        run(lambda e: e / 20)
    assert caught[0].filename == __file__
