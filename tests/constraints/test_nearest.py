"""The best valid label set against brute force, and that decisions never break a rule."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lossnet.constraints import AtLeastOne, AtMostOne, Implies, Satisfies, bind
from lossnet.constraints.solvers import ENUMERATED
from lossnet.errors import DataError, SettingError


def all_sets(labels: int) -> np.ndarray:
    return (np.arange(2**labels)[:, None] >> np.arange(labels) & 1).astype(bool)


def holds(rule, Y: np.ndarray) -> np.ndarray:
    """A rule as it reads, one label set after another."""
    if isinstance(rule, Satisfies):
        return np.array([bool(rule.function(row[None])[0]) for row in Y])
    on = [[bool(row[label]) for label in rule.labels] for row in Y]
    check = {
        Implies: lambda row: row[1] or not row[0],
        AtMostOne: lambda row: sum(row) <= 1,
        AtLeastOne: any,
    }[type(rule)]
    return np.array([check(row) for row in on])


def forest(rng, labels: int) -> list:
    return [Implies(c, int(rng.integers(c))) for c in range(1, labels) if rng.random() < 0.8]


def graph(rng, labels: int) -> list:
    pairs = [(c, p) for c in range(labels) for p in range(c) if rng.random() < 2.5 / labels]
    return [Implies(*pair) for pair in pairs]


def groups(rng, labels: int) -> list:
    kinds = [AtMostOne, AtLeastOne]
    sizes = rng.integers(2, max(3, labels // 2), size=3)
    several = [rng.choice(labels, size, replace=False).tolist() for size in sizes]
    return [kinds[rng.integers(2)](*labels) for labels in several]


def mixed(rng, labels: int) -> list:
    return forest(rng, labels) + groups(rng, labels)


def at_most_three(Y: np.ndarray) -> np.ndarray:
    return Y.sum(1) <= 3


KINDS = {
    "forest": forest,
    "graph": graph,
    "groups": groups,
    "mixed": mixed,
    "function": lambda rng, labels: [*forest(rng, labels), Satisfies(at_most_three)],
}


def bound_at_random(kind: str, rng, labels: int):
    """Rules at random, bound, or the error, and the rules by position."""
    rules = KINDS[kind](rng, labels)
    # Shuffled, so that no rule can rely on the order of labels.
    order = rng.permutation(labels).tolist()
    names = [f"l{k}" for k in range(labels)]
    moved = [
        rule if isinstance(rule, Satisfies) else type(rule)(*(names[order[k]] for k in rule.labels))
        for rule in rules
    ]
    placed = [
        rule if isinstance(rule, Satisfies) else type(rule)(*(order[k] for k in rule.labels))
        for rule in rules
    ]
    try:
        return bind(moved, names), placed
    except SettingError as error:
        return error, placed


def programme_only(monkeypatch) -> None:
    monkeypatch.setattr("lossnet.constraints.solvers.ENUMERATED", 0)


@pytest.mark.parametrize("kind", [*KINDS, "programme"])
@pytest.mark.parametrize("seed", range(12))
def test_nearest_is_the_best_of_all_valid_sets(kind, seed, monkeypatch) -> None:
    rng = np.random.default_rng(seed)
    labels = int(rng.integers(2, 9))
    if kind == "programme":
        kind = "mixed"
        programme_only(monkeypatch)
    bound, placed = bound_at_random(kind, rng, labels)
    every = all_sets(labels)
    valid = np.all([np.ones(len(every), dtype=bool), *(holds(r, every) for r in placed)], axis=0)
    if isinstance(bound, SettingError):
        assert "no label set satisfies" in str(bound)
        assert not valid.any()
        return
    assert np.array_equal(bound.allows(every), valid)
    scores = rng.normal(size=(20, labels))
    found = bound.nearest(scores)
    assert found.shape == scores.shape
    assert found.dtype == np.uint8
    best = (scores @ every[valid].T).max(1)
    np.testing.assert_allclose((scores * found).sum(1), best, atol=1e-6)
    assert bound.allows(found).all()


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([k for k in KINDS if k != "function"]), st.integers(0, 2**31))
def test_decisions_never_break_a_rule(kind, seed) -> None:
    rng = np.random.default_rng(seed)
    labels = int(rng.integers(15, 40))
    rules = KINDS[kind](rng, labels)
    try:
        bound = bind(rules, [f"l{k}" for k in range(labels)])
    except SettingError:
        return  # the brute force above shows that this is right
    p = rng.random((6, labels)) ** rng.uniform(0.3, 3)
    p[rng.random(p.shape) < 0.2] = 0.5  # ties
    candidates = [bound.nearest(p - cut) for cut in (0.2, 0.5)]
    with np.errstate(divide="ignore"):
        odds = np.log(p.round(1)) - np.log(1 - p.round(1))  # some infinite
    for Y in (*candidates, bound.nearest(odds)):
        assert bound.allows(Y).all()
        assert all(holds(rule, Y).all() for rule in rules)


def test_valid_answers_stay() -> None:
    bound = bind([Implies("b", "a"), AtMostOne("c", "d")], list("abcde"))
    p = np.array([[0.5, 0.5, 0.1, 0.9, 0.5], [0.2, 0.9, 0.6, 0.7, 0.2]])
    assert bound.nearest(p - 0.5).tolist() == [[1, 1, 0, 1, 1], [1, 1, 0, 1, 0]]
    thresholds = np.array([0.95, 0.5, 0.5, 0.5, 0.5])  # a's own makes b too dear
    assert bound.nearest(p - thresholds).tolist() == [[0, 0, 0, 1, 1], [0, 0, 0, 1, 0]]


def test_without_rules_every_set_is_valid() -> None:
    bound = bind([], ["a", "b"])
    assert not bound
    assert bound.nearest([[0.0, -1.0]]).tolist() == [[1, 0]]
    assert bound.allows(all_sets(2)).all()


def test_allows_takes_candidates_of_any_shape(monkeypatch) -> None:
    bound = bind([Implies("a", "b"), AtLeastOne("a", "c")], list("abc"))
    Y = np.random.default_rng(0).integers(2, size=(4, 5, 3))
    expected = (~Y[..., 0].astype(bool) | Y[..., 1].astype(bool)) & (Y[..., 0] | Y[..., 2] > 0)
    assert np.array_equal(bound.allows(Y), expected)
    monkeypatch.setattr("lossnet.constraints.rule_set.CELLS", 7)  # in pieces
    assert np.array_equal(bound.allows(Y.astype(bool)), expected)
    assert bound.allows(Y[0, 0]).shape == ()


def test_valid_sets_shrink_as_the_threshold_grows() -> None:
    rng = np.random.default_rng(0)
    bound, p = bind(forest(rng, 20), [f"l{k}" for k in range(20)]), rng.random((5, 20))
    found = np.stack([bound.nearest(p - cut / 20) for cut in range(1, 20)]).astype(int)
    assert (np.diff(found, axis=0) <= 0).all()
    assert found[0].sum() > found[-1].sum()


def test_a_large_group_is_solved_without_enumerating_all_sets() -> None:
    names = [f"l{k}" for k in range(200)]
    bound = bind([AtMostOne(*names), AtLeastOne(*names)], names)
    scores = np.random.default_rng(0).normal(size=(50, 200))
    assert np.array_equal(bound.nearest(scores).argmax(1), scores.argmax(1))
    assert (bound.nearest(-np.abs(scores)).sum(1) == 1).all()


def test_a_function_of_many_labels_is_searched() -> None:
    rng = np.random.default_rng(0)
    labels = ENUMERATED + 6
    names = [f"l{k}" for k in range(labels)]
    rules = [*forest(rng, labels), Satisfies(lambda Y: Y.sum(1) % 2 == 0)]
    bound = bind(rules, names)
    scores = rng.normal(size=(30, labels))
    found = bound.nearest(scores)
    assert bound.allows(found).all()
    free = bind(rules[:-1], names).nearest(scores)
    even = free.sum(1) % 2 == 0
    assert 0 < even.sum() < 30
    assert np.array_equal(found[even], free[even])


def test_known_sets_are_what_a_search_falls_back_on() -> None:
    labels = ENUMERATED + 10
    names = [f"l{k}" for k in range(labels)]
    all_or_none = Satisfies(lambda Y: Y[:, :20].sum(1) == 20)
    scores = np.full((1, labels), -1.0)
    with pytest.raises(DataError, match="no label set near a row's prediction satisfies"):
        bind([all_or_none], names).nearest(scores)
    known = np.zeros((2, labels), dtype=np.uint8)
    known[1, :20] = 1
    bound = bind([all_or_none], names, known=known)
    assert len(bound.known) == 1
    assert np.array_equal(bound.nearest(scores)[0], known[1])


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.1, np.nan]], "scores hold NaN"),
        ([0.1, 0.2], r"shape \(2,\); expected \(rows, 2\)"),
        ([[0.1]], r"expected \(rows, 2\), a column for each label"),
    ],
)
def test_scores_are_checked(scores, message) -> None:
    with pytest.raises(DataError, match=message):
        bind([Implies("a", "b")], ["a", "b"]).nearest(scores)
    with pytest.raises(DataError, match="expected"):
        bind([Implies("a", "b")], ["a", "b"]).allows([[1]])
