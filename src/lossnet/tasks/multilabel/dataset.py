"""One multi-label data set, in memory or on disk."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain
from typing import Any, Self, TypeAlias

import numpy as np
from scipy.sparse import csr_matrix, hstack

from lossnet.constraints import Implies, LabelRule
from lossnet.data.disk_rows import DiskRows
from lossnet.errors import DataError
from lossnet.tasks.multilabel.arrays import check_labels, is_large
from lossnet.tasks.multilabel.feature_rows import check_finite, csr_pieces, disk_rows, stacked
from lossnet.tasks.multilabel.imputer import missing_values
from lossnet.tasks.multilabel.label_sets import LabelSets

# A numpy array, a scipy CSR matrix or rows on disk: what they have in common is more than a type
# can say.
Features: TypeAlias = Any


@dataclass(frozen=True, eq=False, repr=False)
class MultiLabelData(LabelSets):
    """Rows of features and the labels that are on in each.

    X (n, d) float32, a numpy array, a scipy CSR matrix or rows on disk, NaN where a value is
    missing; Y (n, L) uint8, 0 or 1, or float32 with NaN where a label is not known, or CSR, on disk
    if it was there, where it was given sparse and has more than 2^26 entries; (n, 0) where no
    labels are known.

    Other number types are converted; infinity, labels other than 0, 1 and NaN and wrong sizes are
    a :class:`DataError`.

    Args:
        X: the features.
        Y: the labels; None where none are known.
        feature_names: d names; made up (``x0``, ``x1``, ...) where None.
        label_names: L names; made up (``y0``, ``y1``, ...) where None.
        name: what to call the data set.
        parents: for labels in a hierarchy, the parents' indices of each label that has any;
            None for labels without a hierarchy.
        notes: what a reader did that a user should know (a dropped row id, for instance).
    """

    X: Features
    Y: Any = None  # never None once built
    feature_names: list[str] = None  # type: ignore[assignment]
    label_names: list[str] = None  # type: ignore[assignment]
    name: str = "data"
    parents: dict[int, list[int]] | None = None
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        X = _features(self.X, self.name)
        unlabelled = np.zeros((X.shape[0], 0), dtype=np.uint8)
        Y = unlabelled if self.Y is None else label_matrix(self.Y, self.name)
        if X.shape[0] != Y.shape[0]:
            rows = f"X has {X.shape[0]} rows and Y has {Y.shape[0]}"
            raise DataError(f"{self.name}: {rows}; row counts must match")
        features = checked_names(self.feature_names, X.shape[1], "feature", "x")
        labels = checked_names(self.label_names, Y.shape[1], "label", "y")
        # The fields of a frozen class.
        self.__dict__.update(X=X, Y=Y, feature_names=features, label_names=labels)

    def __repr__(self) -> str:
        counts = f"{len(self)} rows, {self.n_features} features, {self.n_labels} labels"
        return f"MultiLabelData({self.name!r}, {counts})"

    @property
    def constraints(self) -> tuple[LabelRule, ...]:
        """A label of a hierarchy implies its parents."""
        names, parents = self.label_names, self.parents or {}
        return tuple(Implies(names[c], names[p]) for c, above in parents.items() for p in above)

    @property
    def has_made_up_names(self) -> bool:
        """Whether the features have no names of their own."""
        return self.feature_names == _made_up("x", self.n_features)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether X is sparse: a scipy CSR matrix, or one on disk."""
        return hasattr(self.X, "tocsr")

    @property
    def n_missing(self) -> int:
        """Number of missing values in X."""
        if isinstance(self.X, DiskRows):
            return sum(int(missing_values(block).sum()) for block in self.X.blocks())
        return int(missing_values(self.X).sum())

    def subset(self, rows: Sequence[int] | np.ndarray[Any, Any]) -> Self:
        """The given rows (indices or a mask of booleans), in the order given."""
        index = self._numbers(rows)
        return replace(self, X=self.X[index], Y=self.Y[index], notes=list(self.notes))

    def with_features(self, columns: np.ndarray[Any, Any]) -> Self:
        """The given features, by number in ascending order, of the same rows."""
        if len(columns) == self.n_features:
            return self
        names = [self.feature_names[j] for j in columns]
        return replace(self, X=self.X[:, columns], feature_names=names, notes=list(self.notes))

    def without_labels(self) -> Self:
        """The same rows, the labels left out."""
        return replace(self, Y=self.Y[:, :0], label_names=[], parents=None, notes=list(self.notes))

    def with_root(self) -> Self:
        """The same with the hierarchy's root as a last label, on in every row.

        Paper 000 counts it: its spo_fun and expr_fun have 500 labels, and F1 is higher for it.
        """
        if self.parents is None:
            raise DataError(f"{self.name} has no hierarchy; with_root is for labels that have one")
        root = self.n_labels
        above = {label: self.parents.get(label) or [root] for label in range(root)}
        ones = np.ones((len(self), 1), dtype=np.uint8)
        both = [self.Y, ones if self.has_dense_labels else csr_matrix(ones)]
        Y = np.hstack(both) if self.has_dense_labels else hstack(both, format="csr")
        notes = [*self.notes, "the hierarchy's root is a label, on in every row"]
        names = [*self.label_names, "root"]
        return replace(self, Y=Y, label_names=names, parents=above, notes=notes)

    @classmethod
    def join(cls, parts: Mapping[str, Self]) -> Self:
        """The rows of several parts of one data set, one part after another."""
        first, *_ = found = list(parts.values())
        blocks = [part.X for part in found]
        X = stacked(blocks) if first.is_sparse else np.concatenate(blocks)
        labels = [part.Y for part in found]
        dense = all(part.has_dense_labels for part in found)
        Y = np.concatenate(labels) if dense else stacked(labels)
        notes = list(dict.fromkeys(note for part in found for note in part.notes))
        return replace(first, X=X, Y=Y, notes=notes)

    def checksum(self) -> str:
        """SHA-256, in hex, of X, Y and the names; the same for dense and sparse X."""
        digest = hashlib.sha256(repr((self.X.shape, self.Y.shape)).encode())
        Y: Any = self.Y if self.known is None else np.where(self.known, self.Y, 255)
        labels = (Y.astype("u1"),) if self.has_dense_labels else csr_pieces(Y, values=False)
        for part in chain(csr_pieces(self.X), labels):  # those of rows on disk one at a time
            if part.dtype.kind == "f":
                part = np.where(np.isnan(part), np.float32(np.nan), part)  # one bit pattern
            kind = {"i": "<i8", "f": "<f4", "u": "u1"}[part.dtype.kind]
            digest.update(np.ascontiguousarray(part, dtype=kind).tobytes())
        for names in (self.feature_names, self.label_names):
            digest.update(repr(names).encode("utf-8", "backslashreplace"))
        return digest.hexdigest()


