"""Wide sparse inputs and many labels: seconds and memory, as ratios within one run.

    python benchmarks/wide.py run                       # everything
    python benchmarks/wide.py run --only steps fit      # Reuters as TF-IDF with 47,000 columns
    python benchmarks/wide.py run --only many           # 30,000 labels, 100,000 features
    python benchmarks/wide.py table                     # what the store holds

``steps`` times batches of both kinds of training in turn: with sparse first layers, and with dense
ones, as they were before. ``fit`` compares a cross-entropy fit with one-vs-rest logistic regression
on the same rows: seconds, and example F1 of the test texts at thresholds tuned on the validation
texts, which the budget of the fit and the penalty were chosen by, too. ``many`` times 200 batches
of synthetic data, each case in a process of its own, whose largest memory it reports: half the
rows, half the labels, half the features, and all of them. ``top`` predicts all its rows. Data is
found at ``../shared/data/text`` or ``$LOSSNET_DATA/text``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
import text
from runs import Measured, main, once, several
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

from lossnet import MultiLabelClassifier
from lossnet.reports import find
from lossnet.tasks.multilabel import get_metric
from lossnet.tasks.multilabel.thresholds import choose_threshold
from lossnet.tasks.text.tfidf import Tfidf
from lossnet.training.callback import Callback

FEATURES = 47_000
#: Hidden layers of the fits and their epochs: the default, and a small net.
WIDTHS = {(400, 400): 8, (128, 128): 16}
#: What the fits set: few epochs, with learning rates that fall to 0 at the last. Chosen by
#: validation F1, as the penalty of logistic regression is, whose fit with the best C is timed.
FIT: dict[str, Any] = {"batch_size": 64}
FALLING = {"decay": "linear"}
PENALTIES = (10.0, 30.0, 100.0, 300.0)
#: Batches that are timed, after some that are not.
BATCHES, FIRST = 200, 3
METHODS: dict[str, dict[str, Any]] = {
    "cross-entropy": {},
    "seal-nce": {"method_params": {"energy_steps": 1}},
}
#: Rows, labels and features.
CASES = {
    "all": (200_000, 30_000, 100_000),
    "half the rows": (100_000, 30_000, 100_000),
    "half the labels": (200_000, 15_000, 100_000),
    "half the features": (200_000, 30_000, 50_000),
}
METRIC = get_metric("example-f1")


class TimesUpError(Exception):
    """Raised after the last batch that is timed."""


class Timer(Callback):
    """The seconds of some batches, after which training ends."""

    def __init__(self, batches: int, clock: Callable[[], float] = time.perf_counter) -> None:
        self.batches, self.clock = batches, clock
        self.marks: list[float] = []

    def on_batch(self, trainer: Any, losses: Any) -> None:
        self.marks.append(self.clock())
        if len(self.marks) == self.batches + FIRST:
            raise TimesUpError

    @property
    def seconds(self) -> list[float]:
        """Of each batch."""
        return np.diff(self.marks)[FIRST - 1 :].tolist()


def timed(model: MultiLabelClassifier, batches: int, *data: Any, **clock: Any) -> list[float]:
    """Seconds of that many batches of a fit, which then ends."""
    timer = Timer(batches, **clock)
    try:
        model.fit(*data, callbacks=[timer])
    except TimesUpError:
        return timer.seconds
    raise ValueError(f"an epoch has fewer than {batches + FIRST} batches")


@contextmanager
def dense_layers() -> Iterator[None]:
    """First layers and inputs as they were: dense, whatever the number of features."""
    with ExitStack() as stack:
        for module in ("nets.mlp", "training.source"):
            stack.enter_context(patch(f"lossnet.{module}.WIDE", 10**9))
        yield


# Reuters -------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def reuters() -> tuple[Any, ...]:
    """TF-IDF rows of words and pairs of words, and labels: training, validation, test."""
    parts = text.parts("reuters")
    assert parts.validation is not None
    assert parts.test is not None
    encoder = Tfidf.learn(parts.train.texts, longest=2, least=2, most=FEATURES)
    three = parts.train, parts.validation, parts.test
    return tuple(piece for part in three for piece in (encoder.rows(part.texts), part.Y))


def steps(method: str, batch_size: int) -> Measured:
    """Milliseconds of a batch, sparse and dense in turn, three times."""
    X, Y, *_ = reuters()
    how: dict[str, Any] = {"batch_size": batch_size, "random_state": 0, **METHODS[method]}
    found: dict[str, list[float]] = {"sparse": [], "dense": []}
    for _ in range(3):
        clock = {"clock": time.process_time}
        found["sparse"] += timed(MultiLabelClassifier(method, **how), 15, X, Y, **clock)
        with dense_layers():
            found["dense"] += timed(MultiLabelClassifier(method, **how), 5, X, Y, **clock)
    each = {f"{name} ms": 1000 * statistics.median(own) for name, own in found.items()}
    ratio = each["dense ms"] / each["sparse ms"]
    return each | {"times faster": ratio}, sum(map(sum, found.values())), ["wide", "steps"]


def fit(method: str, hidden: tuple[int, ...], seed: int) -> Measured:
    """A fit, and logistic regression: seconds and test example F1, at tuned thresholds."""
    X, Y, V, VY, T, TY = reuters()
    how: dict[str, Any] = {"decode": "threshold", "hidden": hidden, "random_state": seed}
    how |= fit_settings(method, hidden)
    began = time.process_time()
    model = MultiLabelClassifier(method, **how).fit(X, Y, validation_data=(V, VY))
    seconds = time.process_time() - began
    metrics = {"seconds": seconds, "epochs": len(model.history_)}
    metrics["example-f1"] = METRIC(TY, model.predict_proba(T), model.threshold_)
    metrics["validation example-f1"] = METRIC(VY, model.predict_proba(V), model.threshold_)
    metrics |= logistic_regression()
    metrics["times as long"] = seconds / metrics["logistic seconds"]
    return metrics, seconds, ["wide", "fit"]


def fit_settings(method: str, hidden: tuple[int, ...]) -> dict[str, Any]:
    """What a fit sets: all of its epochs are run."""
    own: dict[str, Any] = METHODS[method].get("method_params", {})
    optimisers = ["task_optimiser"] + ["energy_optimiser"] * (method != "cross-entropy")
    params = {**own, **dict.fromkeys(optimisers, FALLING)}
    epochs = {"max_epochs": WIDTHS[hidden], "patience": WIDTHS[hidden]}
    return {**epochs, **FIT, "method_params": params}


@lru_cache(maxsize=1)
def logistic_regression() -> dict[str, float]:
    """One-vs-rest logistic regression with the C of the best validation F1: that fit's seconds."""
    X, Y, V, VY, T, TY = reuters()
    X, V, T = X / 20.0, V / 20.0, T / 20.0  # rows of length 1
    tried: list[dict[str, float]] = []
    for penalty in PENALTIES:
        began = time.process_time()
        model = OneVsRestClassifier(LogisticRegression(C=penalty, max_iter=300)).fit(X, Y)
        seconds, proba = time.process_time() - began, model.predict_proba(V)
        threshold = choose_threshold("tuned", METRIC, VY, proba)
        found = {"logistic C": penalty, "logistic seconds": seconds}
        found["logistic validation example-f1"] = METRIC(VY, proba, threshold)
        found["logistic example-f1"] = METRIC(TY, model.predict_proba(T), threshold)
        tried.append(found)
    return max(tried, key=lambda each: each["logistic validation example-f1"])


