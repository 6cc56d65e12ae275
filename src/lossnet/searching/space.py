"""The space of a search: what is tried of which parameter of an estimator and of its method.

Parameters have the names that ``--set`` takes: ``dropout``, ``method.samples``,
``method.energy_optimiser.lr``.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sklearn.base import clone

from lossnet.errors import SettingError, unknown
from lossnet.ranges import Around, Dimension, Drawn, Range, declared
from lossnet.recipes import METHODS, listing, parameters

#: Parameters that no search changes.
_NEVER = frozenset({"method", "method_params", "preset", "device", "random_state", "verbose"})
#: Nor these, which say what is measured and on which rows.
_NEVER |= {"metric", "validation_fraction"}


def space_of(
    model: Any, changes: Mapping[str, Dimension] | None = None, *, fixed: Collection[str] = ()
) -> dict[str, Drawn]:
    """What a search tries of each parameter: what is declared, with the changes.

    Left out are parameters that the model was given another value of than the default, those that
    its preset decides, and those that are ``fixed``; a change brings them back.

    Args:
        model: the estimator.
        changes: ranges and choices by name, in place of those declared or in addition to them.
        fixed: names of parameters to leave as they are.
    """
    values = settable(model)
    of_method = {f"method.{name}": each for name, each in _of_method(model).items()}
    kept = {*fixed, *_given(model)}
    found: dict[str, Drawn] = {}
    for name, each in {**model._searched(), **of_method}.items():
        if name in values and name not in kept and (drawn := each.including(values[name])):
            found[name] = drawn
    for name, each in (changes or {}).items():
        if name not in values:
            raise unknown("parameter of the search space", name, values)
        own = each.including(values[name]) if isinstance(each, Around) else each
        if own is None:
            rule = "must be above 0 to search around it"
            raise SettingError(f"{name} {rule}, got {values[name]!r}; give a Range")
        found[name] = _as_integers(own, values[name])
    for name, drawn in found.items():
        for value in drawn.ends:
            with_values(model, {name: value})._check_settings()
    if not found:
        raise SettingError("the search space is empty: every parameter is set; leave one out")
    return found


def settable(model: Any) -> dict[str, Any]:
    """Every parameter that can be searched, and its value before the search."""
    found = {k: v for k, v in model.resolved_params().items() if k not in _NEVER}
    if isinstance(model.method, str):
        given = parameters(model.method, *model._overrides())
        found |= {f"method.{name}": value for name, value, _ in listing(model.method, given)}
    return found


def with_values(model: Any, values: Mapping[str, Any]) -> Any:
    """An unfitted copy of the estimator with other values of some parameters."""
    named = {name.replace(".", "__"): value for name, value in values.items()}
    return clone(model).set_params(**named)


def start_of(model: Any, space: Mapping[str, Drawn]) -> dict[str, Any]:
    """The values before the search, as far as the space holds them."""
    values = settable(model)
    return {name: values[name] for name, drawn in space.items() if _holds(drawn, values[name])}


def _of_method(model: Any) -> dict[str, Dimension]:
    recipe = METHODS.get(model.method) if isinstance(model.method, str) else None
    return {} if recipe is None else declared(recipe)


def _given(model: Any) -> Iterator[str]:
    """Names of the parameters that the estimator was given."""
    defaults = inspect.signature(type(model)).parameters
    for name, value in model.get_params(deep=False).items():
        default = defaults[name].default
        if name not in _NEVER and value is not default and repr(value) != repr(default):
            yield name
    yield from _dotted("method", model.get_params(deep=False).get("method_params") or {})


def _dotted(prefix: str, params: Mapping[str, Any]) -> Iterator[str]:
    for key, value in params.items():
        yield f"{prefix}.{key}"
        if isinstance(value, Mapping):
            yield from _dotted(f"{prefix}.{key}", value)


def _as_integers(drawn: Drawn, default: Any) -> Drawn:
    """A range of integers only where the parameter is one: 0..1 of a weight is of numbers."""
    if isinstance(drawn, Range) and drawn.integers and isinstance(default, float):
        return Range(float(drawn.low), float(drawn.high), drawn.log)
    return drawn


def _holds(drawn: Drawn, value: Any) -> bool:
    if isinstance(drawn, Range):
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and drawn.low <= value <= drawn.high
    return (list(value) if isinstance(value, tuple) else value) in drawn.values