def check_real(X: Any, name: str) -> None:
    """Raise where features are complex numbers or dates, which NumPy would convert silently.

    Args:
        X: an array, a sparse matrix or a pandas frame; anything else passes.
        name: what to call the data set.
    """
    dtypes = list(getattr(X, "dtypes", [getattr(X, "dtype", None)]))
    kinds = {getattr(dtype, "kind", None) for dtype in dtypes}
    if "c" in kinds:
        raise DataError(f"{name}: X holds complex numbers. Complex data not supported; split them")
    objects = np.asarray(X).flat if "O" in kinds else ()
    moments = np.datetime64 | np.timedelta64
    dates = kinds & {"m", "M"} or any(isinstance(value, moments) for value in objects)
    if dates or "V" in kinds:
        what = "dates or durations" if dates else "records"
        raise DataError(f"{name}: X holds {what}, not numbers; convert them to numbers first")


def _features(X: Any, name: str) -> Any:
    sparse = hasattr(X, "tocsr")
    if isinstance(X, np.memmap | DiskRows):
        return disk_rows(X, name)
    try:
        X = X if sparse else np.asarray(X)
        check_real(X, name)
        with np.errstate(over="ignore"):
            X = (csr_matrix if sparse else np.ascontiguousarray)(X, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name}: X is not a matrix of numbers ({error})") from error
    if X.ndim != 2:
        raise DataError(f"{name}: X has shape {X.shape}; expected (rows, features)")
    check_finite(X.data if sparse else X, name)
    return X


def label_matrix(Y: Any, name: str) -> Any:
    """``Y``, dense or sparse, as a matrix ``(n, L)`` of uint8, or float32 where it has NaN.

    A sparse one that is large stays so. An error unless it is 0, 1 and NaN.
    """
    if is_large(Y):
        return check_labels(Y, f"{name}: Y")
    Y = np.asarray(Y.toarray() if hasattr(Y, "toarray") else Y)
    if Y.ndim != 2:
        raise DataError(f"{name}: Y has shape {Y.shape}; expected (rows, labels)")
    return np.ascontiguousarray(check_labels(Y, f"{name}: Y"))


@lru_cache(maxsize=4)
def _made_up(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{i}" for i in range(count)]


def checked_names(names: Sequence[str] | None, count: int, what: str, prefix: str) -> list[str]:
    """One name for each of so many columns; made up of a prefix and a number where None."""
    if names is None:
        return list(_made_up(prefix, count))
    if len(names) != count:
        raise DataError(f"{len(names)} {what} names for {count} {what}s; give one name for each")
    listed = [str(n) for n in names]
    if what == "label" and len(set(listed)) < count:
        twice = Counter(listed).most_common(1)[0][0]
        raise DataError(f"two labels are called {twice!r}; give each its own name")
    return listed