# Many labels ---------------------------------------------------------------------------------


def synthetic(rows: int, labels: int, features: int, seed: int = 0) -> tuple[Any, Any]:
    """Rows of some 50 features and 3 labels; each label has ten features that come with it."""
    rng = np.random.default_rng(seed)
    own = (labels * rng.random((rows, 3)) ** 2).astype(np.int64)  # some are more common
    typical = rng.integers(0, features, (labels, 10))
    named = typical[own].reshape(rows, 30)
    named = np.where(rng.random(named.shape) < 0.7, named, rng.integers(0, features, named.shape))
    columns = np.concatenate([named, rng.integers(0, features, (rows, 20))], 1)
    row = np.arange(rows)
    X = sp.csr_matrix(
        (np.ones(columns.size, np.float32), (np.repeat(row, 50), columns.ravel())),
        shape=(rows, features),
    )
    Y = sp.csr_matrix(
        (np.ones(own.size, np.uint8), (np.repeat(row, 3), own.ravel())), shape=(rows, labels)
    )
    Y.data[:] = 1
    return X, Y


def peak() -> float:
    """Largest memory of this process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def many(method: str, case: str) -> dict[str, float]:
    """Seconds and memory of timed batches."""
    X, Y = synthetic(*CASES[case])
    model = MultiLabelClassifier(method, random_state=0, **METHODS[method])
    found = timed(model, BATCHES, X, Y, clock=time.process_time)
    total = sum(found)
    return {"seconds": total, "median ms": 1000 * statistics.median(found), "GB": peak()}


def top(method: str, case: str) -> dict[str, float]:
    """Predictions of all rows, after a short fit on some."""
    X, Y = synthetic(*CASES[case])
    rows, held = slice(0, 32 * BATCHES), slice(32 * BATCHES, 32 * BATCHES + 500)
    model = MultiLabelClassifier(method, max_epochs=1, random_state=0, **METHODS[method])
    model.fit(X[rows], Y[rows], validation_data=(X[held], Y[held]))
    began = time.process_time()
    labels, _ = model.predict_top_k(X, 5)
    seconds = time.process_time() - began
    hits = np.asarray(Y[np.arange(len(labels)).repeat(5), labels.ravel()]).mean()
    began = time.process_time()
    predicted = model.predict(X)
    sparse_seconds = time.process_time() - began
    found = {"top-5 seconds": seconds, "precision at 5": float(hits), "GB": peak()}
    return found | {"predict seconds": sparse_seconds, "labels per row": predicted.mean(0).sum()}


def alone(job: Callable[..., dict[str, float]], *given: str) -> dict[str, float]:
    """What a job measures in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(job, given)


