"""The choice between rules of decision, and its record."""

import numpy as np
import pytest

from lossnet.errors import DataError
from lossnet.tasks.decision import Decision, bootstrap_difference, choose, paired_difference

TRUTH = np.array([1, 1, 1, 1, 0, 0, 0, 0])
#: What each rule predicts.
RULES = {
    "threshold": np.array([1, 1, 0, 0, 0, 0, 1, 1]),
    "expected": np.array([1, 1, 1, 0, 0, 0, 1, 1]),
    "mode": TRUTH,
}


def right(predicted):
    return float((predicted == TRUTH).mean())


def difference(before, after):
    return paired_difference(before == TRUTH, after == TRUTH)


def chosen(*rules, **options):
    trials = [Decision(rule, weight=1.0) for rule in rules]
    predictions = lambda decision: RULES[decision.rule]  # noqa: E731
    return choose(Decision("threshold"), trials, predictions, right, difference, **options)


def test_the_best_rule_is_chosen_where_it_gains_more_than_the_standard_error():
    found = chosen("expected", "mode")
    assert found.rule == "mode"
    assert found.tried == {"threshold": 0.5, "expected": 0.625, "mode": 1.0}
    gains = (RULES["mode"] == TRUTH).astype(float) - (RULES["threshold"] == TRUTH)
    assert found.error == pytest.approx(gains.std(ddof=1) / np.sqrt(8))


def test_a_gain_within_its_standard_error_keeps_the_usual_rule():
    found = chosen("expected")  # one row of eight: 0.125 with a standard error of 0.125
    assert found.rule == "threshold"
    assert found.tried == {"threshold": 0.5, "expected": 0.625}
    assert "threshold 50.0, expected 62.5" in found.words


def test_a_rule_that_the_user_names_is_taken_whatever_it_gains():
    assert chosen("expected", insist=True).rule == "expected"


def test_nothing_to_try_keeps_the_usual_rule():
    assert chosen().rule == "threshold"


def test_the_bootstrap_agrees_with_the_paired_standard_error_for_means():
    rng = np.random.default_rng(0)
    before, after = rng.random(400), rng.random(400) + 0.1
    gain, error = paired_difference(before, after)
    mean = lambda rows, values: float(values[rows].mean())  # noqa: E731
    found = bootstrap_difference(mean, 400, before, after, draws=400)
    assert found[0] == pytest.approx(gain)
    assert found[1] == pytest.approx(error, rel=0.15)


def test_a_decision_survives_json_and_damage_is_found():
    decision = Decision("mode", samples=100, weight=0.5, tried={"mode": 0.5}, error=0.1)
    assert Decision.from_json(decision.to_json()) == decision
    with pytest.raises(DataError, match="damaged"):
        Decision.from_json({**decision.to_json(), "weight": "heavy"})


def test_few_effective_samples_are_told():
    decision = Decision("samples", samples=100, weight=1.0, ess=2.5, error=0.01)
    decision = Decision(**{**decision.to_json(), "tried": {"threshold": 0.5, "samples": 0.6}})
    assert "only 2.5 samples count on average" in decision.words
