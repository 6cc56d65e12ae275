"""Rules about labels, declared by the labels' names or positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from torch import Tensor

from lossnet.constraints.constraint import Constraint
from lossnet.errors import SettingError
from lossnet.plain_text import counted
from lossnet.spaces import sparse

Label: TypeAlias = str | int
#: A function of label sets (n, L), bool, that says for each whether it is valid, (n,).
SetRule: TypeAlias = Callable[[np.ndarray[Any, Any]], Any]


@dataclass(frozen=True, init=False, repr=False)
class LabelRule(Constraint):
    """A linear rule about some labels, Σ_i sign_i y_i <= most.

    A rule given by positions is a constraint as it is; names must be bound first
    (:func:`~lossnet.constraints.bind`).

    Args:
        labels: names or positions, each once.
    """

    #: The rule's name in files and on the command line.
    key: ClassVar[str]
    #: How many labels it needs at least.
    least: ClassVar[int] = 2
    labels: tuple[Label, ...]

    def __init__(self, *labels: Label) -> None:
        name = type(self).__name__
        for label in labels:
            if isinstance(label, bool) or not isinstance(label, str | Integral):
                rule = f"{name} takes names or positions of labels"
                remedy = f"as in {name}('a', 'b')"
                raise SettingError(f"{rule}, {remedy}, got {label!r}")
        if len(labels) < self.least:
            least = counted(self.least, "label")
            raise SettingError(f"{name} needs at least {least}, got {len(labels)}")
        found = tuple(label if isinstance(label, str) else int(label) for label in labels)
        if twice := [label for k, label in enumerate(found) if label in found[:k]]:
            raise SettingError(f"{name} names the label {twice[0]!r} twice; name each label once")
        object.__setattr__(self, "labels", found)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.labels))})"

    @property
    def positions(self) -> Any:
        """The labels' positions as an array, once they are all given so."""
        return np.array(self.labels, dtype=np.intp)

    def linear(self) -> tuple[list[int], int]:
        """The sign of each label, and the bound of their sum."""
        raise NotImplementedError

    def expected(self, p: Tensor) -> Tensor:
        """Expected violations ``(K, B)`` of probabilities ``(K, B, labels of the rule)``."""
        raise NotImplementedError

    def __call__(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """Expected violations; labels that the mask leaves out are off."""
        if names := [label for label in self.labels if isinstance(label, str)]:
            remedy = "bind it first: bind([rule], label_names)"
            raise SettingError(f"{self!r} names the label {names[0]!r}; {remedy}")
        y = sparse.dense(y, y.dtype if y.is_floating_point() else torch.get_default_dtype())
        y = y if mask is None else y.masked_fill(~mask, 0.0)
        return self.expected(y[..., torch.as_tensor(self.positions, device=y.device)])


class Implies(LabelRule):
    """Where ``child`` is on, ``parent`` is on; p_child (1 - p_parent) violations are expected.

    >>> Implies(0, 1)(torch.tensor([[[0.5, 0.25]]]))
    tensor([[0.3750]])
    """

    key = "implies"

    def __init__(self, child: Label, parent: Label) -> None:
        super().__init__(child, parent)

    def linear(self) -> tuple[list[int], int]:
        return [1, -1], 0

    def expected(self, p: Tensor) -> Tensor:
        return p[..., 0] * (1.0 - p[..., 1])


class AtMostOne(LabelRule):
    """Labels that exclude each other; Σ_{i<j} p_i p_j pairs are expected."""

    key = "at_most_one"

    def linear(self) -> tuple[list[int], int]:
        return [1] * len(self.labels), 1

    def expected(self, p: Tensor) -> Tensor:
        return 0.5 * (p.sum(-1).square() - p.square().sum(-1))


class AtLeastOne(LabelRule):
    """Labels of which one or more are on; Π_i (1 - p_i) violations are expected."""

    key = "at_least_one"
    least = 1

    def linear(self) -> tuple[list[int], int]:
        return [-1] * len(self.labels), -1

    def expected(self, p: Tensor) -> Tensor:
        return (1.0 - p).prod(-1)


@dataclass(frozen=True)
class Satisfies(Constraint):
    """A rule of your own: label sets ``(n, L)`` of bool, columns in the model's order, are valid.

    Decisions keep to it; it has no expected violations, so it cannot be trained on.

    Args:
        function: of label sets; gives ``(n,)`` of bool, True where a set is valid.
    """

    function: SetRule

    def __post_init__(self) -> None:
        if not callable(self.function):
            rule = "a function of label sets (n, L) that gives (n,) of bool"
            raise SettingError(f"Satisfies takes {rule}, got {self.function!r}")

    def valid(self, Y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Whether each of the label sets ``(n, L)`` is valid, ``(n,)``."""
        if not len(Y):
            return np.zeros(0, dtype=bool)
        found = np.asarray(self.function(Y))
        if found.shape != (len(Y),) or found.dtype.kind not in "bui":
            got = f"{found.dtype} of shape {found.shape}"
            rule = f"it must give one bool for each, shape ({len(Y)},)"
            raise SettingError(f"{self!r} gave {got} for {len(Y)} label sets; {rule}")
        return found.astype(bool)

    def __call__(self, y: Tensor, mask: Tensor | None = None) -> Tensor:
        what = f"{self!r} has no expected violations, so it cannot be a training term"
        raise SettingError(f"{what}; train on Implies, AtMostOne and AtLeastOne, or without it")


Rule: TypeAlias = LabelRule | Satisfies
KINDS: dict[str, type[LabelRule]] = {kind.key: kind for kind in (Implies, AtMostOne, AtLeastOne)}


def declared(constraints: Any) -> tuple[Rule, ...]:
    """Constraints as users write them, checked: rules, or dicts as :func:`plain` gives them."""
    rule = f"Implies, AtMostOne, AtLeastOne, Satisfies or a dict of {', '.join(KINDS)}"
    if isinstance(constraints, str | Mapping) or not isinstance(constraints, Sequence):
        raise SettingError(f"constraints must be a list of rules ({rule}), got {constraints!r}")
    return tuple(_declared(one, rule) for one in constraints)


def _declared(one: Any, rule: str) -> Rule:
    if isinstance(one, LabelRule | Satisfies):
        return one
    key, labels = next(iter(one.items())) if isinstance(one, Mapping) and len(one) == 1 else ("", 0)
    if key not in KINDS or not isinstance(labels, list | tuple):
        example = "{'implies': ['child', 'parent']}"
        raise SettingError(f"a constraint must be {rule}, as {example}, got {one!r}")
    if key == Implies.key and len(labels) != 2:
        raise SettingError(f"implies takes a child and its parent, got {labels!r}")
    return KINDS[key](*labels)


def plain(constraints: Sequence[Rule]) -> list[dict[str, list[Label]]]:
    """Rules as JSON and YAML can hold them; :class:`Satisfies` is left out."""
    return [{rule.key: list(rule.labels)} for rule in constraints if isinstance(rule, LabelRule)]
