"""Rules about labels: expected violations by enumeration, binding, and what is refused."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
import torch

from lossnet.constraints import AtLeastOne, AtMostOne, Implies, Satisfies, bind, declared, plain
from lossnet.errors import SettingError
from lossnet.spaces import Binary

RULES = [Implies("a", "b"), Implies("c", "b"), AtMostOne("a", "c", "d"), AtLeastOne("b", "d")]
BOUND = bind(RULES, list("abcd"))


def counted(y: list[bool]) -> int:
    """Violations of one label set, counted by hand."""
    a, b, c, d = y
    return (a and not b) + (c and not b) + (a + c + d) * (a + c + d - 1) // 2 + (not b and not d)


@pytest.mark.parametrize("form", [torch.Tensor.double, torch.Tensor.bool, torch.Tensor.to_sparse])
def test_discrete_outputs_are_counted(form) -> None:
    every = Binary().enumerate((4,))
    found = BOUND(form(every.double().unsqueeze(1)))
    assert found.squeeze(1).tolist() == [counted(y) for y in every.bool().tolist()]
    assert np.array_equal(BOUND.allows(every.numpy()), found.squeeze(1).numpy() == 0)


def test_relaxed_outputs_have_the_mean_over_all_outputs() -> None:
    p = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(0)).double()
    every = Binary().enumerate((4,)).double()
    counts = torch.tensor([counted(y) for y in every.bool().tolist()]).double()
    weights = torch.where(every.bool(), p[..., None, :], 1 - p[..., None, :]).prod(-1)
    torch.testing.assert_close(BOUND(p), weights @ counts)
    each = [rule(p) for rule in (Implies(0, 1), Implies(2, 1), AtMostOne(0, 2, 3))]
    torch.testing.assert_close(BOUND(p), sum(each) + AtLeastOne(1, 3)(p))
    assert torch.autograd.gradcheck(BOUND, (p.requires_grad_(),))


def test_masked_labels_are_off() -> None:
    p = torch.rand(1, 1, 4)
    mask = torch.tensor([[True, False, True, True]])
    off = p * mask
    torch.testing.assert_close(BOUND(p, mask), BOUND(off))
    torch.testing.assert_close(Implies(0, 1)(p, mask), p[..., 0])


def test_rules_are_values() -> None:
    assert Implies("a", "b") == Implies("a", "b") != Implies("b", "a")
    assert AtMostOne("a", "b") != AtLeastOne("a", "b")
    assert repr(RULES[2]) == "AtMostOne('a', 'c', 'd')"
    assert copy.deepcopy(RULES) == pickle.loads(pickle.dumps(RULES)) == RULES
    assert Implies(np.int64(1), 0).labels == (1, 0)


def test_rules_in_files() -> None:
    written = [
        {"implies": ["a", "b"]},
        {"implies": ["c", "b"]},
        {"at_most_one": ["a", "c", "d"]},
        {"at_least_one": ["b", "d"]},
    ]
    assert plain(RULES) == written
    assert declared(written) == tuple(RULES)


def wrong_shape(Y: np.ndarray) -> np.ndarray:
    return Y


MANY = [str(k) for k in range(20)]
REFUSED = {
    "unknown label": ([Implies("a", "bb")], "Implies('a', 'bb'): unknown label 'bb'"),
    "position": ([Implies(0, 3)], "positions of labels go from 0 to 2, got 3"),
    "negative": ([Implies(0, -1)], "positions of labels go from 0 to 2, got -1"),
    "cycle": (
        [Implies("a", "b"), Implies("b", "c"), Implies("c", "a")],
        "Implies leads from a label to itself: ",
    ),
    "cycle of two names": ([Implies("a", "b"), Implies(1, 0)], "leave out one"),
    "twice": ([AtMostOne("a", 0)], "AtMostOne names the label 0 twice"),
    "unsatisfiable": (
        [AtMostOne("a", "b"), AtLeastOne("a"), AtLeastOne("b")],
        "no label set satisfies AtMostOne('a', 'b'), AtLeastOne('a'), AtLeastOne('b'); leave out",
    ),
    "function": ([Satisfies(lambda Y: Y.sum(1) > 3)], "no label set satisfies Satisfies("),
    "function's shape": ([Satisfies(wrong_shape)], "one bool for each, shape (8,)"),
    "not a list": (Implies("a", "b"), "constraints must be a list of rules"),
    "a name": ("a", "constraints must be a list of rules"),
    "not a rule": ([("a", "b")], "a constraint must be Implies, AtMostOne"),
    "unknown kind": ([{"exactly_one": ["a"]}], "a constraint must be Implies, AtMostOne"),
    "three labels": ([{"implies": ["a", "b", "c"]}], "implies takes a child and its parent"),
    "no list": ([{"implies": "ab"}], "a constraint must be Implies, AtMostOne"),
}


@pytest.mark.parametrize(("constraints", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_bound_is_one_line(constraints, message) -> None:
    with pytest.raises(SettingError) as error:
        bind(constraints, ["a", "b", "c"])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_the_cycle_is_named_in_its_direction() -> None:
    with pytest.raises(SettingError, match=r"'(\w)' -> '\w' -> '\w' -> '\1'") as error:
        bind([Implies("a", "b"), Implies("b", "c"), Implies("c", "a")], ["a", "b", "c"])
    way = str(error.value).split(": ")[1].split(";")[0].replace("'", "").split(" -> ")
    assert {*pairwise(way)} == {("a", "b"), ("b", "c"), ("c", "a")}


def test_many_labels_that_nothing_satisfies() -> None:
    """More labels than are enumerated."""
    rules = [AtLeastOne(*MANY[:10]), AtMostOne(*MANY[10:])]
    rules += [Implies(MANY[k], MANY[j]) for k in range(10) for j in (18, 19)]
    with pytest.raises(SettingError, match="no label set satisfies"):
        bind(rules, MANY)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AtMostOne(["a", "b"]), r"takes names or positions of labels, .*got \['a', 'b'\]"),
        (lambda: AtMostOne("a"), "AtMostOne needs at least 2 labels, got 1"),
        (lambda: AtLeastOne(), "AtLeastOne needs at least 1 label, got 0"),
        (lambda: Implies("a", True), "takes names or positions of labels"),
        (lambda: Implies("a", 0.5), "takes names or positions of labels"),
        (lambda: Implies("a", "a"), "names the label 'a' twice"),
        (lambda: Satisfies("a"), "Satisfies takes a function of label sets"),
    ],
)
def test_rules_are_checked_when_made(make, message) -> None:
    with pytest.raises(SettingError, match=message):
        make()


def test_what_has_no_expected_violations_is_no_training_term() -> None:
    y = torch.rand(1, 1, 3)
    with pytest.raises(SettingError, match="cannot be a training term"):
        bind([Satisfies(lambda Y: Y.any(1))], list("abc"))(y)
    with pytest.raises(SettingError, match="bind it first"):
        Implies("a", "b")(y)
