"""Rules bound to the labels of a model: which label sets are valid, and which is the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from lossnet.constraints.constraint import Constraint
from lossnet.constraints.rule_set import Array, RuleSet, find_cycle
from lossnet.constraints.rules import LabelRule, Rule, Satisfies, declared
from lossnet.constraints.solvers import ENUMERATED, Solver, solver
from lossnet.errors import DataError, SettingError, unknown
from lossnet.spaces import sparse as candidates

#: How many of the least certain labels are flipped to satisfy a function.
_FLIPPED = 12
#: Scores are cut off here: a sum of infinite log-odds has no order.
_LARGEST = 1e6


@dataclass(frozen=True)
class _Part:
    """Labels that rules bind together, and the solver of these rules."""

    labels: Array
    rules: RuleSet
    solve: Solver


class Bound(Constraint):
    """Rules about ``names``, the labels of a model; :func:`bind` makes and checks it.

    It is false where there are no rules.
    """

    def __init__(self, rules: Sequence[Rule], names: Sequence[str], known: Any = None) -> None:
        self.declared, self.names = tuple(rules), list(names)
        own = [rule for rule in rules if isinstance(rule, Satisfies)]
        place = {name: k for k, name in enumerate(self.names)}
        placed = [_placed(rule, place) for rule in rules if isinstance(rule, LabelRule)]
        self._rules = RuleSet(placed, len(self.names), own)
        if cycle := find_cycle(self._rules):
            way = " -> ".join(repr(self.names[k]) for k in cycle)
            raise SettingError(f"Implies leads from a label to itself: {way}; leave out one")
        self._parts = [self._part(labels) for labels in self._components()]
        self._searched = bool(own) and len(self.names) > ENUMERATED
        self.known = np.zeros((0, len(self.names)), dtype=bool)
        if self._searched and known is not None:
            sets = np.unique(np.asarray(known, dtype=bool), axis=0)
            self.known = sets[self.allows(sets)]

    def __bool__(self) -> bool:
        return bool(self.declared)

    def __repr__(self) -> str:
        return f"bind({list(self.declared)!r}, {self.names!r})"

    # Binding ---------------------------------------------------------------------------------

    def _components(self) -> list[Array]:
        """Labels in groups that no rule binds to another group; labels without a rule are none."""
        size = len(self.names)
        if self._rules.functions and size <= ENUMERATED:
            return [np.arange(size)]
        pairs = [(r.labels[0], other) for r in self._rules.rules for other in r.labels]
        first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        links = sparse.coo_array((np.ones(len(pairs)), (first, second)), shape=(size, size))
        number = connected_components(links, directed=False)[1]
        return [np.flatnonzero(number == k) for k in np.unique(number[first])]

    def _part(self, labels: Array) -> _Part:
        place, every = {label: k for k, label in enumerate(labels.tolist())}, self._rules.rules
        own = [rule for rule in every if rule.labels[0] in place]
        moved = [type(rule)(*(place[int(label)] for label in rule.labels)) for rule in own]
        functions = self._rules.functions if len(self.names) <= ENUMERATED else ()
        rules = RuleSet(moved, len(labels), functions)
        solve = solver(rules)
        if solve is None:
            named = [type(r)(*(self.names[int(k)] for k in r.labels)) for r in own]
            which = ", ".join(map(repr, [*named, *functions]))
            raise SettingError(f"no label set satisfies {which}; leave out one of them")
        return _Part(labels, rules, solve)

    @property
    def hierarchy(self) -> Array | None:
        """The parent of each label, -1 where it has none; None where that is not all there is."""
        rules, parent = self._rules, np.full(len(self.names), -1)
        if rules.groups or rules.functions or len(np.unique(rules.child)) < len(rules.child):
            return None
        parent[rules.child] = rules.parent
        return parent

    # Deciding --------------------------------------------------------------------------------

    def allows(self, Y: Any) -> Array:
        """Whether label sets ``(..., L)`` of 0 and 1 are valid, ``(...)`` of bool."""
        Y = np.asarray(Y)
        if Y.shape[-1:] != (len(self.names),):
            raise DataError(f"Y has shape {Y.shape}; expected (..., {len(self.names)}) labels")
        valid = self._rules.allows(Y.reshape(-1, len(self.names)).astype(bool))
        return valid.reshape(Y.shape[:-1])

    def nearest(self, scores: Any) -> Array:
        """The valid label set with the largest sum of scores, of every row: uint8 ``(n, L)``.

        With probability - threshold as the score this is the threshold's decision where that is
        valid, and the nearest valid one where not; with log-odds, the most probable valid set of
        independent labels. It is exact, but for :class:`Satisfies` with more than 14 labels: there
        it is the best of the sets that differ from the answer without it in one label or in the
        twelve least certain ones, and of known sets.

        Args:
            scores: ``(n, L)``; a label alone is on where its score is at least 0.
        """
        scores = self._scores(scores)
        best = scores >= 0
        for part in self._parts:
            broken = np.flatnonzero(~part.rules.allows(best[:, part.labels]))
            at = np.ix_(broken, part.labels)
            best[at] = part.solve(scores[at])
        if self._searched:
            for row in np.flatnonzero(~self._rules.allows(best)):
                best[row] = self._search(scores[row], best[row])
        return best.astype(np.uint8)

    def _scores(self, scores: Any) -> Array:
        scores = np.asarray(scores, dtype=np.float64)
        if scores.ndim != 2 or scores.shape[1] != len(self.names):
            expected = f"expected (rows, {len(self.names)}), a column for each label"
            raise DataError(f"scores have shape {scores.shape}; {expected}")
        if np.isnan(scores).any():
            raise DataError("scores hold NaN; give a number for each label")
        return scores.clip(-_LARGEST, _LARGEST)

    def _search(self, scores: Array, base: Array) -> Array:
        """The best valid set among flips of ``base`` and known sets."""
        least = np.argsort(np.abs(scores), kind="stable")[:_FLIPPED]
        flips = np.arange(2 ** len(least))[:, None] >> np.arange(len(least)) & 1
        several = np.tile(base, (len(flips), 1))
        several[:, least] ^= flips.astype(bool)
        single = base ^ np.eye(len(base), dtype=bool)
        sets = np.concatenate([several, single, np.zeros((1, len(base)), dtype=bool), self.known])
        sets = sets[self._rules.allows(sets)]
        if not len(sets):
            tried = f"no label set near a row's prediction satisfies {list(self._rules.functions)}"
            remedy = "bind with known=valid label sets, as fit does, or allow more sets"
            raise DataError(f"{tried}; {remedy}")
        best: Array = sets[(sets @ scores).argmax()]
        return best

    # Training --------------------------------------------------------------------------------

    def __call__(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """Expected violations of all rules together; labels that the mask leaves out are off."""
        for function in self._rules.functions:
            function(y)
        y = candidates.dense(y, y.dtype if y.is_floating_point() else torch.get_default_dtype())
        y = y if mask is None else y.masked_fill(~mask, 0.0)
        pairs = self._rules.child, self._rules.parent
        child, parent = (torch.as_tensor(labels, device=y.device) for labels in pairs)
        total = (y[..., child] * (1.0 - y[..., parent])).sum(-1)
        for group in self._rules.groups:
            total = total + group(y)
        return total


def bind(constraints: Any, label_names: Sequence[str], *, known: Any = None) -> Bound:
    """Bind rules to the labels they name.

    An unknown label, a cycle of :class:`Implies` and rules that nothing satisfies are errors. Of
    a :class:`Satisfies` with more than 14 labels the last is found when no candidate is valid.

    Args:
        constraints: a list of rules, or of dicts such as ``{"implies": ["child", "parent"]}``.
        label_names: the names of all labels, in order.
        known: label sets ``(n, L)`` that a search for a :class:`Satisfies` may fall back on;
            those that break a rule are left out.

    >>> from lossnet.constraints import Implies
    >>> bound = bind([Implies("poodle", "dog")], ["dog", "poodle", "cat"])
    >>> bound.nearest([[-0.1, 0.4, -0.2], [-0.5, 0.4, 0.1]]).tolist()
    [[1, 1, 0], [0, 0, 1]]
    """
    return Bound(declared(constraints), label_names, known)


def _placed(rule: LabelRule, place: dict[str, int]) -> LabelRule:
    """The rule with positions in place of names."""
    for label in rule.labels:
        if isinstance(label, str) and label not in place:
            raise SettingError(f"{rule!r}: {unknown('label', label, place)}")
        if not isinstance(label, str) and not 0 <= label < len(place):
            span = f"0 to {len(place) - 1}"
            raise SettingError(f"{rule!r}: positions of labels go from {span}, got {label}")
    return type(rule)(*(place[k] if isinstance(k, str) else k for k in rule.labels))
