"""What a search tries of a parameter: a range, the surroundings of its default, or some values.

A recipe declares its own with :func:`searched`, an estimator in its ``search_space``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from lossnet.errors import SettingError

Recipe = TypeVar("Recipe", bound=Callable[..., Any])


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``; integers where both are.

    Args:
        low, high: the smallest and the largest value.
        log: equal factors are equally likely, in place of equal differences.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise SettingError(f"a range must go from low to high, got {self}")
        if self.log and self.low <= 0:
            raise SettingError(f"a range on a log scale must be above 0, got {self}")

    def __str__(self) -> str:
        return f"{self.low:g}..{self.high:g}{':log' if self.log else ''}"

    @property
    def integers(self) -> bool:
        """Whether the values are integers."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values to check: if these are valid, so are all between."""
        return self.low, self.high

    def including(self, default: Any) -> Range | None:
        """The range, extended to a parameter's default; None where it cannot hold it."""
        if not _is_number(default) or (self.log and default <= 0):
            return None
        whole = isinstance(default, int) or not float(default).is_integer()
        own = default if whole or not self.integers else int(default)
        return Range(min(self.low, own), max(self.high, own), self.log)


@dataclass(frozen=True)
class Around:
    """From the default divided by ``factor`` to ``factor`` times it, on a log scale."""

    factor: float = 5.0

    def __str__(self) -> str:
        return f"default / {self.factor:g}..default * {self.factor:g}:log"

    def including(self, default: Any) -> Range | None:
        """The range around a parameter's default; None where that is 0 or no number."""
        if not _is_number(default) or default <= 0:
            return None
        return Range(default / self.factor, default * self.factor, log=True)


@dataclass(frozen=True)
class Choice:
    """One of several values, in no order."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", tuple(_plain(value) for value in values))
        if len(self.values) < 2:
            raise SettingError(f"a choice needs at least two values, got {list(self.values)}")

    def __str__(self) -> str:
        return str(list(self.values))

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values to check: all of them."""
        return self.values

    def including(self, default: Any) -> Choice:
        """The choice, extended by a parameter's default."""
        own = _plain(default)
        return self if own in self.values else Choice(*self.values, own)


#: What can be declared, and what a search draws from once defaults are known.
Dimension = Range | Around | Choice
Drawn = Range | Choice


def searched(space: Mapping[str, Dimension]) -> Callable[[Recipe], Recipe]:
    """Declare what a search tries of a recipe's parameters, those of parts by dotted names.

    >>> @searched({"samples": Range(5, 80, log=True)})
    ... def recipe(*, samples: int = 20) -> None: ...
    >>> declared(recipe)
    {'samples': Range(low=5, high=80, log=True)}
    """

    def declare(recipe: Recipe) -> Recipe:
        vars(recipe)["search_space"] = dict(space)
        return recipe

    return declare


def declared(recipe: Callable[..., Any]) -> dict[str, Dimension]:
    """What :func:`searched` declared, empty without it."""
    return dict(getattr(recipe, "search_space", {}))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Sequences as lists, so that they compare."""
    return list(value) if isinstance(value, tuple | list) else value
