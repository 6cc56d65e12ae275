"""The columns of inputs as users hold them: numbers, words or codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np

from lossnet.errors import DataError

Kind = Literal["numbers", "words", "codes"]


@dataclass(frozen=True, eq=False)
class RawColumn:
    """The values of one column.

    Args:
        name: what errors call it.
        values: one for each row.
        missing: where there is none.
        category: whether the column's type says that its values are categories.
    """

    name: str
    values: np.ndarray
    missing: np.ndarray
    category: bool = False

    @cached_property
    def known(self) -> list[Any]:
        """The values that are not missing."""
        return list(self.values[~self.missing])

    @property
    def kind(self) -> Kind | None:
        """What the values are; None where all are missing."""
        if not self.known:
            return None
        if all(isinstance(value, str) for value in self.known):
            return "words"
        if all(isinstance(value, Real | np.bool_) for value in self.known):
            return "codes" if self.category and not self.truths else "numbers"
        odd = next(value for value in self.known if not isinstance(value, str))
        what = f"column {self.name!r} holds {str(odd)[:40]!r} ({type(odd).__name__})"
        if isinstance(odd, Real):
            word = next(value for value in self.known if isinstance(value, str))
            rule = f"and the word {word[:40]!r}; give it one type: astype(str) or pandas.to_numeric"
            raise DataError(f"{what} {rule}")
        raise DataError(f"{what}; expected numbers, words or booleans: convert or remove it")

    @property
    def truths(self) -> bool:
        """Whether the values are True and False."""
        return all(isinstance(value, bool | np.bool_) for value in self.known)

    @property
    def texts(self) -> list[str]:
        """What is not missing as words: 3 and 3.0 are ``"3"``."""
        return [_text(value) for value in self.known]

    def numbers(self, expected: str) -> np.ndarray:
        """The numbers, NaN where missing, or an error that tells what was ``expected``."""
        found = np.full(len(self.values), np.nan)
        try:
            found[~self.missing] = [float(value) for value in self.known]
        except ValueError:
            wrong = next(value for value in self.known if not _is_number(value))
            what = f"column {self.name!r} holds the word {wrong[:40]!r}"
            raise DataError(f"{what}; expected {expected}") from None
        return found


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    return str(value)


def _is_missing(value: Any) -> bool:
    """None, NaN or pandas' NA."""
    unknown = value is None or type(value).__name__ == "NAType"
    return unknown or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def is_frame(X: Any) -> bool:
    """Whether ``X`` is a pandas DataFrame."""
    return all(hasattr(X, name) for name in ("iloc", "columns", "dtypes", "isetitem"))


def holds_objects(X: Any) -> bool:
    """Whether ``X`` is an array that may hold words."""
    return getattr(getattr(X, "dtype", None), "kind", None) == "O"


def column_names(X: Any) -> list[str] | None:
    """The names of a frame's columns, None where not all are strings."""
    names = list(X.columns) if is_frame(X) else []
    return names if names and all(isinstance(name, str) for name in names) else None


def column_of(X: Any, j: int, name: str) -> RawColumn:
    """One column of a frame or of an array."""
    if is_frame(X):
        series = X.iloc[:, j]
        category = str(series.dtype) == "category"
        values = series.to_numpy(dtype=object)
        return RawColumn(name, values, series.isna().to_numpy(dtype=bool), category)
    values = np.asarray(X)[:, j]
    missing = np.array([_is_missing(value) for value in values], dtype=bool)
    return RawColumn(name, values, missing)


def other_columns(X: Any) -> Iterator[int]:
    """The numbers of the columns whose type is not one of numbers.

    Those of a frame by their types; those of an array of objects where they hold words or pandas'
    NA.
    """
    if is_frame(X):
        for j, dtype in enumerate(X.dtypes):
            kind = getattr(dtype, "kind", "O")
            if kind in "mM":
                what = f"column {X.columns[j]!r} holds dates or durations, not numbers"
                raise DataError(f"X: {what}; convert them to numbers first, or remove it")
            if kind not in "biufc":
                yield j
    elif holds_objects(X) and np.ndim(X) == 2:
        for j, column in enumerate(np.asarray(X).T):
            if any(isinstance(v, str) or type(v).__name__ == "NAType" for v in column):
                yield j


def replaced(X: Any, columns: Mapping[int, np.ndarray]) -> Any:
    """``X`` with other values in some columns."""
    if not columns:
        return X
    X = X.copy() if is_frame(X) else np.array(X)
    for j, values in columns.items():
        if is_frame(X):
            X.isetitem(j, values)
        else:
            X[:, j] = values
    return X
