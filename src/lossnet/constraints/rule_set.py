"""Rules about the columns of one matrix of label sets, applied to all rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from scipy import sparse

from lossnet.constraints.rules import Implies, LabelRule, Satisfies

Array = np.ndarray[Any, Any]
#: How many cells of a matrix are looked at in one piece.
CELLS = 2**22


@dataclass(frozen=True, eq=False)
class RuleSet:
    """Rules by position, about label sets of ``size`` labels; functions see all of them."""

    rules: Sequence[LabelRule]
    size: int
    functions: Sequence[Satisfies] = ()
    child: Array = field(init=False)
    parent: Array = field(init=False)
    groups: list[LabelRule] = field(init=False)

    def __post_init__(self) -> None:
        pairs = {rule.labels for rule in self.rules if isinstance(rule, Implies)}
        edges = np.array(sorted(pairs), dtype=np.intp).reshape(-1, 2)
        groups = [rule for rule in self.rules if not isinstance(rule, Implies)]
        self.__dict__.update(child=edges[:, 0], parent=edges[:, 1], groups=groups)

    def allows(self, Y: Array) -> Array:
        """Whether each label set of ``(n, size)``, bool, keeps to the rules, ``(n,)``."""
        rows = max(1, CELLS // max(self.size, len(self.child), 1))
        pieces = [self._allows(Y[at : at + rows]) for at in range(0, len(Y), rows)]
        return np.concatenate([np.zeros(0, dtype=bool), *pieces])

    def _allows(self, Y: Array) -> Array:
        valid: Array = (Y[:, self.child] <= Y[:, self.parent]).all(axis=1)  # type: ignore[assignment]
        for group in self.groups:
            signs, most = group.linear()
            valid &= signs[0] * np.count_nonzero(Y[:, group.positions], axis=1) <= most
        for function in self.functions:
            valid[valid] = function.valid(Y[valid])
        return valid

    @cached_property
    def order(self) -> list[int]:
        """All labels, what is implied before what implies it.

        Raises :class:`graphlib.CycleError` where a label implies itself.
        """
        return list(TopologicalSorter(self.parents()).static_order())

    def parents(self) -> dict[int, list[int]]:
        """What each label implies by a rule of its own."""
        above: dict[int, list[int]] = {k: [] for k in range(self.size)}
        for child, parent in zip(self.child.tolist(), self.parent.tolist(), strict=True):
            above[child].append(parent)
        return above

    @cached_property
    def depth(self) -> Array:
        """How many labels each implies in a row, ``(size,)``."""
        depth, above = np.zeros(self.size, dtype=np.intp), self.parents()
        for label in self.order:
            depth[label] = max((depth[p] + 1 for p in above[label]), default=0)
        return depth

    def linear(self) -> tuple[Any, Array]:
        """The rules as A y <= b: a sparse A ``(rules, size)``, and b."""
        found = [rule.linear() for rule in self.rules]
        rows = np.repeat(np.arange(len(found)), [len(signs) for signs, _ in found])
        columns = np.concatenate([rule.positions for rule in self.rules])
        values = np.concatenate([np.array(signs, dtype=np.float64) for signs, _ in found])
        A = sparse.csc_array((values, (rows, columns)), shape=(len(found), self.size))
        return A, np.array([most for _, most in found], dtype=np.float64)


def find_cycle(rules: RuleSet) -> list[int]:
    """Labels each of which implies the next, the last the first again; empty without a cycle."""
    try:
        rules.order  # noqa: B018
    except CycleError as error:
        return list(error.args[1])[::-1]
    return []
