"""Metrics of roles, by hand and counted again in the plainest way."""

from __future__ import annotations

import numpy as np
import pytest

from lossnet.errors import DataError
from lossnet.tasks.roles import (
    Argument,
    arguments,
    bootstrap,
    repeated_roles,
    role_scores,
)

GOLD = ["B-ARG0", "I-ARG0", "B-V", "B-ARG1", "O", "B-C-ARG1", "B-ARGM-TMP"]


def test_arguments_of_a_predicate() -> None:
    assert arguments(GOLD) == [
        Argument("ARG0", ((0, 2),)),
        Argument("ARG1", ((3, 4), (5, 6))),
        Argument("ARGM-TMP", ((6, 7),)),
    ]


def test_a_continuation_goes_to_the_last_of_its_role() -> None:
    tags = ["B-ARG1", "B-ARG1", "B-V", "B-C-ARG1", "B-C-ARG1"]
    first, second = arguments(tags)
    assert first == Argument("ARG1", ((0, 1),))
    assert second == Argument("ARG1", ((1, 2), (3, 4), (4, 5)))


def test_a_continuation_of_nothing_is_an_argument() -> None:
    tags = ["B-C-ARG1", "B-V", "B-C-ARG1", "B-C-V", "B-R-ARG1"]
    assert arguments(tags) == [
        Argument("ARG1", ((0, 1), (2, 3))),
        Argument("R-ARG1", ((4, 5),)),
    ]
    plain = ["B-ARG1", "B-V", "O", "O", "O"], ["B-C-ARG1", "B-V", "O", "O", "O"]
    assert role_scores([plain[0]], [plain[1]]).f1 == 1.0


def test_scores_by_hand() -> None:
    guesses = [
        GOLD,  # all three right
        ["B-ARG0", "I-ARG0", "B-V", "B-ARG1", "O", "O", "B-ARGM-TMP"],  # a piece of ARG1 is missing
        [
            "B-ARG0",
            "B-ARG0",
            "B-V",
            "B-ARG1",
            "O",
            "B-C-ARG1",
            "O",
        ],  # ARG0 twice, no TMP
        ["O", "O", "B-V", "I-V", "O", "O", "B-R-ARG0"],  # nothing right; V does not count
    ]
    scores = role_scores([GOLD] * 4, guesses)
    assert (scores.true, scores.predicted, scores.correct) == (12, 3 + 3 + 3 + 1, 3 + 2 + 1)
    assert scores.precision == 6 / 10
    assert scores.recall == 6 / 12
    assert scores.f1 == pytest.approx(2 * 0.6 * 0.5 / 1.1)
    assert scores.perfect == 1
    assert scores.perfect_share == 0.25
    assert scores.violations == 0.25
    arg0, reference = scores.roles["ARG0"], scores.roles["R-ARG0"]
    assert (arg0.true, arg0.predicted, arg0.correct) == (4, 4, 2)
    assert (reference.true, reference.predicted, reference.correct) == (0, 1, 0)
    assert "V" not in scores.roles
    assert scores.accuracy == (7 + 6 + 5 + 2) / 28


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-ARG0 B-V B-ARG0", ["ARG0"]),
        ("B-A0 B-V B-A0 B-A5 B-A5", ["A0", "A5"]),
        ("B-ARG1 B-V B-C-ARG1 B-C-ARG1", []),
        ("B-ARG1 B-V B-R-ARG1 B-R-ARG1", []),
        ("B-ARGM-TMP B-V B-ARGM-TMP", []),
        ("B-ARG1 I-ARG1 B-V I-V", []),
        ("B-ARG6 B-V B-ARG6", []),
        ("B-ARGA B-V B-ARGA", []),
    ],
)
def test_repeated_core_roles(tags: str, expected: list[str]) -> None:
    assert repeated_roles(tags.split()) == expected


def naive(tags: list[str]) -> list[tuple[str, frozenset[tuple[int, int]]]]:
    """Arguments once more: pieces token by token, then continuations."""
    pieces: list[list] = []
    for t, tag in enumerate(tags):
        if tag == "O":
            continue
        inside = t > 0 and tags[t - 1] in (f"B-{tag[2:]}", f"I-{tag[2:]}")
        if tag.startswith("I-") and inside:
            pieces[-1][2] = t + 1
        else:
            pieces.append([tag[2:], t, t + 1])
    found: list[list] = []
    for kind, start, end in pieces:
        if kind[:2] == "C-":
            heads = [one for one in found if one[0] == kind[2:]]
            if heads:
                heads[-1][1].add((start, end))
                continue
            kind = kind[2:]
        found.append([kind, {(start, end)}])
    return [(kind, frozenset(spans)) for kind, spans in found if kind != "V"]


def random_tags(rng: np.random.Generator) -> list[str]:
    kinds = ["ARG0", "ARG1", "C-ARG1", "R-ARG0", "C-V", "ARGM-TMP"]
    tags: list[str] = []
    while len(tags) < 12:
        length = int(rng.integers(1, 4))
        kind = str(rng.choice(kinds))
        span = [f"B-{kind}", *[f"I-{kind}"] * (length - 1)]
        tags += span if rng.random() < 0.6 else ["O"] * length
    tags[5] = "B-V"
    return tags[:12]


def test_scores_counted_again() -> None:
    rng = np.random.default_rng(0)
    true, guess = ([random_tags(rng) for _ in range(200)] for _ in range(2))
    guess[:100] = [
        [a if rng.random() < 0.9 else b for a, b in zip(*pair, strict=True)]
        for pair in zip(true[:100], guess[:100], strict=True)
    ]
    scores = role_scores(true, guess)
    sides = [list(map(naive, side)) for side in (true, guess)]
    assert scores.true == sum(map(len, sides[0]))
    assert scores.predicted == sum(map(len, sides[1]))
    pairs = list(zip(*sides, strict=True))
    assert scores.correct == sum(one in gold for gold, own in pairs for one in own)
    assert scores.perfect == sum(set(a) == set(b) for a, b in pairs)
    assert sum(role.correct for role in scores.roles.values()) == scores.correct


def test_intervals_of_resampled_sentences() -> None:
    rng = np.random.default_rng(1)
    true = [random_tags(rng) for _ in range(60)]
    guess = [tags if rng.random() < 0.5 else random_tags(rng) for tags in true]
    groups = [k // 3 for k in range(60)]
    found = bootstrap(true, guess, groups, n=300, seed=0)
    scores = role_scores(true, guess)
    assert found["role-f1"].value == pytest.approx(scores.f1)
    assert found["violations"].value == scores.violations
    for interval in found.values():
        assert interval.low < interval.value < interval.high
    # Once more, with the sentences themselves drawn.
    draws = np.random.default_rng(0)
    values = []
    for _ in range(300):
        rows = [3 * k + i for k in draws.integers(20, size=20) for i in range(3)]
        values.append(role_scores([true[r] for r in rows], [guess[r] for r in rows]).f1)
    low, high = np.quantile(values, [0.025, 0.975])
    assert found["role-f1"][1:] == pytest.approx((low, high))
    assert bootstrap(true, guess, groups, n=300, seed=0) == found
    assert bootstrap(true, guess, groups, n=300, seed=1) != found


def test_groups_must_number_the_predicates() -> None:
    with pytest.raises(DataError, match="groups must number 1 predicates, got 2"):
        bootstrap([GOLD], [GOLD], [0, 0])
