"""Metrics and thresholds where some labels are not known, against loops over the known ones."""

from __future__ import annotations

import numpy as np
import pytest

from lossnet.errors import DataError
from lossnet.tasks.multilabel import (
    METRICS,
    Metric,
    evaluate,
    example_f1,
    get_metric,
    hamming_loss,
    reliability,
    tune_threshold,
)
from lossnet.tasks.multilabel.thresholds import default_grid

RNG = np.random.default_rng(3)
N, L = 40, 6
GOLD = (RNG.random((N, L)) < 0.4).astype(float)
PROBA = np.round(RNG.random((N, L)), 2)
KNOWN = RNG.random((N, L)) < 0.6
KNOWN[0], KNOWN[:, 5] = False, False  # a row and a label of which nothing is known
Y = np.where(KNOWN, GOLD, np.nan)


def rows():
    """The known labels of every row that has any, with what is predicted for them."""
    for k in range(N):
        kept = KNOWN[k]
        if kept.any():
            yield GOLD[k, kept], PROBA[k, kept]


def f_beta(gold, on, beta: float, empty: float) -> float:
    total = on.sum() + beta**2 * gold.sum()
    return empty if total == 0 else (1 + beta**2) * (gold * on).sum() / total


def by_hand(name: str, threshold: float) -> float:
    pairs = [(gold, (p >= threshold).astype(float)) for gold, p in rows()]
    if name.startswith("example-f"):
        beta = float(name.removeprefix("example-f"))
        return float(np.mean([f_beta(g, on, beta, 1.0) for g, on in pairs]))
    if name == "jaccard":
        unions = [np.maximum(g, on).sum() for g, on in pairs]
        shared = [np.minimum(g, on).sum() for g, on in pairs]
        return float(np.mean([s / u if u else 1.0 for s, u in zip(shared, unions, strict=True)]))
    if name == "subset-accuracy":
        return float(np.mean([(g == on).all() for g, on in pairs]))
    gold, on = (np.concatenate(side) for side in zip(*pairs, strict=True))
    if name == "hamming":
        return float((gold == on).mean())
    if name == "micro-f1":
        return f_beta(gold, on, 1.0, 0.0)
    assert name == "macro-f1"
    labels = [k for k in range(L) if KNOWN[:, k].any()]
    kept = [(GOLD[KNOWN[:, k], k], PROBA[KNOWN[:, k], k] >= threshold) for k in labels]
    return float(np.mean([f_beta(g, on.astype(float), 1.0, 0.0) for g, on in kept]))


CUT = [name for name, metric in METRICS.items() if metric.needs == "labels"]


@pytest.mark.parametrize("name", CUT)
@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
def test_known_entries_alone_count(name, threshold) -> None:
    assert get_metric(name)(Y, PROBA, threshold) == pytest.approx(by_hand(name, threshold))


@pytest.mark.parametrize("name", CUT)
def test_thresholds_are_tuned_on_known_entries(name) -> None:
    found, value = tune_threshold(Y, PROBA, metric=name)
    curve = [by_hand(name, cut) for cut in default_grid()]
    assert value == pytest.approx(max(curve))
    assert by_hand(name, float(found)) == pytest.approx(value)


@pytest.mark.parametrize("name", ["macro-f1", "hamming"])
def test_a_label_of_which_nothing_is_known_keeps_the_shared_threshold(name) -> None:
    shared, _ = tune_threshold(Y, PROBA, metric=name)
    found, value = tune_threshold(Y, PROBA, metric=name, per_label=True)
    assert found.shape == (L,)
    assert found[5] == shared
    assert value == pytest.approx(get_metric(name)(Y, PROBA, found))
    kept = KNOWN[:, 0]
    alone, best = tune_threshold(GOLD[kept, :1], PROBA[kept, :1], metric=name)
    assert get_metric(name)(GOLD[kept, :1], PROBA[kept, :1], found[0]) == pytest.approx(best)
    assert alone.shape == ()


def test_map_ranks_known_labels_alone() -> None:
    scores = []
    for gold, p in rows():
        if gold.any():
            precision = [(gold * (p >= cut)).sum() / (p >= cut).sum() for cut in p[gold == 1]]
            scores.append(np.mean(precision))
    assert get_metric("map")(Y, PROBA) == pytest.approx(np.mean(scores))


@pytest.mark.parametrize("name", [name for name in CUT if name != "macro-f1"])
def test_metrics_of_single_rows(name) -> None:
    some = KNOWN.any(axis=1)
    known, P = Y[some], (PROBA >= 0.5)[some]
    found = get_metric(name).of_rows(known, P)
    for k, value in enumerate(found):
        kept = ~np.isnan(known[k])
        one = get_metric(name)(known[k : k + 1, kept], P[k : k + 1, kept].astype(float))
        assert value == pytest.approx(one)


def test_evaluate_counts_the_entries() -> None:
    found = evaluate(Y, PROBA, 0.3)
    assert found.pop("entries") == KNOWN.sum()
    assert found["example-f1"] == pytest.approx(by_hand("example-f1", 0.3))
    assert found["hamming"] == pytest.approx(by_hand("hamming", 0.3))
    assert evaluate(GOLD, PROBA, 0.3).keys() == found.keys()


def test_the_other_functions() -> None:
    P = PROBA >= 0.5
    assert hamming_loss(Y, P) == pytest.approx(1 - by_hand("hamming", 0.5))
    pairs = [(g, p >= 0.5) for g, p in rows() if g.any()]
    dropped = np.mean([f_beta(g, on.astype(float), 1.0, 1.0) for g, on in pairs])
    assert example_f1(Y, P, empty="drop") == pytest.approx(dropped)
    shown = reliability(Y, PROBA)
    assert shown.counts.sum() == KNOWN.sum()
    assert shown.brier == pytest.approx(((PROBA - GOLD)[KNOWN] ** 2).mean())


def test_a_function_of_ones_own_gets_zeros_for_what_is_not_known() -> None:
    seen = []

    def own(gold, found):
        seen.append((gold, found))
        return 0.25

    assert Metric("own", own)(Y, PROBA, 0.5) == 0.25
    (gold, found), kept = seen[0], KNOWN.any(axis=1)
    assert np.array_equal(gold, (GOLD * KNOWN)[kept])
    assert np.array_equal(found, ((PROBA >= 0.5) & KNOWN)[kept])


def test_nothing_known_is_an_error() -> None:
    with pytest.raises(DataError, match="Y has no known label"):
        evaluate(np.full((3, 2), np.nan), np.full((3, 2), 0.5))
