"""Data sets by name: ``ising``, ``digits-attributes:seed=3``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from lossnet.errors import SettingError, unknown
from lossnet.tasks.multilabel.dataset import MultiLabelData
from lossnet.tasks.multilabel.digits import digits_attributes, digits_completion
from lossnet.tasks.multilabel.ising_model import ising
from lossnet.tasks.parts import Parts

BUILTIN: dict[str, Callable[..., Parts[MultiLabelData]]] = {
    "digits-attributes": digits_attributes,
    "digits-completion": digits_completion,
    "ising": ising,
}


def builtin_parts(source: str) -> Parts[MultiLabelData]:
    """The parts of a built-in data set, ``name`` or ``name:parameter=value,...``.

    >>> builtin_parts("digits-completion:seed=3,n_train=100").train.n_rows
    100
    """
    name, _, settings = source.partition(":")
    if name not in BUILTIN:
        raise unknown("data set", name, BUILTIN)
    known = inspect.signature(BUILTIN[name]).parameters
    values: dict[str, Any] = {}
    for setting in filter(None, settings.split(",")):
        key, equals, text = (piece.strip() for piece in setting.partition("="))
        if not equals:
            raise SettingError(f"{source!r}: expected parameter=value, got {setting!r}")
        if key not in known:
            raise unknown(f"parameter of {name}", key, known)
        if key in values:
            raise SettingError(f"{source!r}: {key} is given twice")
        kind = type(known[key].default)
        try:
            values[key] = kind(text)
        except ValueError:
            what = "an integer" if kind is int else "a number"
            raise SettingError(f"{source!r}: {key} must be {what}, got {text!r}") from None
    return BUILTIN[name](**values)
