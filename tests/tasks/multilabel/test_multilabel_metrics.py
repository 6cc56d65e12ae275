"""Every metric against scikit-learn, and the cases scikit-learn leaves open."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import metrics as sk

from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import (
    METRICS,
    Metric,
    apply_threshold,
    evaluate,
    example_f1,
    get_metric,
    hamming,
    hamming_loss,
    jaccard,
    macro_f1,
    mean_average_precision,
    micro_f1,
    neg_log_loss,
    subset_accuracy,
)


def cases() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    pairs = []
    for n, L, density in [(1, 2, 0.5), (40, 7, 0.3), (200, 23, 0.05), (30, 5, 0.9)]:
        Y = (rng.random((n, L)) < density).astype(int)
        P = np.where(rng.random((n, L)) < 0.7, Y, rng.random((n, L)) < density).astype(int)
        pairs.append((Y, P))
    pairs.append((np.ones((6, 4), dtype=int), np.ones((6, 4), dtype=int)))
    pairs.append((np.ones((6, 4), dtype=int), np.zeros((6, 4), dtype=int)))
    pairs.append((np.zeros((6, 4), dtype=int), np.zeros((6, 4), dtype=int)))
    return pairs


@pytest.mark.parametrize(("Y", "P"), cases())
def test_label_metrics_equal_scikit_learn(Y: np.ndarray, P: np.ndarray) -> None:
    assert example_f1(Y, P) == pytest.approx(
        sk.f1_score(Y, P, average="samples", zero_division=1), abs=1e-12
    )
    assert micro_f1(Y, P) == pytest.approx(sk.f1_score(Y, P, average="micro", zero_division=0))
    assert macro_f1(Y, P) == pytest.approx(sk.f1_score(Y, P, average="macro", zero_division=0))
    assert subset_accuracy(Y, P) == pytest.approx(sk.accuracy_score(Y, P))
    assert hamming_loss(Y, P) == pytest.approx(sk.hamming_loss(Y, P))
    assert hamming(Y, P) == pytest.approx(1 - sk.hamming_loss(Y, P))


def naive_map(Y: np.ndarray, proba: np.ndarray) -> float:
    rows = [i for i in range(len(Y)) if Y[i].any()]
    return float(np.mean([sk.average_precision_score(Y[i], proba[i]) for i in rows]))


@pytest.mark.parametrize("decimals", [1, 2, 12])
def test_map_equals_scikit_learn_with_ties(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    Y = (rng.random((120, 11)) < 0.25).astype(int)
    Y[:5], Y[5:10] = 0, 1
    proba = np.round(rng.random(Y.shape), decimals)
    proba[10:15] = 0.5
    assert mean_average_precision(Y, proba) == pytest.approx(naive_map(Y, proba), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_map_property(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 5), st.integers(1, 6)))
    Y = data.draw(hnp.arrays(np.uint8, shape, elements=st.integers(0, 1)))
    proba = data.draw(hnp.arrays(np.float32, shape, elements=st.sampled_from([0, 0.25, 0.5, 1])))
    if Y.any():
        assert mean_average_precision(Y, proba) == pytest.approx(naive_map(Y, proba), abs=1e-12)
    else:
        assert np.isnan(mean_average_precision(Y, proba))


def test_log_loss_equals_scikit_learn_and_leaves_out_what_is_not_known() -> None:
    rng = np.random.default_rng(0)
    Y, proba = (rng.random((60, 5)) < 0.3).astype(float), rng.random((60, 5))
    assert neg_log_loss(Y, proba) == pytest.approx(-sk.log_loss(Y.ravel(), proba.ravel()))
    known = rng.random(Y.shape) < 0.5
    partly = neg_log_loss(np.where(known, Y, np.nan), proba)
    assert partly == pytest.approx(-sk.log_loss(Y[known], proba[known]))
    assert neg_log_loss([[1, 0]], [[0.0, 1.0]]) == pytest.approx(np.log(1e-7))
    with pytest.raises(DataError, match=r"proba holds 1\.5: expected probabilities"):
        neg_log_loss([[1, 0]], [[0.2, 1.5]])


def test_empty_rows() -> None:
    Y = np.array([[0, 0], [0, 0], [1, 0], [1, 1]])
    P = np.array([[0, 0], [0, 1], [0, 0], [1, 0]])
    rows = [1.0, 0.0, 0.0, 2 / 3]
    assert example_f1(Y, P) == pytest.approx(np.mean(rows))
    assert example_f1(Y, P, empty="drop") == pytest.approx(np.mean(rows[2:]))
    assert np.isnan(example_f1(Y[:2], P[:2], empty="drop"))
    with pytest.raises(SettingError, match="expected 'one' or 'drop'"):
        example_f1(Y, P, empty="zero")  # type: ignore[arg-type]


def test_sparse_bool_and_float_matrices_are_the_same() -> None:
    Y, P = cases()[1]
    assert example_f1(sp.csr_matrix(Y), sp.csc_array(P)) == example_f1(Y, P)
    assert micro_f1(Y.astype(bool), P.astype(np.float32)) == micro_f1(Y, P)


def test_bad_input_is_named() -> None:
    Y = np.array([[1, 0], [0, 1]])
    with pytest.raises(DataError, match=r"row 0, label 1 is 0\.3.*apply_threshold"):
        micro_f1(Y, [[1, 0.3], [0, 1]])
    with pytest.raises(DataError, match=r"shapes \(2, 2\) and \(2, 3\)"):
        macro_f1(Y, np.zeros((2, 3)))
    with pytest.raises(DataError, match=r"proba\[1, 0\] is nan"):
        mean_average_precision(Y, [[0.1, 0.2], [np.nan, 0.2]])
    with pytest.raises(DataError, match=r"shape \(0, 3\)"):
        micro_f1(np.zeros((0, 3)), np.zeros((0, 3)))
    with pytest.raises(DataError, match="dtype"):
        micro_f1([["a"]], [["b"]])


def test_registry() -> None:
    assert list(METRICS) == [
        "example-f1",
        "example-f2",
        "example-f0.5",
        "jaccard",
        "micro-f1",
        "macro-f1",
        "subset-accuracy",
        "hamming",
        "map",
        "neg-log-loss",
    ]
    assert get_metric("map").needs == "probabilities"
    assert get_metric(METRICS["hamming"]) is METRICS["hamming"]
    with pytest.raises(SettingError, match="did you mean 'micro-f1'"):
        get_metric("micro-f2")
    with pytest.raises(SettingError, match="expected a name"):
        get_metric(3)  # type: ignore[arg-type]
    own = get_metric(subset_accuracy)
    assert own == Metric("subset_accuracy", subset_accuracy, needs="labels")
    Y, proba = [[1, 0]], [[0.4, 0.1]]
    assert own(Y, proba) == 0.0
    assert own(Y, proba, 0.3) == 1.0


def test_evaluate_gives_every_metric() -> None:
    rng = np.random.default_rng(3)
    Y = (rng.random((50, 9)) < 0.3).astype(int)
    proba = rng.random(Y.shape).astype(np.float32)
    thresholds = np.linspace(0.2, 0.8, 9)
    P = apply_threshold(proba, thresholds)
    assert evaluate(Y, proba, thresholds) == {
        "example-f1": example_f1(Y, P),
        "micro-f1": micro_f1(Y, P),
        "macro-f1": macro_f1(Y, P),
        "subset-accuracy": subset_accuracy(Y, P),
        "hamming": hamming(Y, P),
        "map": mean_average_precision(Y, proba),
    }


def test_import_is_light() -> None:
    code = (
        "import sys, lossnet; before = set(sys.modules); import lossnet.tasks.multilabel.metrics;"
        "new = set(sys.modules) - before;"
        "print([m for m in ('torch', 'sklearn', 'scipy', 'matplotlib') if m in new])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "name", ["example-f1", "example-f2", "example-f0.5", "jaccard", "subset-accuracy", "hamming"]
)
def test_a_metric_of_rows_is_the_mean_of_its_rows(name) -> None:
    rng = np.random.default_rng(0)
    Y, P = rng.random((2, 50, 4)) < 0.3
    rows = METRICS[name].of_rows(Y, P)
    single = [METRICS[name](Y[k : k + 1], P[k : k + 1]) for k in range(50)]
    assert rows == pytest.approx(single)
    assert rows.mean() == pytest.approx(METRICS[name](Y, P))


def test_f_beta_and_jaccard_against_scikit_learn() -> None:
    Y, P = np.random.default_rng(1).random((2, 60, 5)) < 0.4
    some = Y.any(1) | P.any(1)  # scikit-learn counts a row of empty sets otherwise
    Y, P = Y[some], P[some]
    for beta, name in ((2.0, "example-f2"), (0.5, "example-f0.5")):
        expected = sk.fbeta_score(Y, P, beta=beta, average="samples", zero_division=0)
        assert METRICS[name](Y, P) == pytest.approx(expected)
    assert jaccard(Y, P) == pytest.approx(sk.jaccard_score(Y, P, average="samples"))
