"""Parameters by name, nested at any depth: how values are converted, checked, listed and stored.

A recipe's parameters are its keyword arguments. One that is a part, such as an optimiser or a
solver, has parameters of its own: the fields of its dataclass that are numbers, switches, choices
or parts. Other fields (the net a proposal runs, where inference starts) are set by the recipe.
A union of parts lists the kinds to choose from, each by its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from lossnet.errors import SettingError, unknown


@dataclass(frozen=True)
class AtLeast:
    """The smallest value of a number; a ``strict`` one is itself too small."""

    least: float
    strict: bool = False

    def __str__(self) -> str:
        return f"{'above' if self.strict else 'at least'} {self.least:g}"


Count = Annotated[int, AtLeast(1)]
Weight = Annotated[float, AtLeast(0)]
Positive = Annotated[float, AtLeast(0, strict=True)]

#: What a value of each type is called, and what is accepted for it.
_PLAIN: dict[type, tuple[str, tuple[type, ...]]] = {
    bool: ("true or false", (bool, np.bool_)),
    int: ("an integer", (Integral,)),
    float: ("a number", (Real,)),
    str: ("a string", (str,)),
}


def convert(name: str, hint: Any, current: Any, value: Any) -> Any:
    """``value`` converted to the parameter's type; a mapping changes parameters of ``current``.

    >>> convert("samples", Count, 20, np.int64(40))
    40
    """
    if kinds_of(hint):
        return _convert_part(name, hint, current, value)
    return _convert_plain(name, hint, value)


def _convert_plain(name: str, hint: Any, value: Any) -> Any:
    kind, *_ = _options(hint)
    if get_origin(kind) is not Literal and not (value is None and NoneType in _options(hint)):
        words, accepted = _PLAIN[kind]
        if not isinstance(value, accepted) or isinstance(value, bool | np.bool_) != (kind is bool):
            raise SettingError(f"{name} must be {words}, got {value!r}")
        try:
            value = kind(value)
        except OverflowError as error:
            raise SettingError(f"{name} must be {words} that a float can hold") from error
    check_value(name, hint, value)
    return value


def check_value(name: str, hint: Any, value: Any) -> None:
    """Raise where a value is below the bound of its type, or not among its choices."""
    options, bound = _options(hint), _bound(hint)
    if value is None and NoneType in options:
        return
    if get_origin(options[0]) is Literal and value not in get_args(options[0]):
        raise unknown(name, str(value), map(str, get_args(options[0])))
    if bound and not (value > bound.least if bound.strict else value >= bound.least):
        otherwise = " or None" if NoneType in options else ""
        raise SettingError(f"{name} must be {bound}{otherwise}, got {value}")


class Checked:
    """A base of dataclasses whose fields are checked when they are built.

    >>> @dataclass(frozen=True)
    ... class Sampler(Checked):
    ...     k: Count = 20
    >>> Sampler(0)
    Traceback (most recent call last):
    lossnet.errors.SettingError: k must be at least 1, got 0
    """

    def __post_init__(self) -> None:
        part: Any = type(self)
        for name, hint in _hints(part).items():
            check_value(name, hint, getattr(self, name))


@cache
def _hints(part: Any) -> dict[str, Any]:
    """The fields of a dataclass and their types."""
    hints = get_type_hints(part, include_extras=True)
    return {f.name: hints[f.name] for f in fields(part)}


def _convert_part(name: str, hint: Any, current: Any, value: Any) -> Any:
    kinds = kinds_of(hint)
    if isinstance(value, str):
        value = {"kind": value}
    if not isinstance(value, Mapping):
        if isinstance(value, tuple(kinds.values())) or _takes_own(hint, value):
            return value
        raise SettingError(
            f"{name} must be a part ({', '.join(kinds)}) or a mapping of parameters, got {value!r}"
        )
    kind = value.get("kind", kind_of(type(current)))
    if not isinstance(kind, str) or kind not in kinds:
        raise unknown(f"kind of {name}", str(kind), kinds)
    part: Any = current if type(current) is kinds[kind] else kinds[kind]()
    given = {key: item for key, item in value.items() if key != "kind"}
    changes = convert_all(name, parameters_of(type(part)), vars(part), given, f"{name}.")
    try:
        return replace(part, **changes)
    except SettingError as error:
        raise SettingError(f"{name}: {error}") from error


def convert_all(
    owner: str,
    hints: Mapping[str, Any],
    current: Mapping[str, Any],
    given: Mapping[str, Any],
    prefix: str = "",
) -> dict[str, Any]:
    """The values ``given`` to parameters of these types, checked; errors call them by a prefix."""
    for key in given:
        if key not in hints:
            raise unknown(f"parameter of {owner}", str(key), hints)
    return {k: convert(prefix + k, hints[k], current[k], item) for k, item in given.items()}


def kinds_of(hint: Any) -> dict[str, type]:
    """The kinds of parts to choose from, by name: dataclasses that can be built from defaults."""
    return {kind_of(option): option for option in _options(hint) if _is_kind(option)}


def kind_of(part: type) -> str:
    """The name of a kind of part: its ``kind``, or its class in lower case.

    >>> from lossnet.proposals import NetOutput
    >>> kind_of(NetOutput)
    'net-output'
    """
    named = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", part.__name__).lower()
    return str(getattr(part, "kind", named))


def parameters_of(part: type) -> dict[str, Any]:
    """The parameters of a kind of part and their types."""
    return {name: hint for name, hint in _hints(part).items() if _is_parameter(hint)}


def plain(value: Any) -> Any:
    """A parameter's value as JSON holds it; :func:`convert` converts it back."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    own = {key: plain(getattr(value, key)) for key in parameters_of(type(value))}
    return {"kind": kind_of(type(value)), **own}


