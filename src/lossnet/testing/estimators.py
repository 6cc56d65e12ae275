"""The contract of an estimator, on inputs of whatever kind."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from lossnet.errors import LossnetError, SettingError


def check_estimator_contract(estimator: Any, inputs: Any, targets: Any = None) -> None:
    """Check an estimator on labelled inputs: arrays, sentences, images, or a task's data.

    - parameters can be read, set and cloned, and unknown ones are a :class:`ValueError`;
    - before ``fit``, predictions, scores and saving are a ``NotFittedError``;
    - ``fit`` returns the estimator and changes neither its parameters nor the inputs;
    - fitted again, or as a clone, it predicts the same, and so it does after pickling and after
      ``save`` and ``load``;
    - a prediction does not depend on the other inputs;
    - a ``fit`` that fails leaves it as it was, fitted or not.

    It is fitted four times: use small data and few epochs.

    Args:
        estimator: with an integer ``random_state``; it is left as it is.
        inputs: what ``fit`` takes first.
        targets: the truth, None where ``inputs`` are data that holds it.
    """
    estimator = clone(estimator)
    assert isinstance(estimator.random_state, int), "give it an integer random_state"
    before = joblib.hash((inputs, targets))
    labelled = (inputs,) if targets is None else (inputs, targets)
    _check_parameters(estimator)
    _check_unfitted(estimator, inputs, labelled)
    _check_failing_fit(estimator, labelled)
    _check_unfitted(estimator, inputs, labelled)

    params = repr(estimator.get_params())
    assert estimator.fit(*labelled) is estimator, "fit does not return the estimator"
    assert repr(estimator.get_params()) == params, "fit changes the parameters"
    predicted = _predicted(estimator, inputs)
    assert len(estimator.predict(inputs)) == _count(inputs), "predict gives another number of rows"
    assert _predicted(estimator, inputs) == predicted, "two predictions differ"
    first, *_ = estimator.predict(_first(inputs))
    same = joblib.hash(first) == joblib.hash(estimator.predict(inputs)[0])
    assert same, "a prediction depends on the other inputs"
    assert isinstance(estimator.score(*labelled), float), "score is not a float"

    again = pickle.loads(pickle.dumps(estimator))
    assert _predicted(again, inputs) == predicted, "predictions differ after pickling"
    _check_stored(estimator, inputs, predicted)
    _check_failing_fit(estimator, labelled)
    assert _predicted(estimator, inputs) == predicted, "a fit that fails changes the estimator"
    again = clone(estimator)
    _check_unfitted(again, inputs, labelled)
    assert _predicted(again.fit(*labelled), inputs) == predicted, "a clone is fitted differently"
    assert _predicted(again.fit(*labelled), inputs) == predicted, "a second fit is different"
    assert joblib.hash((inputs, targets)) == before, "the inputs or targets were changed"


def _check_parameters(estimator: Any) -> None:
    params = estimator.get_params(deep=False)
    other = type(estimator)()
    assert other.set_params(**params) is other, "set_params does not return the estimator"
    for name, value in other.get_params(deep=False).items():
        assert value is params[name], f"set_params changes {name}"
    _raises(ValueError, "set_params of an unknown parameter", lambda: other.set_params(unknown_=1))


def _check_unfitted(estimator: Any, inputs: Any, labelled: tuple[Any, ...]) -> None:
    calls: dict[str, Callable[[], Any]] = {
        "predict": lambda: estimator.predict(inputs),
        "predict_proba": lambda: estimator.predict_proba(inputs),
        "score": lambda: estimator.score(*labelled),
        "save": lambda: estimator.save(Path("not-written")),
    }
    for name, call in calls.items():
        _raises(NotFittedError, f"{name} before fit", call)


def _check_failing_fit(estimator: Any, labelled: tuple[Any, ...]) -> None:
    """Let ``fit`` fail by a setting and by its data."""
    epochs = estimator.max_epochs
    estimator.set_params(max_epochs=0)
    _raises(SettingError, "fit with max_epochs=0", lambda: estimator.fit(*labelled))
    estimator.set_params(max_epochs=epochs)
    if len(labelled) > 1:
        inputs, targets = labelled
        _raises(LossnetError, "fit without targets", lambda: estimator.fit(inputs, None))
        _raises(ValueError, "fit with a target short", lambda: estimator.fit(inputs, targets[:-1]))


def _check_stored(estimator: Any, inputs: Any, predicted: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        estimator.save(folder)
        again = type(estimator).load(folder)
    assert _predicted(again, inputs) == predicted, "predictions differ after save and load"


def _predicted(estimator: Any, inputs: Any) -> str:
    """A hash of predictions and probabilities."""
    return str(joblib.hash((estimator.predict(inputs), estimator.predict_proba(inputs))))


def _count(inputs: Any) -> int:
    return int(inputs.shape[0]) if hasattr(inputs, "shape") else len(inputs)


def _first(inputs: Any) -> Any:
    return inputs.subset([0]) if hasattr(inputs, "subset") else inputs[:1]


def _raises(kind: type[Exception], what: str, call: Callable[[], Any]) -> None:
    try:
        call()
    except kind:
        return
    raise AssertionError(f"{what} is no {kind.__name__}")
