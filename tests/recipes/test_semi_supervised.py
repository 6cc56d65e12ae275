"""seal-reward and implicit-reward: their parameters, and what they are made of."""

import inspect

import pytest

from lossnet.costs import ByReward, token_error
from lossnet.errors import SettingError
from lossnet.gradients import Direct, Implicit
from lossnet.objectives import Compare, Judge
from lossnet.recipes import SEQUENCE_ONLY, build, defaults, summary
from lossnet.terms import CrossEntropy

SEMI = ["seal-reward", "implicit-reward"]
CHOICES = {
    "cost": "hamming",
    "curvature": "hessian",
    "gradient": "direct",
    "product": "finite-differences",
    "solver": "cg",
}


@pytest.mark.parametrize("name", SEMI)
def test_names_agree_and_the_paper_is_cited(name) -> None:
    assert build(name).name == name
    assert SEQUENCE_ONLY[name].__name__ == name.replace("-", "_")
    assert 10 < len(summary(name)) <= 100
    assert "paper 002" in (inspect.getdoc(SEQUENCE_ONLY[name]) or "")


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in SEMI for key in defaults(name)])
def test_every_parameter_changes_the_method(name, key) -> None:
    value = defaults(name)[key]
    other = CHOICES[key] if key in CHOICES else type(value)(2 * value + 1)
    assert build(name, {key: other}) != build(name)
    assert build(name, {key: value}) == build(name)


@pytest.mark.parametrize(
    ("name", "key"), [(n, key) for n in SEMI for key in CHOICES if key in defaults(n)]
)
def test_a_misspelt_choice_is_refused(name, key) -> None:
    wrong = CHOICES[key] + CHOICES[key][-1]
    with pytest.raises(SettingError, match=f"unknown .*'{wrong}': did you mean '{CHOICES[key]}'"):
        build(name, {key: wrong})


@pytest.mark.parametrize("name", SEMI)
def test_parts_on_unlabelled_rows(name) -> None:
    method = build(name, {"unlabelled_weight": 0.25})
    assert method.needs_unlabelled
    assert method.needs_reward
    assert method.task_net_predicts
    (phase,) = method.phases
    updates = {update.name: update for update in phase.updates}
    for update in updates.values():
        spare = [part for part in update.objective.parts if part.rows == "unlabelled"]
        assert {part.weight for part in spare if part.weight} == {0.25}
        assert not any(part.objective.needs_target for part in spare)
    energies = [p for p in updates["energy"].objective.parts if isinstance(p.objective, Compare)]
    assert [part.objective.cost for part in energies] == [token_error, ByReward()]
    for part in updates["task"].objective.parts:
        assert isinstance(part.objective, Judge)
        terms = {type(one.term) for one in part.objective.terms}
        assert (CrossEntropy in terms) == (part.rows == "batch")


def test_only_the_implicit_method_follows_the_outcome() -> None:
    def energy(**params):
        updates = build("implicit-reward", params).phases[0].updates
        return next(update for update in updates if update.name == "energy")

    assert isinstance(energy().gradient, Implicit)
    assert energy().gradient.inner.needs_unlabelled
    assert isinstance(energy(gradient="direct").gradient, Direct)
    weights = {part.name: part.weight for part in energy(outcome_weight=3.0).objective.parts}
    assert weights["labelled/outcome"] == weights["unlabelled/outcome"] == 3.0
    weights = {part.name: part.weight for part in energy(gradient="direct").objective.parts}
    assert weights["labelled/outcome"] == weights["unlabelled/outcome"] == 0.0


@pytest.mark.parametrize("name", SEMI)
def test_without_unlabelled_rows_it_is_supervised(name) -> None:
    method = build(name, {"unlabelled_weight": 0.0})
    assert not method.needs_unlabelled
    assert not method.needs_reward
