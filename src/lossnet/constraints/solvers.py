"""The valid label set with the largest sum of scores, of every row.

A solver takes scores ``(n, m)`` and gives label sets ``(n, m)`` of bool. It can be pickled.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import TypeAlias

import numpy as np

from lossnet.constraints.rule_set import CELLS, Array, RuleSet
from lossnet.constraints.rules import AtLeastOne, AtMostOne
from lossnet.errors import DataError

Solver: TypeAlias = Callable[[Array], Array]
#: Up to so many labels all sets are enumerated.
ENUMERATED = 14


def solver(rules: RuleSet) -> Solver | None:
    """The exact solver for these rules; None where no label set satisfies them."""
    if not rules.groups and not rules.functions:
        one_parent = len(np.unique(rules.child)) == len(rules.child)
        if one_parent:
            return _forest(rules)
    sets = _valid_sets(rules)
    if sets is not None:
        return _among(sets) if len(sets) else None
    return _programme(rules)


def _forest(rules: RuleSet) -> Solver:
    """Dynamic programme: a label is on where it and the best of all below it gain together.

    v_i = score_i + Σ_{children c} max(v_c, 0); i is on where v_i >= 0 and its parent is on.
    """
    parent = np.zeros(rules.size, dtype=np.intp)
    parent[rules.child] = rules.parent
    levels = [np.flatnonzero(rules.depth == d) for d in range(1, int(rules.depth.max()) + 1)]
    return partial(_best_in_forest, parent, levels)


def _best_in_forest(parent: Array, levels: list[Array], scores: Array) -> Array:
    value = np.array(scores.T)
    for level in levels[::-1]:
        np.add.at(value, parent[level], np.maximum(value[level], 0.0))
    on = value >= 0
    for level in levels:
        on[level] &= on[parent[level]]
    return on.T


def _valid_sets(rules: RuleSet) -> Array | None:
    """All valid sets ``(k, size)`` of bool; None where there may be too many."""
    size = rules.size
    if any(isinstance(rule, AtMostOne) and len(rule.labels) == size for rule in rules.groups):
        sets = np.eye(size + 1, size, -1, dtype=bool)
    elif size <= ENUMERATED:
        sets = np.array(list(product([False, True], repeat=size)), dtype=bool)
    else:
        return None
    found: Array = sets[rules.allows(sets)]
    return found


def _among(sets: Array) -> Solver:
    return partial(_best_among, sets, sets.T.astype(np.float64))


def _best_among(sets: Array, columns: Array, scores: Array) -> Array:
    rows = max(1, CELLS // len(sets))
    starts = range(0, len(scores), rows)
    best = [(scores[at : at + rows] @ columns).argmax(1) for at in starts]
    return sets[np.concatenate([np.zeros(0, dtype=np.intp), *best])]


def _programme(rules: RuleSet) -> Solver | None:
    """An integer linear programme for every row."""
    A, b = rules.linear()
    # Without AtLeastOne, what is not on and not implied by what is on stays off.
    reach = None if any(isinstance(r, AtLeastOne) for r in rules.groups) else _implied(rules)
    # Without AtLeastOne the empty set is valid.
    if reach is None and _solved(A, b, np.zeros(rules.size)) is None:
        return None
    return partial(_best_of_programme, A, b, reach)


def _best_of_programme(A: Array, b: Array, reach: Array | None, scores: Array) -> Array:
    on = scores >= 0
    for row, wanted in enumerate(on):
        kept = np.arange(len(wanted)) if reach is None else reach[wanted].any(0).nonzero()[0]
        best = _solved(A[:, kept], b, scores[row, kept])
        if best is None:
            raise DataError("the solver found no valid label set for a row; check its scores")
        on[row] = False
        on[row, kept[best]] = True
    return on


def _implied(rules: RuleSet) -> Array:
    """Whether label j is label i or implied by it, ``(size, size)``."""
    reach = np.eye(rules.size, dtype=bool)
    above = rules.parents()
    for label in rules.order:
        for parent in above[label]:
            reach[label] |= reach[parent]
    return reach


def _solved(A: Array, b: Array, scores: Array) -> Array | None:
    from scipy.optimize import Bounds, LinearConstraint, milp

    # Scores of 1e-6 and of 1e6 are the same to the solver's tolerances.
    scale = np.abs(scores).max(initial=0.0) or 1.0
    found = milp(
        -scores / scale,
        integrality=np.ones(len(scores), dtype=np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(A, ub=b),
        options={"mip_rel_gap": 0.0},
    )
    return None if found.x is None else found.x.round().astype(bool)
