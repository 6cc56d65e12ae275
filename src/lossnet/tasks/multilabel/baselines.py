"""What one would use instead: scikit-learn on the same rows, with the same threshold tuning.

Each is a function of training inputs and labels that gives a :data:`Probabilities`; real-valued
features are standardised and missing values replaced as the estimators do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from lossnet.errors import DataError
from lossnet.tasks.multilabel.arrays import with_unseen
from lossnet.tasks.multilabel.metrics import apply_threshold, get_metric
from lossnet.tasks.parts import Parts
from lossnet.tasks.task import Baseline

#: Probabilities ``(n, L)`` of rows.
Probabilities = Callable[[Any], np.ndarray]
#: Fits a trial of a baseline: inputs, labels ``(n, L)`` and the seed.
Fit = Callable[[Any, np.ndarray, int], Probabilities]

BASELINES: dict[str, Baseline] = {
    "logistic-regression": Baseline("one-vs-rest logistic regression, C of 0.3, 1 or 3", False),
    "extra-trees": Baseline("300 extremely randomised trees"),
    "classifier-chain": Baseline("a chain of logistic regressions in random order"),
    "ensemble": Baseline("cross-entropy nets, as long as the slowest method", equal_time=True),
}
#: Nets of an ensemble, at least and at most.
FEWEST, MOST = 2, 50


@dataclass(eq=False)
class LabelBaseline:
    """A fitted baseline.

    Args:
        probabilities: of prepared rows.
        prepare: data to rows.
        threshold_: tuned on validation data.
        settings_: what could change it.
    """

    probabilities: Probabilities
    prepare: Callable[[Any], Any]
    threshold_: Any
    settings_: Mapping[str, Any]
    seconds_: float = 0.0
    parameters_: int | None = None
    #: None of them keeps to constraints.
    constraints_: tuple[()] = field(default=())

    def predict_proba(self, data: Any) -> np.ndarray:
        """Probabilities ``(n, L)`` of data."""
        return self.probabilities(self.prepare(data))

    def predict(self, data: Any) -> np.ndarray:
        """0/1 labels ``(n, L)`` of data."""
        return self.predicted(data)[0]

    def predicted(self, data: Any, threshold: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """0/1 labels at a threshold, or at its own, and probabilities."""
        proba = self.predict_proba(data)
        return apply_threshold(proba, self.threshold_ if threshold is None else threshold), proba


def logistic(X: Any, Y: np.ndarray, C: float) -> Probabilities:
    """One model a label, of the rows where it is known; one with a single value keeps it."""
    from sklearn.linear_model import LogisticRegression

    models: list[Any] = []
    for column in Y.T:
        rows = np.flatnonzero(~np.isnan(column))
        known = column[rows]
        if 0 < known.sum() < len(known):
            models.append(LogisticRegression(C=C, solver="liblinear").fit(X[rows], known))
        else:
            models.append(float(known[0]) if len(known) else 0.0)

    def probabilities(rows: Any) -> np.ndarray:
        columns = (
            np.full(rows.shape[0], model)
            if isinstance(model, float)
            else model.predict_proba(rows)[:, 1]
            for model in models
        )
        return np.column_stack(list(columns))

    return probabilities


def _one_vs_rest(C: float, X: Any, Y: np.ndarray, seed: int) -> Probabilities:
    return logistic(X, Y, C)


def together(model: Any, X: Any, Y: np.ndarray) -> Probabilities:
    """A scikit-learn classifier that takes the complete indicator matrix."""
    rows = np.flatnonzero(~np.isnan(Y).any(1))
    if not len(rows):
        raise DataError("no training row has all its labels known, which this baseline needs")
    model.fit(X[rows], Y[rows])

    def probabilities(rows: Any) -> np.ndarray:
        found, columns = model.predict_proba(rows), []
        for label, proba in enumerate([found] if isinstance(found, np.ndarray) else found):
            classes = list(model.classes_[label] if isinstance(found, list) else model.classes_)
            columns.append(proba[:, classes.index(1)] if 1 in classes else np.zeros(len(proba)))
        return np.column_stack(columns)

    return probabilities


def extra_trees(X: Any, Y: np.ndarray, seed: int) -> Probabilities:
    """300 extremely randomised trees."""
    from sklearn.ensemble import ExtraTreesClassifier

    return together(ExtraTreesClassifier(300, random_state=seed), X, Y)


def chain(X: Any, Y: np.ndarray, seed: int) -> Probabilities:
    """A chain of logistic regressions, each on the inputs and on the labels before it."""
    from scipy.sparse import csr_matrix, hstack, issparse

    order = np.random.default_rng(seed).permutation(Y.shape[1])
    inverse, rows = np.argsort(order), np.flatnonzero(~np.isnan(Y).any(1))
    if not len(rows):
        raise DataError("no training row has all its labels known, which this baseline needs")
    X, given = X[rows], Y[rows][:, order]

    def widened(X: Any, before: np.ndarray) -> Any:
        if issparse(X):
            blocks: list[Any] = [X, csr_matrix(before)]
            return csr_matrix(hstack(blocks))
        return np.hstack([X, before])

    links = [
        logistic(widened(X, given[:, :k]), given[:, k : k + 1], 1.0) for k in range(len(order))
    ]

    def probabilities(rows: Any) -> np.ndarray:
        found = np.zeros((rows.shape[0], len(order)))
        for k, link in enumerate(links):
            # The most probable value of the labels before, as in scikit-learn's ClassifierChain.
            found[:, k] = link(widened(rows, (found[:, :k] >= 0.5).astype(np.float64)))[:, 0]
        return found[:, inverse]

    return probabilities


def trials(name: str) -> list[tuple[dict[str, Any], Fit]]:
    """Settings to try of a baseline of scikit-learn, each with what fits it."""
    if name == "logistic-regression":
        return [({"C": C}, partial(_one_vs_rest, C)) for C in (0.3, 1.0, 3.0)]
    return [({"trees": 300}, extra_trees)] if name == "extra-trees" else [({"C": 1.0}, chain)]


def preparation(train: Any) -> Callable[[Any], Any]:
    """How rows become what scikit-learn takes, learnt from the training rows."""
    from lossnet.tasks.multilabel.imputer import Imputer
    from lossnet.tasks.standardiser import Standardiser

    impute = Imputer.of(train.X)
    standardise = Standardiser.of(impute(train.X), "auto") or (lambda X: X)
    return lambda data: standardise(impute(data.X))


def fit_best(
    trials: list[tuple[dict[str, Any], Fit]],
    parts: Parts[Any],
    *,
    seed: int = 0,
    prepare: Callable[[Any], Any] | None = None,
    metric: Any = "example-f1",
) -> tuple[LabelBaseline, float]:
    """The trial of highest metric on validation rows at its tuned threshold, and that metric."""
    began = time.perf_counter()
    prepare = prepare or preparation(parts.train)
    X, Y = prepare(parts.train), parts.train.Y.astype(np.float64)
    best: tuple[LabelBaseline, float] | None = None
    for settings, fit in trials:
        probabilities = fit(X, Y, seed)
        threshold, value = _threshold(parts.validation, probabilities, prepare, metric)
        if best is None or value > best[1]:
            best = LabelBaseline(probabilities, prepare, threshold, settings), value
    assert best is not None
    best[0].seconds_ = time.perf_counter() - began
    return best


def _threshold(validation: Any, proba: Probabilities, prepare: Any, metric: Any) -> Any:
    """The threshold tuned on validation rows, and its metric."""
    from lossnet.tasks.multilabel.thresholds import tune_threshold

    found = with_unseen(proba(prepare(validation)), validation.n_labels)
    return tune_threshold(validation.Y, found, metric=metric)


def fit_baseline(
    name: str,
    parts: Parts[Any],
    prepared: Callable[[Any, Any], Callable[[Any], Any]],
    *,
    seed: int,
    seconds: float,
    template: Any,
) -> LabelBaseline:
    """One of :data:`BASELINES`, its threshold tuned for the template's metric on validation rows.

    Args:
        name: the baseline's.
        parts: the data; without a validation part one is cut from the training part, as the
            estimators do.
        prepared: gives, for the training part and the template, how data becomes rows.
        seed: of its randomness.
        seconds: for how long an ensemble is trained.
        template: an unfitted estimator, whose settings an ensemble's nets have.
    """
    metric = get_metric(template.metric)
    chosen = metric if metric.needs == "labels" else get_metric("example-f1")
    parts = parts.with_validation(float(template.validation_fraction) or 0.15, seed=seed)
    if BASELINES[name].equal_time:
        return ensemble(parts, template, seed=seed, seconds=seconds, metric=chosen)
    prepare = prepared(parts.train, template)
    return fit_best(trials(name), parts, seed=seed, prepare=prepare, metric=chosen)[0]


def ensemble(
    parts: Parts[Any], template: Any, *, seed: int, seconds: float, metric: Any = "example-f1"
) -> LabelBaseline:
    """Nets trained one after another for about so many seconds, at least two.

    Args:
        parts: the data.
        template: an unfitted estimator; the nets have the seeds 1000 ``seed``, 1000 ``seed`` + 1
            and so on.
        seed: see above.
        seconds: no further net is started that would end later than this.
        metric: what the threshold is tuned for.
    """
    from sklearn.base import clone

    began, nets = time.perf_counter(), list[Any]()
    while len(nets) < MOST:
        used = time.perf_counter() - began
        if len(nets) >= FEWEST and used * (len(nets) + 1) / len(nets) > seconds:
            break
        model = clone(template).set_params(random_state=1000 * seed + len(nets))
        nets.append(model.fit(parts.train, validation_data=parts.validation))

    def probabilities(data: Any) -> np.ndarray:
        return np.asarray(np.mean([net.predict_proba(data) for net in nets], 0))

    def prepare(data: Any) -> Any:
        return data.without_labels()

    threshold, _ = _threshold(parts.validation, probabilities, prepare, metric)
    found = LabelBaseline(probabilities, prepare, threshold, {"nets": len(nets)})
    found.seconds_ = time.perf_counter() - began
    used_nets = [net for model in nets for net in model.nets_.values()]
    found.parameters_ = sum(p.numel() for net in used_nets for p in net.parameters())
    return found
