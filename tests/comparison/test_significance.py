"""Differences to a baseline: how often they are called wrongly or missed, and odd input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from significance import WORLDS, World, rates

from lossnet.comparison.significance import differences, ratio_scores
from lossnet.errors import DataError, SettingError


def runs(seeds: int = 4, examples: int = 40, gain: float = 0.0) -> dict:
    return World(seeds, examples).runs(np.random.default_rng(seeds), gain)


@pytest.mark.parametrize("name", [name for name, world in WORLDS.items() if world.limited])
def test_a_method_is_rarely_called_different_from_itself(name: str) -> None:
    called, _ = rates(WORLDS[name], 60, np.random.default_rng(0))
    assert called <= 0.12  # of 60 comparisons, more than 7 are unlikely at 5 %


def test_a_difference_of_one_deviation_is_found_with_ten_seeds() -> None:
    _, found = rates(World(10), 100, np.random.default_rng(1))
    assert found >= 0.7


def test_of_one_score_for_each_run_it_is_the_paired_t_test() -> None:
    draw = np.random.default_rng(0)
    one, other = draw.normal(size=(2, 6))
    found = differences({"a": dict(enumerate(one)), "b": dict(enumerate(other))}, "a")["b"]
    expected = stats.ttest_rel(other, one)
    assert found.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.over == "seeds"


def test_of_one_seed_it_is_the_paired_t_test_over_examples_and_says_so() -> None:
    scores = runs(seeds=1)
    found = differences(scores, "method 0")["method 1"]
    expected = stats.ttest_rel(scores["method 1"][0], scores["method 0"][0])
    assert found.p == pytest.approx(expected.pvalue)
    assert found.over == "examples"


def test_it_is_never_surer_than_over_seeds_or_over_examples_alone() -> None:
    scores = runs(seeds=5, gain=0.2)
    found = differences(scores, "method 0")["method 1"]
    d = np.stack([scores["method 1"][s] - scores["method 0"][s] for s in range(5)])
    assert found.mean == pytest.approx(d.mean())
    for axis in (0, 1):
        assert found.p >= stats.ttest_1samp(d.mean(axis), 0).pvalue - 1e-12
    assert found.over == "seeds and examples"


def test_intervals_exclude_zero_exactly_where_holm_rejects() -> None:
    draw = np.random.default_rng(0)
    level = 0.95
    for _ in range(50):
        scores = {"base": dict.fromkeys(range(5), 0.0)}
        gains = draw.normal(0, 1.5, 4)
        for k, gain in enumerate(gains):
            scores[f"m{k}"] = dict(enumerate(gain + draw.normal(size=5)))
        found = differences(scores, "base", level=level)
        raw = sorted(differences({n: scores[n] for n in ("base", m)}, "base")[m].p for m in found)
        rejected = 0
        while rejected < 4 and raw[rejected] <= 0.05 / (4 - rejected):
            rejected += 1
        assert sum(one.real for one in found.values()) == rejected
        for one in found.values():
            assert one.real == (one.low > 0 or one.high < 0)


def test_equal_scores_are_no_difference() -> None:
    scores = runs()["method 0"]
    found = differences({"a": scores, "b": scores}, "a")["b"]
    assert (found.mean, found.low, found.high, found.p, found.real) == (0, 0, 0, 1, False)


def test_a_difference_without_variation_is_not_judged() -> None:
    found = differences({"a": {0: 0.5}, "b": {0: 0.7}}, "a")["b"]
    assert found.mean == pytest.approx(0.2)
    assert math.isnan(found.low)
    assert math.isnan(found.p)
    assert not found.real
    assert found.over == ""
    constant = differences({"a": {0: [0, 0], 1: [0, 0]}, "b": {0: [1, 1], 1: [1, 1]}}, "a")["b"]
    assert math.isnan(constant.p)


def test_methods_without_randomness_are_judged_by_examples() -> None:
    scores = runs(seeds=1, gain=0.5)
    repeated = {name: dict.fromkeys(range(3), values[0]) for name, values in scores.items()}
    one, three = (differences(s, "method 0")["method 1"] for s in (scores, repeated))
    assert three.p == pytest.approx(one.p)
    assert (three.low, three.high) == pytest.approx((one.low, one.high))


def test_seeds_that_only_one_method_has_are_left_out() -> None:
    scores = runs(seeds=5, gain=0.3)
    fewer = {"a": scores["method 0"], "b": {s: scores["method 1"][s] for s in (1, 2, 4)}}
    found = differences(fewer, "a")["b"]
    assert found.seeds == (1, 2, 4)
    alike = {name: {s: scores[name][s] for s in (1, 2, 4)} for name in scores}
    assert found.p == pytest.approx(differences(alike, "method 0")["method 1"].p)
    apart = differences({"a": {0: 0.1}, "b": {1: 0.2}}, "a")["b"]
    assert apart.seeds == ()
    assert math.isnan(apart.mean)


def test_examples_and_seeds_without_a_score_are_left_out() -> None:
    scores = runs(seeds=4, examples=20)
    clean = differences(
        {name: {s: v[1:] for s, v in list(found.items())[:3]} for name, found in scores.items()},
        "method 0",
    )["method 1"]
    scores["method 0"][0][0] = np.nan
    scores["method 1"][3][:] = np.nan
    found = differences(scores, "method 0")["method 1"]
    assert (found.seeds, found.examples) == ((0, 1, 2), 19)
    assert found.p == pytest.approx(clean.p)


def test_wrong_input_is_an_error() -> None:
    with pytest.raises(SettingError, match="unknown baseline 'c'"):
        differences({"a": {0: 1.0}}, "c")
    with pytest.raises(SettingError, match="level must be"):
        differences({"a": {0: 1.0}}, "a", level=95)
    with pytest.raises(DataError, match="counts must match"):
        differences({"a": {0: [1.0, 2.0]}, "b": {0: [1.0]}}, "a")
    with pytest.raises(DataError, match="finite"):
        differences({"a": {0: [1.0]}, "b": {0: [math.inf]}}, "a")
    with pytest.raises(DataError, match="different numbers"):
        differences({"a": {0: [1, 2], 1: [1]}, "b": {0: [1, 2], 1: [1]}}, "a")
    with pytest.raises(DataError, match="above 0"):
        ratio_scores([0], [0])


def test_scores_of_a_ratio_have_it_as_mean_and_its_standard_error() -> None:
    draw = np.random.default_rng(0)
    bottom = draw.integers(0, 5, 500)
    top = draw.binomial(bottom, 0.7)
    scores = ratio_scores(top, bottom)
    assert scores.mean() == pytest.approx(top.sum() / bottom.sum())
    rows = draw.integers(0, 500, (2000, 500))
    spread = (top[rows].sum(1) / bottom[rows].sum(1)).std()
    assert scores.std() / math.sqrt(500) == pytest.approx(spread, rel=0.1)
