import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import Ising, ising


def by_hand(model, x):
    """p(y | x) of every label set, with plain loops."""
    weights = {}
    for y in itertools.product((0, 1), repeat=model.labels):
        s = [2 * v - 1 for v in y]
        total = 0.0
        for i in range(model.labels):
            field = model.b[i] + sum(x[f] * model.W[f, i] for f in range(model.features))
            total += field * s[i]
            for j in range(i + 1, model.labels):
                total += model.coupling * model.J[i, j] * s[i] * s[j]
        weights[y] = math.exp(total)
    z = sum(weights.values())
    return {y: w / z for y, w in weights.items()}


def value(metric, prediction, truth):
    if metric == "subset-accuracy":
        return float(prediction == truth)
    if metric == "hamming":
        return sum(a == b for a, b in zip(prediction, truth, strict=True)) / len(truth)
    both = sum(a and b for a, b in zip(prediction, truth, strict=True))
    size = sum(prediction) + sum(truth)
    return 2 * both / size if size else 1.0


models = st.builds(
    Ising,
    labels=st.integers(1, 4),
    features=st.integers(1, 3),
    coupling=st.floats(-2, 2),
    field=st.floats(0, 3),
    seed=st.integers(0, 1000),
)


@settings(max_examples=25, deadline=None)
@given(model=models, seed=st.integers(0, 1000))
def test_probabilities_against_loops(model, seed) -> None:
    X = model.sample(3, seed=seed).X
    p = model.probabilities(X)
    assert p.shape == (3, 2**model.labels)
    for row, x in enumerate(X.astype(float)):
        expected = by_hand(model, x)
        for k, state in enumerate(model.states):
            assert p[row, k] == pytest.approx(expected[tuple(state.tolist())])


@settings(max_examples=25, deadline=None)
@given(
    model=models,
    seed=st.integers(0, 1000),
    metric=st.sampled_from(["subset-accuracy", "hamming", "example-f1"]),
)
def test_best_predictions_against_loops(model, seed, metric) -> None:
    X = model.sample(2, seed=seed).X
    best, expected = model.bayes(X, metric), model.bayes_value(X, metric)
    assert expected.shape == (2,)
    for row, x in enumerate(X.astype(float)):
        p = by_hand(model, x)
        scores = {g: sum(p[y] * value(metric, g, y) for y in p) for g in p}
        assert expected[row] == pytest.approx(max(scores.values()))
        assert scores[tuple(best[row].tolist())] == pytest.approx(expected[row])


def test_states_are_all_different() -> None:
    assert len(np.unique(Ising().states, axis=0)) == 1024


def test_samples_follow_the_distribution() -> None:
    model = Ising(labels=3, features=1, coupling=1.0, seed=2)
    data = model.sample(40_000, seed=5)
    index = data.Y @ (1 << np.arange(3))
    counts = np.bincount(index, minlength=8)
    expected = model.probabilities(data.X).sum(axis=0)
    spread = np.sqrt(expected)
    assert (np.abs(counts - expected) < 5 * spread).all()
    assert abs(data.X.mean()) < 0.03
    assert abs(data.X.std() - 1) < 0.03


def test_realised_values_come_near_the_expected_ones() -> None:
    model = Ising(coupling=1.5, seed=1)
    data = model.sample(3000, seed=2)  # more rows than one chunk
    exact = (model.bayes(data.X, "subset-accuracy") == data.Y).all(axis=1).mean()
    assert exact == pytest.approx(model.bayes_value(data.X, "subset-accuracy").mean(), abs=0.03)
    right = (model.bayes(data.X, "hamming") == data.Y).mean()
    assert right == pytest.approx(model.bayes_value(data.X, "hamming").mean(), abs=0.02)


def test_without_coupling_the_labels_are_independent() -> None:
    model = Ising(labels=4, features=3, coupling=0.0)
    X = model.sample(5, seed=0).X
    p = model.probabilities(X)
    on = p @ model.states
    product = np.where(model.states[None] == 1, on[:, None], 1 - on[:, None]).prod(axis=2)
    np.testing.assert_allclose(p, product)


def test_large_fields_do_not_overflow() -> None:
    model = Ising(labels=3, features=2, coupling=500.0, field=500.0)
    assert np.isfinite(model.probabilities(np.full((2, 2), 50.0))).all()


def test_splits_belong_to_the_model_of_the_same_seed() -> None:
    splits = ising(coupling=0.5, n_train=100, n_validation=50, n_test=60, seed=3)
    assert [d.n_rows for _, d in splits.items()] == [100, 50, 60]
    again = Ising(coupling=0.5, seed=3).sample(210, seed=4)
    np.testing.assert_array_equal(again.Y[:100], splits.train.Y)
    assert splits.test is not None
    np.testing.assert_array_equal(again.X[150:], splits.test.X)


def test_what_cannot_be_done() -> None:
    with pytest.raises(SettingError, match="unknown metric 'hammin': did you mean 'hamming'"):
        Ising().bayes(np.zeros((1, 20)), "hammin")
    with pytest.raises(DataError, match=r"expected \(rows, 20\)"):
        Ising().probabilities(np.zeros((1, 3)))
    with pytest.raises(SettingError, match="at least one"):
        Ising(features=0)
