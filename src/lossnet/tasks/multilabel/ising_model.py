"""Labels drawn from an Ising model: everything about them can be computed exactly.

    p(y | x) ∝ exp( sum_i f_i(x) s_i + coupling * sum_{i<j} J_ij s_i s_j ),   s = 2 y - 1

with fields f(x) = W x + b and J fixed by the seed. With coupling 0 the labels are independent
given x; the larger it is, the more a label tells about the others.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from lossnet.errors import DataError, SettingError, unknown
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.parts import Parts

Array = np.ndarray[Any, Any]
METRICS = ("subset-accuracy", "hamming", "example-f1")
_CHUNK = 1024


class Ising:
    """A distribution of labels given features, with its exact best predictions.

    Args:
        labels: L, at most 14, for all 2**L label sets are enumerated.
        features: d; a row of X is d standard normal numbers.
        coupling: how strongly labels depend on each other.
        field: how strongly they depend on x.
        seed: of W, b and J.

    >>> model = Ising(labels=3, features=2, coupling=1.0, seed=0)
    >>> data = model.sample(5, seed=1)
    >>> model.probabilities(data.X).shape
    (5, 8)
    """

    def __init__(
        self,
        labels: int = 10,
        features: int = 20,
        *,
        coupling: float = 1.0,
        field: float = 1.0,
        seed: int = 0,
    ) -> None:
        if not 1 <= labels <= 14:
            raise SettingError(f"labels={labels}: between 1 and 14 can be enumerated")
        if features < 1:
            raise SettingError(f"features={features}: at least one is needed")
        rng = np.random.default_rng(seed)
        self.labels, self.features, self.coupling = labels, features, float(coupling)
        self.W = field * rng.standard_normal((features, labels)) / np.sqrt(features)
        self.b = 0.3 * field * rng.standard_normal(labels)
        self.J = np.triu(rng.standard_normal((labels, labels)) / np.sqrt(labels), 1)

    @cached_property
    def states(self) -> Array:
        """Every label set, (2**L, L): row k holds the binary digits of k, lowest first."""
        return ((np.arange(2**self.labels)[:, None] >> np.arange(self.labels)) & 1).astype(np.uint8)

    def probabilities(self, X: Any) -> Array:
        """p(y | x) of every state, (n, 2**L)."""
        X = self._check(X)
        S = 2.0 * self.states - 1.0
        pairs = np.einsum("ki,ij,kj->k", S, self.J, S, optimize=True)
        logits = (X @ self.W + self.b) @ S.T + self.coupling * pairs
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits

    def sample(self, n: int, *, seed: int = 0) -> MultiLabelData:
        """``n`` rows: x standard normal, y drawn from p(y | x)."""
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, self.features)).astype(np.float32)
        draws = rng.random(n)
        Y = np.empty((n, self.labels), dtype=np.uint8)
        for rows in self._chunks(n):
            total = np.cumsum(self.probabilities(X[rows]), axis=1)
            total /= total[:, -1:]
            Y[rows] = self.states[(draws[rows, None] >= total).sum(axis=1)]
        return MultiLabelData(X, Y, name="ising")

    def bayes(self, X: Any, metric: str) -> Array:
        """The label sets (n, L) with the best expected value of a metric.

        ``subset-accuracy``: the likeliest set. ``hamming``: each label that is on with
        probability above one half. ``example-f1``: the set with the largest expected F1 among
        all 2**L, where F1 of an empty set with an empty set is 1.
        """
        return self._best(X, metric)[0]

    def bayes_value(self, X: Any, metric: str) -> Array:
        """The expected value (n,), given x, of the best prediction.

        ``hamming`` is the share of labels that are right (one minus the Hamming loss): all
        three are better when larger.
        """
        return self._best(X, metric)[1]

    @cached_property
    def _f1(self) -> Array:
        """F1 of every state, as the truth (rows), with every state, as prediction (columns)."""
        S = self.states.astype(np.float64)
        size = S.sum(axis=1)
        both = size[:, None] + size[None]
        return np.divide(2 * S @ S.T, both, out=np.ones_like(both), where=both > 0)

    def _best(self, X: Any, metric: str) -> tuple[Array, Array]:
        if metric not in METRICS:
            raise unknown("metric", metric, METRICS)
        X = self._check(X)
        Y = np.empty((len(X), self.labels), dtype=np.uint8)
        value = np.empty(len(X))
        for rows in self._chunks(len(X)):
            p = self.probabilities(X[rows])
            if metric == "hamming":
                on = p @ self.states
                Y[rows] = on > 0.5
                value[rows] = np.maximum(on, 1 - on).mean(axis=1)
            else:
                expected = p if metric == "subset-accuracy" else p @ self._f1
                best = expected.argmax(axis=1)
                Y[rows] = self.states[best]
                value[rows] = expected[np.arange(len(best)), best]
        return Y, value

    def _check(self, X: Any) -> Array:
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.features:
            raise DataError(f"X has shape {X.shape}; expected (rows, {self.features})")
        return X

    def _chunks(self, n: int) -> list[slice]:
        return [slice(k, k + _CHUNK) for k in range(0, n, _CHUNK)]


def ising(
    *,
    coupling: float = 1.0,
    labels: int = 10,
    features: int = 20,
    field: float = 1.0,
    n_train: int = 5000,
    n_validation: int = 1000,
    n_test: int = 5000,
    seed: int = 0,
) -> Parts[MultiLabelData]:
    """Samples of :class:`Ising` for training, validation and testing.

    The seed fixes the model, ``Ising(labels, features, coupling=..., field=..., seed=seed)``,
    and the samples.
    """
    model = Ising(labels, features, coupling=coupling, field=field, seed=seed)
    sizes = (n_train, n_validation, n_test)
    if min(sizes) < 1:
        raise SettingError(f"n_train, n_validation, n_test = {sizes}: each must be positive")
    data = model.sample(sum(sizes), seed=seed + 1)
    rows = np.split(np.arange(len(data)), np.cumsum(sizes)[:-1])
    return Parts(*map(data.subset, rows))
