"""``categorical_features``: which columns of numbers are codes."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

import numpy as np

from lossnet.errors import DataError, SettingError
from lossnet.plain_text import some


def check_listed(listed: Any) -> None:
    """Raise unless ``categorical_features`` is None, or names, numbers or a mask of columns."""
    if listed is None:
        return
    values = list(listed) if np.ndim(listed) == 1 else []
    kinds = (str, bool | np.bool_, int | np.integer)
    kind = next((kind for kind in kinds if values and isinstance(values[0], kind)), None)
    if np.ndim(listed) != 1 or (values and (kind is None or not _all_are(values, kind))):
        rule = "None, or a list of names, of numbers from 0, or of a bool for each column"
        raise SettingError(f"categorical_features must be {rule}, got {listed!r}")


def _all_are(values: list[Any], kind: Any) -> bool:
    truths = bool | np.bool_
    return all(isinstance(v, kind) and isinstance(v, truths) == (kind == truths) for v in values)


def listed_columns(listed: Any, columns: int, names: Sequence[str] | None) -> set[int]:
    """The numbers of the columns that ``categorical_features`` lists."""
    values = [] if listed is None else list(listed)
    if not values:
        return set()
    if isinstance(values[0], bool | np.bool_):
        if len(values) != columns:
            counts = f"{len(values)} values for {columns} columns"
            raise DataError(f"categorical_features has {counts}; give a bool for each column")
        return set(np.flatnonzero(values).tolist())
    if not isinstance(values[0], str):
        if wrong := [j for j in values if not 0 <= j < columns]:
            rule = f"columns are numbered from 0 to {columns - 1}"
            raise DataError(f"categorical_features has {wrong[0]}; {rule}")
        return set(map(int, values))
    if names is None:
        what = f"categorical_features names {values[0]!r}, and the columns of X have no names"
        raise DataError(f"{what}; list their numbers, or give a DataFrame")
    place = {str(name): j for j, name in enumerate(names)}
    for name in values:
        if name not in place:
            near = difflib.get_close_matches(name, place, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {some(list(place))}"
            raise DataError(f"categorical_features names {name!r}, no column of X; {hint}")
    return {place[name] for name in values}
