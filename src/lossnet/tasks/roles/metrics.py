"""Metrics of semantic roles, counted as CoNLL-2005's scorer (srl-eval.pl) counts.

Tags come as one list of BIO tags for each predicate. An *argument* is a role and its pieces:
``C-X`` continues the last ``X`` before it, and is an ``X`` of its own where there is none. All
pieces must match. ``R-X`` is a role of its own. V, with its ``C-V``, is given and never counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lossnet.errors import DataError
from lossnet.tasks.sequence.span_metrics import Sentences, SpanScore, token_accuracy
from lossnet.tasks.sequence.tags import spans

_CORE = re.compile(r"A(?:RG)?[0-5]")
GIVEN = "V"


class Argument(NamedTuple):
    """A role and the pieces it covers, each from a token up to, but not including, another."""

    role: str
    pieces: tuple[tuple[int, int], ...]


def is_core(role: str) -> bool:
    """Whether a role is a core role, which a predicate has once: ARG0 to ARG5, or A0 to A5."""
    return _CORE.fullmatch(role) is not None


def arguments(tags: Sequence[str]) -> list[Argument]:
    """The arguments of a predicate, without V.

    >>> arguments(["B-ARG1", "B-V", "B-C-ARG1", "I-C-ARG1"])
    [Argument(role='ARG1', pieces=((0, 1), (2, 4)))]
    """
    found: list[tuple[str, list[tuple[int, int]]]] = []
    last: dict[str, list[tuple[int, int]]] = {}
    for kind, start, end in spans(tags):
        role = kind.removeprefix("C-")
        if role != kind and role in last:
            last[role].append((start, end))
            continue
        last[role] = [(start, end)]
        found.append((role, last[role]))
    return [Argument(role, tuple(pieces)) for role, pieces in found if role != GIVEN]


def repeated_roles(tags: Sequence[str]) -> list[str]:
    """The core roles that a predicate has more than once, sorted; C- and R- do not count.

    >>> repeated_roles(["B-ARG0", "B-V", "B-ARG0", "B-C-ARG1", "B-C-ARG1"])
    ['ARG0']
    """
    counts = Counter(span.type for span in spans(tags) if is_core(span.type))
    return sorted(role for role, count in counts.items() if count > 1)


@dataclass(frozen=True)
class RoleScores(SpanScore):
    """Counts of arguments of all predicates; precision, recall and F1 follow.

    Args:
        roles: the same of each role, by name.
        predicates: how many predicates there are.
        perfect: how many have all their arguments right and no others.
        violating: how many were given a core role more than once.
        accuracy: the share of tokens whose tag is right.
    """

    roles: dict[str, SpanScore]
    predicates: int
    perfect: int
    violating: int
    accuracy: float

    @property
    def perfect_share(self) -> float:
        """perfect / predicates."""
        return self.perfect / self.predicates

    @property
    def violations(self) -> float:
        """violating / predicates."""
        return self.violating / self.predicates


def role_scores(true: Sentences, predicted: Sentences) -> RoleScores:
    """Scores of predicted tags against the true ones, a list of tags for each predicate.

    >>> role_scores([["B-ARG0", "B-V"]], [["B-ARG0", "B-V"]]).f1
    1.0
    """
    accuracy = token_accuracy(true, predicted)
    counts: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    perfect = violating = 0
    for gold, guess in zip(true, predicted, strict=True):
        sides = set(arguments(gold)), set(arguments(guess))
        for count, side in zip(counts, (*sides, sides[0] & sides[1]), strict=True):
            count.update(argument.role for argument in side)
        perfect += sides[0] == sides[1]
        violating += bool(repeated_roles(guess))
    roles = {
        role: SpanScore(*(count[role] for count in counts))
        for role in sorted({*counts[0], *counts[1]})
    }
    gold_count, guess_count, right = (count.total() for count in counts)
    totals = (gold_count, guess_count, right)
    return RoleScores(*totals, roles, len(true), perfect, violating, accuracy)


class Interval(NamedTuple):
    """A measured value and the range that its resamples leave after cutting off both tails."""

    value: float
    low: float
    high: float


def bootstrap(
    true: Sentences,
    predicted: Sentences,
    groups: Sequence[int] | None = None,
    *,
    n: int = 1000,
    seed: int = 0,
    level: float = 0.95,
) -> dict[str, Interval]:
    """Percentile intervals of ``role-f1`` and ``violations`` over resampled sentences.

    Args:
        true: the true tags of each predicate.
        predicted: the predicted ones.
        groups: the number of each predicate's sentence, which are drawn together; None draws
            predicates.
        n: how many resamples.
        seed: of the draws.
        level: the share of resamples within an interval.
    """
    scores = [role_scores([gold], [guess]) for gold, guess in zip(true, predicted, strict=True)]
    numbers = list(range(len(scores))) if groups is None else list(groups)
    if len(numbers) != len(scores) or not scores:
        raise DataError(f"groups must number {len(scores)} predicates, got {len(numbers)}")
    rows = np.array([[s.true + s.predicted, s.correct, 1, s.violating] for s in scores], float)
    _, group = np.unique(numbers, return_inverse=True)
    counts = np.zeros((group.max() + 1, rows.shape[1]))
    np.add.at(counts, group, rows)
    rng, size = np.random.default_rng(seed), len(counts)
    sums = [np.bincount(rng.integers(size, size=size), minlength=size) @ counts for _ in range(n)]
    values, drawn = _shares(counts.sum(0, keepdims=True)), _shares(np.stack(sums))
    tails = [(1 - level) / 2, (1 + level) / 2]
    return {
        name: Interval(float(values[name][0]), *map(float, np.quantile(drawn[name], tails)))
        for name in values
    }


def _shares(counts: np.ndarray) -> dict[str, np.ndarray]:
    """F1 and violations of sums ``(n, 4)``."""
    spans_, correct, predicates, violating = counts.T
    return {
        "role-f1": 2 * correct / np.maximum(spans_, 1),
        "violations": violating / np.maximum(predicates, 1),
    }
