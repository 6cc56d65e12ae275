"""Whether a value read from a file or a command line fits a parameter's type."""

from __future__ import annotations

import collections.abc
import types
from typing import Any, Literal, Union, get_args, get_origin

_NAMES = {int: "a whole number", float: "a number", str: "a name", bool: "true or false"}


def fits(value: Any, hint: Any) -> bool:
    """Whether ``value`` fits a type hint; a whole number fits ``float``, true and false do not.

    >>> fits([200, 200], collections.abc.Sequence[int]), fits(True, int)
    (True, False)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in inner)
    if origin is Literal:
        return value in inner
    if origin is collections.abc.Sequence:
        return isinstance(value, list | tuple) and all(fits(item, inner[0]) for item in value)
    if hint is type(None):
        return value is None
    if hint is bool:
        return isinstance(value, bool)
    if hint is float:
        return isinstance(value, float | int) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return hint is str and isinstance(value, str)


def describe(hint: Any) -> str:
    """A type hint in words, without what only Python code can give."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        texts = [text for option in inner if (text := describe(option))]
        return " or ".join(dict.fromkeys(texts))
    if origin is Literal:
        return " or ".join(str(value) for value in inner)
    if origin is collections.abc.Sequence:
        return "a list of whole numbers" if inner[0] is int else "a list"
    if hint is type(None):
        return "null"
    return _NAMES.get(hint, "")
