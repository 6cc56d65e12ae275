"""Columns of numbers and categories, as the nets take them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lossnet.data.limits import check_cells
from lossnet.errors import DataError
from lossnet.plain_text import some
from lossnet.tasks.multilabel.categories import CODES, WORDS, YES_NO, Categories, categories_of
from lossnet.tasks.multilabel.listed_columns import listed_columns
from lossnet.tasks.multilabel.raw_columns import (
    column_names,
    column_of,
    holds_objects,
    is_frame,
    other_columns,
    replaced,
)

#: What :meth:`Encoding.to_json` gives: see :func:`lossnet.files.check_form`.
ENCODING_FORM = [{"column": int, "name": str, "kind": str, "words": [str]}]


@dataclass(frozen=True)
class Encoding:
    """What the columns of inputs become.

    A column of numbers stays one. A column of words or codes becomes a column for each category of
    the training rows, 1 where it holds; a missing category, and one absent from training, has
    zeros in all of them. Words of a yes/no kind are 1 and 0, and NaN where they are missing.

    Args:
        columns: number of columns.
        coded: those of categories, in ascending order.
        names: of the columns, None where they have none.
    """

    columns: int
    coded: tuple[Categories, ...] = ()
    names: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        listed: Any = None,
        *,
        names: Sequence[str] | None = None,
        training: bool = True,
    ) -> Encoding:
        """The encoding of inputs, a frame or an array.

        Args:
            X: the inputs.
            listed: columns of numbers that are codes, see :func:`listed_columns`.
            names: of the columns of an array.
            training: whether these are the rows of training, of which text is refused.
        """
        names = column_names(X) if names is None else names
        known = None if names is None else tuple(names)
        if listed is None and not (is_frame(X) or holds_objects(X)):
            shape: tuple[Any, ...] = getattr(X, "shape", ())
            return cls(int(shape[1]) if len(shape) == 2 else 0, names=known)
        if hasattr(X, "tocsr"):
            rule = "make X dense, or encode them with sklearn.preprocessing.OneHotEncoder"
            raise DataError(f"X is sparse, which categorical_features does not support; {rule}")
        X = X if is_frame(X) else np.asarray(X)
        if X.ndim != 2:
            return cls(0, names=known)
        width = int(X.shape[1])
        wanted = listed_columns(listed, width, names)
        coded = []
        for j in sorted({*other_columns(X), *wanted}):
            raw = column_of(X, j, str(names[j]) if names else str(j))
            coded.append(categories_of(raw, j, listed=j in wanted, training=training))
        return cls(width, tuple(one for one in coded if one is not None), known)

    @property
    def width(self) -> int:
        """Number of columns after encoding."""
        return self.columns + sum(len(one.coding.columns) - 1 for one in self.coded)

    @property
    def file_names(self) -> list[str] | None:
        """The names of the columns as the readers of files have them; None without names.

        Words are a column each, ``colour=red``; codes are numbers.
        """
        if self.names is None:
            return None
        words = {one.column: one.coding.columns for one in self.coded if one.kind == WORDS}
        return [new for j, name in enumerate(self.names) for new in words.get(j, [name])]

    def of_files(self) -> Encoding:
        """The encoding of inputs in the columns that :attr:`file_names` names."""
        start = dict(zip(range(self.columns), self._starts(WORDS), strict=True))
        codes = [one for one in self.coded if one.kind == CODES]
        moved = tuple(replace(one, column=start[one.column]) for one in codes)
        return Encoding(len(self.file_names or range(self.columns)), moved)

    def _starts(self, *kinds: str) -> np.ndarray:
        """Where each column starts after those of these kinds are encoded."""
        sizes = np.ones(self.columns, dtype=np.int64)
        for one in self.coded:
            sizes[one.column] = len(one.coding.columns) if one.kind in kinds else 1
        return np.cumsum(sizes) - sizes

    def numbers(self, X: Any) -> Any:
        """``X`` with numbers in all columns: in those of categories the category's place.

        A warning names categories that are absent from training.
        """
        if not self.coded and not (is_frame(X) or holds_objects(X)):
            return X
        if hasattr(X, "tocsr"):
            named = some([one.name for one in self.coded])
            raise DataError(f"X is sparse, and its columns {named} are categories; make it dense")
        X = X if is_frame(X) else np.asarray(X)
        if X.ndim != 2 or (X.shape[1] != self.columns and self.names and column_names(X)):
            return X  # what is wrong is reported by scikit-learn's checks
        if X.shape[1] != self.columns:
            expected = f"but the model is expecting {self.columns} features as input"
            raise DataError(f"X has {X.shape[1]} features, {expected}; give the same columns")
        coded, changed, unseen = {one.column: one for one in self.coded}, {}, []
        for j in sorted({*coded, *other_columns(X)}):
            raw = column_of(X, j, coded[j].name if j in coded else self._name(X, j))
            if j not in coded:
                raw.kind  # noqa: B018  # raises on what is neither numbers nor words
                changed[j] = raw.numbers("numbers, as in training")
                continue
            changed[j], others = coded[j].places(raw)
            unseen += [f"{raw.name!r}: {some(others)}"] if others else []
        if unseen:
            what = "categories absent from training count as missing"
            warnings.warn(f"{what}: {'; '.join(unseen)}", stacklevel=6)
        return replaced(X, changed)

    def _name(self, X: Any, j: int) -> str:
        named = self.names or column_names(X)
        return str(named[j]) if named else str(j)

    def expanded(self, X: np.ndarray) -> np.ndarray:
        """Rows of what :meth:`numbers` gave, ``(n, columns)``, with a column for each category."""
        hot = [one for one in self.coded if one.coding.one_hot]
        if not hot:
            return X
        check_cells("X", len(X), self.width, "columns with one for each category")
        starts = self._starts(WORDS, CODES)
        plain = np.setdiff1d(np.arange(self.columns), [one.column for one in hot])
        out = np.zeros((len(X), self.width), dtype=X.dtype)
        out[:, starts[plain]] = X[:, plain]
        for one in hot:
            rows = np.flatnonzero(~np.isnan(X[:, one.column]))
            out[rows, starts[one.column] + X[rows, one.column].astype(np.int64)] = 1
        return out

    def narrowed(self, X: np.ndarray) -> tuple[Encoding, np.ndarray]:
        """The encoding without the categories that no row of encoded ``X`` has; what is kept."""
        if not self.coded:
            return self, np.arange(self.width)
        starts, keep, coded = self._starts(WORDS, CODES), np.ones(self.width, dtype=bool), []
        for one in self.coded:
            if one.coding.one_hot:
                start = starts[one.column]
                held = np.any(X[:, start : start + len(one.words)], axis=0)
                keep[start : start + len(one.words)] = held
                one = replace(one, words=tuple(np.array(one.words, dtype=object)[held]))
            coded.append(one)
        return replace(self, coded=tuple(coded)), np.flatnonzero(keep)

    def to_json(self) -> list[dict[str, Any]]:
        """The columns of categories as JSON can hold them."""
        return [
            {"column": c.column, "name": c.name, "kind": c.kind, "words": list(c.words)}
            for c in self.coded
        ]

    @classmethod
    def from_json(
        cls, columns: int, value: Sequence[Mapping[str, Any]], names: Sequence[str] | None
    ) -> Encoding:
        """The encoding that :meth:`to_json` gave."""
        coded = tuple(Categories(**{**one, "words": tuple(one["words"])}) for one in value)
        places = [one.column for one in coded]
        ordered = places == sorted({*places} & {*range(columns)})
        for one in coded:
            whole = one.kind in (WORDS, CODES) or (one.kind == YES_NO and len(one.words) == 2)
            if not ordered or not whole or len({*one.words}) < len(one.words):
                raise DataError(f"the categories of column {one.name!r} are damaged")
        return cls(columns, coded, None if names is None else tuple(names))