# Command line --------------------------------------------------------------------------------


def run(given: argparse.Namespace) -> None:
    """Measure and record what the store does not hold."""

    def measured(
        what: str, data: str, method: str, job: Callable[[], Measured], **own: Any
    ) -> None:
        if what in given.only:
            key = {"data": data, "data_checksum": "", "method": method, "seed": 0}
            once(given.results, key | {"configuration": {"what": what, **own}}, job)

    for method in given.methods:
        for size in (32, 128):
            name = f"wide-steps-{size}"
            measured("steps", name, method, lambda m=method, s=size: steps(m, s), batch_size=size)
        for hidden in WIDTHS:
            name = f"wide-fit-{'-'.join(map(str, hidden))}"
            own = {"hidden": hidden, **fit_settings(method, hidden)}
            measured("fit", name, method, lambda m=method, h=hidden: fit(m, h, 0), **own)
        for case, sizes in CASES.items():
            job = lambda m=method, c=case: _recorded(many, m, c)  # noqa: E731
            measured("many", f"wide-many-{case}", method, job, sizes=sizes)
        job = lambda m=method: _recorded(top, m, "all")  # noqa: E731
        measured("top", "wide-top", method, job, sizes=CASES["all"])


def _recorded(job: Callable[..., dict[str, float]], method: str, case: str) -> Measured:
    found = alone(job, method, case)
    return found, next(iter(found.values())), ["wide", job.__name__]


def table(given: argparse.Namespace) -> None:
    """A table for each kind of measurement."""
    for what in given.only:
        runs = find(given.results, tags=what)
        runs = [run for run in runs if "wide" in run.tags and run.method in given.methods]
        if not runs:
            continue
        names = list(runs[0].metrics)
        print(
            f"\n| {what} | method | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 2) + "|"
        )
        for own in runs:
            cells = [f"{own.metrics[name]:.4g}" for name in names]
            print(
                f"| {own.data.removeprefix('wide-')} | {own.method} | " + " | ".join(cells) + " |"
            )


if __name__ == "__main__":
    main(
        __doc__,
        run,
        table,
        only=several(["steps", "fit", "many", "top"]),
        methods=several(METHODS),
    )
