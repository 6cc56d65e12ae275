"""The choice between rules of decision, and its record."""

import numpy as np
import pytest

from lossnet.errors import DataError
from lossnet.tasks.decision import Decision, choose, difference

#: The metric of each of 40 rows: the usual rule, one that is better on a few rows, a better one.
ROWS = 40
VALUES = {
    "threshold": np.tile([1.0, 0.0], 20),
    "expected": np.tile([1.0, 0.0], 20) + (np.arange(ROWS) == 1),
    "mode": np.tile([1.0, 1.0, 1.0, 0.0], 10),
}


def chosen(*rules, values=VALUES, **options):
    trials = [Decision(rule, weight=1.0) for rule in rules]
    given = Decision("threshold"), values["threshold"][:, None], trials
    return choose(*given, lambda trial: values[trial.rule][:, None], lambda m: m[0], **options)


def test_the_best_rule_is_chosen_where_it_gains_more_than_the_standard_error():
    found = chosen("expected", "mode")
    assert found.rule == "mode"
    assert found.tried == pytest.approx({"threshold": 0.5, "expected": 0.525, "mode": 0.75})
    gains = VALUES["mode"] - VALUES["threshold"]
    assert found.error == pytest.approx(gains.std(ddof=1) / np.sqrt(ROWS))


def test_a_gain_within_its_standard_error_keeps_the_usual_rule():
    found = chosen("expected")  # one row of forty: 0.025 with a standard error of 0.025
    assert found.rule == "threshold"
    assert "threshold 50.0, expected 52.5" in found.words


def test_a_metric_that_is_no_number_is_an_error():
    values = {**VALUES, "mode": np.full(ROWS, np.nan)}
    with pytest.raises(DataError, match="metric is nan on validation data decided by 'mode'"):
        chosen("mode", values=values)


def test_a_rule_that_the_user_names_is_taken_whatever_it_gains():
    assert chosen("expected", insist=True).rule == "expected"


def test_nothing_to_try_keeps_the_usual_rule():
    assert chosen().rule == "threshold"


def test_settings_are_judged_on_rows_they_were_not_chosen_on():
    rng = np.random.default_rng(0)
    noise = {k: rng.random((100, 1)) for k in range(50)}  # 50 settings of no worth
    trials = [Decision("expected", temperature=1.0 + k) for k in range(50)]
    usual = np.full((100, 1), 0.5)
    given = Decision("threshold"), usual, trials, lambda t: noise[int(t.temperature - 1)]
    found = choose(*given, lambda m: m[0])
    best = max(values.mean() for values in noise.values())
    assert found.tried["expected"] < best - 0.03  # the best of fifty on the rows at hand


def test_the_jackknife_is_exact_for_means_and_agrees_with_the_bootstrap_for_ratios():
    rng = np.random.default_rng(0)
    before, after = rng.random((300, 2)) + 0.5, rng.random((300, 2)) + 0.6
    ratio = lambda means: float(means[0] / means[1])  # noqa: E731
    gain, error = difference(before, after, ratio)
    drawn = [rng.integers(0, 300, 300) for _ in range(400)]
    gains = [ratio(after[d].mean(0)) - ratio(before[d].mean(0)) for d in drawn]
    assert gain == pytest.approx(ratio(after.mean(0)) - ratio(before.mean(0)))
    assert error == pytest.approx(np.std(gains), rel=0.15)


def test_a_decision_survives_json_and_damage_is_found():
    decision = Decision("mode", samples=100, weight=0.5, tried={"mode": 0.5}, error=0.1)
    assert Decision.from_json(decision.to_json()) == decision
    with pytest.raises(DataError, match="damaged"):
        Decision.from_json({**decision.to_json(), "weight": "heavy"})


def test_few_effective_samples_are_told():
    decision = Decision("samples", samples=100, weight=1.0, ess=2.5, error=0.01)
    decision = Decision(**{**decision.to_json(), "tried": {"threshold": 0.5, "samples": 0.6}})
    assert "only 2.5 samples count on average" in decision.words