def listed(name: str, hint: Any, value: Any) -> Iterator[tuple[str, Any, Sequence[Any]]]:
    """A parameter and those nested in it: dotted name, value, and the choices where few exist."""
    kinds = kinds_of(hint)
    if not kinds:
        yield name, value, get_args(_options(hint)[0])
        return
    if len(kinds) > 1:
        yield name, kind_of(type(value)), tuple(kinds)
    for key, inner in parameters_of(type(value)).items():
        yield from listed(f"{name}.{key}", inner, getattr(value, key))


def with_value(params: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """``params`` with this value at the end of a path of names.

    >>> with_value({"solver": "cg"}, ["solver", "steps"], 5)
    {'solver': {'kind': 'cg', 'steps': 5}}
    """
    name, *rest = path
    if not rest:
        return {**params, name: value}
    inner = plain(params.get(name, {}))
    if isinstance(inner, str):
        inner = {"kind": inner}
    return {**params, name: with_value(inner if isinstance(inner, Mapping) else {}, rest, value)}


def _options(hint: Any) -> tuple[Any, ...]:
    """The members of a union, or the type alone, without their bounds."""
    hint = _unbounded(hint)
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(_unbounded(member) for member in members)


def _unbounded(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _bound(hint: Any) -> AtLeast | None:
    members = (hint, *get_args(hint))
    return next((one for m in members for one in getattr(m, "__metadata__", ())), None)


def _is_kind(part: Any) -> bool:
    if not (isinstance(part, type) and is_dataclass(part)):
        return False
    return all(f.default is not MISSING or f.default_factory is not MISSING for f in fields(part))


def _is_parameter(hint: Any) -> bool:
    plain_types, options = {bool, int, float, NoneType}, _options(hint)
    plainly = all(one in plain_types or get_origin(one) is Literal for one in options)
    return plainly or bool(kinds_of(hint))


def _takes_own(hint: Any, value: Any) -> bool:
    """Whether the value is a part of the user's own and the type allows one by a protocol."""
    return callable(value) and any(getattr(o, "_is_protocol", False) for o in _options(hint))


def joined(prefix: str, params: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every value of nested mappings, and the mappings too, by names joined with ``__``."""
    for key, value in params.items():
        yield f"{prefix}__{key}", value
        if isinstance(value, Mapping):
            yield from joined(f"{prefix}__{key}", value)
