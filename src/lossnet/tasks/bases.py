"""Models of other libraries that an estimator is built around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import clone

from lossnet.errors import SettingError


def as_bases(base: Any, *, noun: str, example: str) -> list[Any]:
    """The models that ``base`` is, one or several; an error where one cannot be fitted.

    Args:
        base: what the user gave.
        noun: what errors call such a model.
        example: one of them, as code.
    """
    if isinstance(base, str | bytes | dict) or base is None:
        raise SettingError(f"base must be a {noun} or a list of {noun}s, got {base!r}")
    bases = list(base) if isinstance(base, list | tuple) else [base]
    if not bases:
        raise SettingError(f"base must hold at least one {noun}, got an empty list")
    for one in bases:
        if isinstance(one, type) or not hasattr(one, "fit"):
            raise SettingError(f"base must be a {noun}, such as {example}, got {one!r}")
    return bases


def seeded(bases: Sequence[Any], seed: int | None) -> list[Any]:
    """Unfitted copies; with a seed, their random states that are None are set to it."""
    copies = [clone(one, safe=False) for one in bases]
    for one in copies if seed is not None else []:
        params = one.get_params() if hasattr(one, "get_params") else {}
        free = [
            key
            for key, value in params.items()
            if value is None and key.rpartition("__")[2] == "random_state"
        ]
        if free:
            one.set_params(**dict.fromkeys(free, seed))
    return copies
