"""Plain values from YAML and JSON: text, numbers, lists and mappings of a sane size."""

from __future__ import annotations

import json
import math
from typing import Any

from lossnet.errors import DataError

#: Deeper than any setting is nested.
_DEEPEST = 20


def parse_json(text: str, where: str) -> Any:
    """The value of a JSON text; errors call it ``where``."""
    try:
        return _checked(json.loads(text), where)
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{where} is not valid JSON ({error})") from error


def parse_yaml(text: str, where: str) -> Any:
    """The value of a YAML text without anchors, aliases and tags; errors call it ``where``."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses what can make a small text a huge or an endless value."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
                raise DataError(f"{where}: anchors and aliases (&, *) are not supported")
            if getattr(event, "tag", None) is not None:
                raise DataError(f"{where}: tags (!) are not supported")
            return super().compose_node(parent, index)

    try:
        return _checked(yaml.load(text, Loader), where)
    except DataError:
        raise
    except RecursionError as error:
        raise _too_deep(where) from error
    # Text that looks like a number or a date and is none raises errors of many kinds.
    except (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"{where} is not valid YAML ({error})") from error


def _checked(value: Any, where: str, depth: int = 0) -> Any:
    """The value, where it is plain; YAML 1.1 reads 1e-3 as text, which is a number here."""
    if depth > _DEEPEST:
        raise _too_deep(where)
    if isinstance(value, dict):
        if strange := [key for key in value if not isinstance(key, str)]:
            raise DataError(f"{where}: the name of a setting must be text, got {strange[0]!r}")
        return {key: _checked(item, where, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_checked(item, where, depth + 1) for item in value]
    if isinstance(value, str):
        value = _number(value)
    largest = 2**63 if isinstance(value, int) else math.inf
    if isinstance(value, int | float) and not abs(value) < largest:
        raise DataError(f"{where}: the number {value!r:.30} is too large, or not finite")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise DataError(f"{where}: expected text, a number, a list or a mapping, got {value!r}")


def _number(text: str) -> float | str:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _too_deep(where: str) -> DataError:
    return DataError(f"{where} is nested more than {_DEEPEST} levels deep")
