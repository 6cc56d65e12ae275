"""Checks of the estimators' settings, made before any data is looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import torch

from lossnet.errors import SettingError, unknown

#: No count or width may be larger.
LARGEST = 2**31 - 1


def _is_int(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_int(name: str, value: Any, *, least: int = 1) -> None:
    """Raise unless ``value`` is an integer of at least ``least``."""
    if not _is_int(value) or value < least:
        raise SettingError(f"{name} must be an integer of at least {least}, got {value!r}")
    if int(value) > LARGEST:
        raise SettingError(f"{name} must be at most {LARGEST:,}, got {value}")


def check_share(name: str, value: Any, *, one: bool = False) -> None:
    """Raise unless ``value`` is a number from 0 to below 1, or with ``one`` up to 1."""
    if not _is_number(value) or not (0.0 <= value < 1.0 or (one and value == 1.0)):
        most = "1" if one else "below 1"
        raise SettingError(f"{name} must be a number from 0 to {most}, got {value!r}")


def check_weight(name: str, value: Any) -> None:
    """Raise unless ``value`` is a finite number of at least 0."""
    if not _is_number(value) or not 0.0 <= value < float("inf"):
        raise SettingError(f"{name} must be a number of at least 0, got {value!r}")


def check_flag(name: str, value: Any) -> None:
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise SettingError(f"{name} must be True or False, got {value!r}")


def check_choice(name: str, value: Any, options: Iterable[str]) -> None:
    """Raise unless ``value`` is one of ``options``; the nearest is suggested."""
    known = list(options)
    if value not in known:
        raise unknown(name, str(value), known)


def check_widths(name: str, value: Any) -> None:
    """Raise unless ``value`` is a sequence of at most 100 integers of at least 1."""
    sequence = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
    if not sequence or not all(_is_int(width) and width >= 1 for width in value):
        raise SettingError(
            f"{name} must be a sequence of integers from 1, as (400, 400), got {value!r}"
        )
    if len(tuple(value)) > 100 or max(value, default=0) > LARGEST:
        raise SettingError(f"{name} must be at most 100 widths of at most {LARGEST:,}")


def check_factory(name: str, value: Any) -> None:
    """Raise unless ``value`` is None or a function that builds a net."""
    if isinstance(value, torch.nn.Module) or not (value is None or callable(value)):
        module = isinstance(value, torch.nn.Module)
        raise SettingError(
            f"{name} must be None or a function (inputs, outputs) -> module, as every fit starts "
            f"from a new net, got {f'a {type(value).__name__}' if module else repr(value)}"
        )


def check_device(value: Any) -> None:
    """Raise unless tensors can be made on the device."""
    try:
        torch.empty(0, device=value)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise SettingError(
            f"device must be 'cpu' or one that torch can use here, got {value!r} ({reason})"
        ) from error


def is_plain(value: Any) -> bool:
    """Whether JSON can hold the value."""
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and is_plain(item) for key, item in value.items())
    if isinstance(value, tuple | list | np.ndarray):
        return all(is_plain(item) for item in value)
    plain = bool | int | float | str | np.generic | torch.device
    return value is None or isinstance(value, plain)


def describe(value: Any) -> Any:
    """The value as JSON can hold it; an object in words that the next process would also use."""
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, tuple | list | np.ndarray):
        return [describe(item) for item in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, torch.device):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
