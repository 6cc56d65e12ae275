"""Label matrices and probabilities as users hold them, checked.

NaN in a label matrix ``Y`` is a label that is not known. A sparse ``Y`` of more than
:data:`MOST_ENTRIES` stays sparse, a CSR matrix of uint8, and on disk if it is there. It is made
dense some rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnet.errors import DataError

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
#: Entries of a label matrix, or of outputs, that are held in memory one by one.
MOST_ENTRIES = 2**26


def is_large(Y: Any) -> bool:
    """Whether ``Y`` is a sparse matrix that is not to be made dense."""
    return hasattr(Y, "tocsr") and Y.shape[0] * Y.shape[1] > MOST_ENTRIES


def _is_on_disk(Y: Any) -> bool:
    """Whether a sparse matrix is one on disk; asked so, scipy need not be imported."""
    return hasattr(Y, "blocks")


def rows_at_a_time(labels: int) -> int:
    """How many rows of so many labels make a matrix that is not too large."""
    return max(1, MOST_ENTRIES // max(labels, 1))


def parts_of(Y: Any) -> Iterator[NDArray[Any]]:
    """The rows of a matrix, dense, some at a time where it is sparse and large."""
    if not is_large(Y):
        yield Y.toarray() if hasattr(Y, "toarray") else Y
        return
    size = rows_at_a_time(Y.shape[1])
    for first in range(0, Y.shape[0], size):
        yield Y[first : first + size].toarray()


def sparse_labels(Y: Any, name: str, labels: Sequence[str] = ()) -> Any:
    """A sparse matrix of 0 and 1 as CSR of uint8; other values, NaN too, are an error."""
    if _is_on_disk(Y):
        return _labels_on_disk(Y, name, labels)
    return _binary(found := Y.tocsr(), name, labels, own=found is Y)


def sparse_rows(Y: Any) -> Any:
    """A sparse matrix of which rows can be chosen: CSR, on disk if it is there."""
    return Y if _is_on_disk(Y) else Y.tocsr()


def sparse_blocks(Y: Any) -> Iterator[Any]:
    """The rows of a sparse matrix in order, CSR: some at a time of those on disk."""
    yield from Y.blocks() if _is_on_disk(Y) else [Y]


def sets_of(Y: Any) -> Iterator[bytes]:
    """The labels that are on in each row of a sparse matrix, as the bytes of their numbers."""
    for block in sparse_blocks(Y):
        for own in np.split(block.indices.astype(np.int64), block.indptr[1:-1]):
            yield own.tobytes()


def sparse_counts(Y: Any, P: Any, axis: int) -> list[NDArray[np.intp]]:
    """tp, predicted and gold of every row (0) or label (1) of sparse matrices."""
    truth, predicted = sparse_labels(Y, "Y"), sparse_labels(P, "P")
    if truth.shape != predicted.shape:
        shapes = f"{truth.shape} and {predicted.shape}"
        raise DataError(f"Y and P have shapes {shapes}: expected the same")
    counts, first = [], 0
    for gold in sparse_blocks(truth):  # some rows at a time of those on disk
        found = predicted[first : first + gold.shape[0]]
        both = (gold.multiply(found), found, gold)
        counts.append([np.asarray(one.sum(1 - axis)).ravel().astype(np.intp) for one in both])
        first += gold.shape[0]
    join = np.concatenate if axis == 0 else partial(np.sum, axis=0)
    return [join(parts) for parts in zip(*counts, strict=True)]


def _labels_on_disk(Y: Any, name: str, labels: Sequence[str]) -> Any:
    """Labels that stay on disk, checked; rows chosen of such are checked already."""
    if Y.checked:
        return Y
    first = 0
    for block in Y.blocks():
        _binary(block, name, labels, first=first)
        first += block.shape[0]
    return Y.then(partial(_binary, name=name)).as_checked()


def _binary(
    found: Any, name: str, labels: Sequence[str] = (), *, first: int = 0, own: bool = False
) -> Any:
    """A CSR matrix of 0 and 1 as uint8; ``own`` keeps the given one as it was."""
    found.sum_duplicates()
    if not ((found.data == 0) | (found.data == 1)).all():
        where = int(np.flatnonzero((found.data != 0) & (found.data != 1))[0])
        row, label = int(np.searchsorted(found.indptr, where, "right")) - 1, found.indices[where]
        cell = f"row {first + row}, label {label}{f' ({labels[label]})' if labels else ''}"
        what = f"{name} is not binary: {cell} is {found.data[where]}"
        rule = f"expected only 0 and 1 in a sparse matrix of more than {MOST_ENTRIES:,} entries"
        raise DataError(f"{what}; {rule}")
    found = found.astype(np.uint8, copy=own)
    found.eliminate_zeros()
    return found


def matrix(values: Any, name: str) -> NDArray[Any]:
    """``values`` (array, nested list, tensor, scipy sparse matrix) as a dense (n, L) array."""
    array = np.asarray(values.toarray() if hasattr(values, "toarray") else values)
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(f"{name} has shape {array.shape}; expected (rows, labels), none of them 0")
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} has dtype {array.dtype}; expected booleans or numbers")
    return array


def indicator(values: ArrayLike, name: str = "Y") -> Bools:
    """A 0/1 matrix (n, L), dense or scipy sparse, as booleans; other values are an error."""
    return check_binary(matrix(values, name), name).astype(bool, copy=False)


def check_binary(array: NDArray[Any], name: str, labels: Sequence[str] = ()) -> NDArray[Any]:
    """The matrix (n, L); raise with its first row and label that is not 0 or 1."""
    if _is_binary(array):
        return array  # no copies of a large matrix
    return _checked(array, name, labels)


def check_labels(array: NDArray[Any], name: str, labels: Sequence[str] = ()) -> NDArray[Any]:
    """The matrix (n, L) of 0, 1 and NaN: uint8, or float32 where it has NaN; else an error."""
    if hasattr(array, "tocsr"):
        return sparse_labels(array, name, labels)
    if _is_binary(array):
        return array.astype(np.uint8, copy=False)
    if array.dtype.kind == "f" and (unknown := np.isnan(array)).any():
        _checked(np.where(unknown, 0.0, array), name, labels)
        return array.astype(np.float32, copy=False)
    return _checked(array, name, labels).astype(np.uint8)


def _is_binary(array: NDArray[Any]) -> bool:
    return array.dtype in (bool, np.uint8) and bool(array.max(initial=0) <= 1)


def _checked(array: NDArray[Any], name: str, labels: Sequence[str]) -> NDArray[Any]:
    if array.dtype.kind not in "biuf":
        raise DataError(f"{name} holds {array.dtype} values; expected only 0 and 1")
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        row, label = np.argwhere(wrong)[0]
        cell = f"row {row}, label {label}{f' ({labels[label]})' if labels else ''}"
        rule = "expected only 0 and 1 (apply_threshold cuts probabilities)"
        raise DataError(f"{name} is not binary: {cell} is {array[row, label]}; {rule}")
    return array


def known_of(Y: NDArray[Any]) -> Bools | None:
    """Where labels are known, (n, L); None where all are."""
    if Y.dtype.kind != "f":
        return None
    known = ~np.isnan(Y)
    return None if known.all() else known


def gold_of(Y: ArrayLike, name: str = "Y") -> tuple[Bools, Bools | None]:
    """Labels that are on, (n, L), off where they are not known, and where they are: or None."""
    array = matrix(Y, name)
    if _is_binary(array):
        return array.astype(bool, copy=False), None
    checked = check_labels(array, name)
    known = known_of(checked)
    return checked == 1 if known is not None else checked.astype(bool, copy=False), known


def probabilities(values: ArrayLike, name: str = "proba") -> Floats:
    """A matrix (n, L) of finite float64 numbers; NaN and infinity are an error."""
    array = matrix(values, name).astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        row, label = np.argwhere(~np.isfinite(array))[0]
        raise DataError(f"{name}[{row}, {label}] is {array[row, label]}: expected finite numbers")
    return array


def gold_and(
    Y: ArrayLike, other: ArrayLike, name: Literal["P", "proba"]
) -> tuple[Bools, Any, Bools | None]:
    """Gold labels, predicted ones or probabilities, of one shape, and which are known, or None.

    Labels that are not known are off in both, and their probabilities -infinity: below every
    threshold, and last in every order.
    """
    gold, known = gold_of(Y)
    second: Any = (indicator if name == "P" else probabilities)(other, name)
    if gold.shape != second.shape:
        shapes = f"shapes {gold.shape} and {second.shape}"
        raise DataError(f"Y and {name} have {shapes}: expected the same")
    if known is None:
        return gold, second, None
    if not known.any():
        raise DataError("Y has no known label, all of it is NaN; give rows with labels")
    return gold, second & known if name == "P" else np.where(known, second, -np.inf), known


def without_nan(Y: Any, second: Any) -> tuple[Any, Any]:
    """Both arrays, entries that are not known 0 in both and rows without a known entry left out."""
    gold, known = gold_of(Y)
    if known is None:
        return Y, second
    rows, other = known.any(axis=1), np.asarray(second)
    return gold[rows].astype(np.uint8), (other * known).astype(other.dtype)[rows]


def with_unseen(values: NDArray[Any], labels: int, fill: float = 0.0) -> NDArray[Any]:
    """Values of each label, the last axis, and ``fill`` for labels that training never saw.

    Those come last. Probabilities of 0 mean that such a label is never predicted.
    """
    more = labels - values.shape[-1] if values.ndim else 0
    around = [(0, 0)] * (values.ndim - 1) + [(0, more)]
    return np.pad(values, around, constant_values=fill) if more > 0 else values
