"""seal-reward and implicit-reward: their parameters, and what they are made of."""

import pytest

from lossnet.costs import ByReward, token_error
from lossnet.gradients import Direct, Implicit
from lossnet.objectives import Compare, Judge
from lossnet.recipes import build
from lossnet.terms import CrossEntropy

SEMI = ["seal-reward", "implicit-reward"]


@pytest.mark.parametrize("name", SEMI)
def test_parts_on_unlabelled_rows(name) -> None:
    method = build(name, {"unlabelled_weight": 0.25})
    assert method.needs == {"target", "reward", "unlabelled rows"}
    assert method.task_net_predicts
    (phase,) = method.phases
    updates = {update.name: update for update in phase.updates}
    for update in updates.values():
        spare = [part for part in update.objective.parts if part.rows == "unlabelled"]
        assert {part.weight for part in spare if part.weight} == {0.25}
        assert not any("target" in part.objective.needs for part in spare)
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
    assert "unlabelled rows" in energy().gradient.inner.needs
    assert isinstance(energy(gradient="direct").gradient, Direct)
    weights = {part.name: part.weight for part in energy(outcome_weight=3.0).objective.parts}
    assert weights["labelled/outcome"] == weights["unlabelled/outcome"] == 3.0
    weights = {part.name: part.weight for part in energy(gradient="direct").objective.parts}
    assert weights["labelled/outcome"] == weights["unlabelled/outcome"] == 0.0


@pytest.mark.parametrize("name", SEMI)
def test_without_unlabelled_rows_it_is_supervised(name) -> None:
    method = build(name, {"unlabelled_weight": 0.0})
    assert method.needs == {"target"}
