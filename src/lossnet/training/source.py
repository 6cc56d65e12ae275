"""Where batches come from."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from lossnet.batch import Batch
from lossnet.nets.wide import WIDE

#: Sparse inputs whose dense form is smaller than this are held dense, to save slicing them.
_DENSE_BYTES = 1 << 29
#: Wide inputs stay sparse up to the nets where at most this share of them is not 0.
_FEW = 0.1
#: Batches of similar length are cut from so many batches' worth of rows at a time.
_POOL = 20


class Source(Protocol):
    """A data set that gives batches by row number."""

    def __len__(self) -> int: ...

    def batch(self, rows: Tensor | slice) -> Batch:
        """The batch of these rows: their numbers, on any device, or a slice of rows in order."""

    def shuffled(self, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        """The numbers of all rows, each once, in random batches of that size."""

    def in_order(self, size: int) -> Sequence[Tensor | slice]:
        """All rows, each once, in batches of that size at most, in the order that is quickest."""


class Arrays:
    """Feature rows, dense or CSR, and where known their targets.

    Args:
        X: ``(n, d)`` numpy array, scipy CSR matrix, or rows on disk: with ``blocks``, and
            ``toarray`` of some of them, and ``tocsr`` where they are sparse.
        Y: ``(n, *S)`` numpy array of targets, NaN where they are not known; a CSR matrix ``(n, L)``
            in memory or on disk that is made dense batch by batch; or None.
        device: where batches go.
        share: let a slice of rows be a view of ``X``, not a copy; for nets that never write to
            their input.
        transform: applied to dense rows before a net sees them; rows of CSR input are made dense
            first, so both forms give the same batches. One with ``keeps_zeros`` also takes CSR.
        extra: ``(n, k)`` further columns, which no transform changes, or None.
        sparse: whether the nets take inputs that are sparse COO tensors. CSR input of at least
            5,000 columns is then given so, where at most a tenth of it is not 0.
    """

    def __init__(
        self,
        X: Any,
        Y: Any = None,
        *,
        device: str | torch.device = "cpu",
        share: bool = False,
        transform: Callable[[np.ndarray], np.ndarray] | None = None,
        extra: np.ndarray | None = None,
        sparse: bool = False,
    ) -> None:
        self._transform, self._share = transform, share
        self._dtype, self._device = torch.float32, torch.device(device)
        self._sparse = sparse and _stays_sparse(X, transform)
        #: A tensor, or rows that are read or made tensors batch by batch.
        self._x: Any
        if hasattr(X, "blocks"):
            self._x = X
        elif self._sparse:
            X = _joined(X.tocsr() if transform is None else transform(X.tocsr()), extra)
            self._x, extra = X.astype(np.float32, copy=False), None
        elif hasattr(X, "tocsr") and 4 * X.shape[0] * X.shape[1] > _DENSE_BYTES:
            self._x = X.tocsr().astype(np.float32)
        else:
            self._x = self._tensor(X.toarray() if hasattr(X, "toarray") else X)
        self._extra = None if extra is None else self._placed(extra)
        if self._extra is not None and isinstance(self._x, Tensor):
            self._x, self._extra = torch.cat([self._x, self._extra], dim=1), None
        #: A tensor, or a CSR matrix, or None.
        self._y: Any = Y if Y is None or hasattr(Y, "tocsr") else self._placed(Y)
        self._known: Tensor | None = None
        if isinstance(self._y, Tensor) and (unknown := self._y.isnan()).any():
            self._y, self._known = self._y.nan_to_num(0.0), ~unknown

    def __len__(self) -> int:
        return int(self._x.shape[0])

    def batch(self, rows: Tensor | slice) -> Batch:
        if isinstance(rows, Tensor):
            rows = rows.to(self._device)
        if isinstance(self._x, Tensor):
            x = _take(self._x, rows)
            if isinstance(rows, slice) and not self._share:
                x = x.clone()
        elif self._sparse:
            x = coo_of(self._sparse_rows(rows)).to(self._device)
        else:
            x = self._tensor(self._x[_numbers(rows)].toarray())
            x = x if self._extra is None else torch.cat([x, _take(self._extra, rows)], dim=1)
        known = None if self._known is None else _take(self._known, rows)
        return Batch(x.to(self._dtype), self._target(rows), known=known)

    def _sparse_rows(self, rows: Tensor | slice) -> Any:
        """Sparse rows as the nets see them; those on disk are read and transformed now."""
        found = self._x[_numbers(rows)]
        if not hasattr(found, "blocks"):
            return found
        found = found.tocsr() if self._transform is None else self._transform(found.tocsr())
        extra = None if self._extra is None else _take(self._extra, rows).cpu().numpy()
        return _joined(found, extra).astype(np.float32, copy=False)

    def _target(self, rows: Tensor | slice) -> Tensor | None:
        if self._y is None:
            return None
        if isinstance(self._y, Tensor):
            return _take(self._y, rows).to(self._dtype)
        return self._placed(self._y[_numbers(rows)].toarray()).to(self._dtype)

    def double(self) -> Self:
        """The same rows in batches of double precision."""
        twin = copy.copy(self)
        twin._dtype = torch.float64
        return twin

    def _tensor(self, X: np.ndarray) -> Tensor:
        """Dense rows as the nets see them."""
        X = X if self._transform is None else self._transform(X)
        return self._placed(X)

    def _placed(self, values: np.ndarray) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(values, dtype=np.float32), device=self._device)

    def shuffled(self, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        return random_order(len(self), generator).split(size)

    def in_order(self, size: int) -> Sequence[slice]:
        return row_slices(len(self), size)


class SimilarLengths:
    """Batches of rows of similar length, so that little of them is padding.

    Args:
        lengths: of each row.
        most: a batch of several rows is cut where it is larger, padding counted, so that memory
            stays within bounds.
    """

    def __init__(self, lengths: Sequence[int], most: int) -> None:
        self._lengths, self._most = torch.tensor(lengths, device="cpu"), most

    def __len__(self) -> int:
        return len(self._lengths)

    def shuffled(self, size: int, generator: torch.Generator) -> Sequence[Tensor]:
        order = random_order(len(self), generator)
        batches: list[Tensor] = []
        for pool in order.split(_POOL * size):
            batches += self._ranked(pool, size)
        return [batches[i] for i in random_order(len(batches), generator).tolist()]

    def in_order(self, size: int) -> Sequence[Tensor]:
        return self._ranked(torch.arange(len(self), device="cpu"), size)

    def _ranked(self, rows: Tensor, size: int) -> list[Tensor]:
        """The rows in batches of that size at most, from the shortest to the longest."""
        batches: list[Tensor] = []
        for batch in rows[self._lengths[rows].argsort(stable=True)].split(size):
            while len(batch) * (longest := int(self._lengths[batch[-1]])) > self._most:
                if (fit := max(self._most // longest, 1)) == len(batch):
                    break
                batches.append(batch[-fit:])
                batch = batch[:-fit]
            batches.append(batch)
        return batches


def random_order(rows: int, generator: torch.Generator) -> Tensor:
    """The numbers of the rows in random order, on the generator's device."""
    return torch.randperm(rows, generator=generator, device=generator.device)


def paired(
    own: Source, others: Source, size: int, order: torch.Generator, other_order: torch.Generator
) -> Iterable[tuple[Tensor, Tensor]]:
    """Random batches of two sources; the shorter is repeated, in a new order each time."""
    left, right = list(own.shuffled(size, order)), list(others.shuffled(size, other_order))
    longest = max(len(left), len(right))
    while len(left) < longest:
        left += own.shuffled(size, order)
    while len(right) < longest:
        right += others.shuffled(size, other_order)
    return zip(left[:longest], right[:longest], strict=True)


def row_slices(rows: int, size: int) -> list[slice]:
    """Slices that cover the rows in order, in batches of ``size``."""
    return [slice(first, first + size) for first in range(0, rows, size)]


def coo_of(rows: Any) -> Tensor:
    """A CSR matrix as a sparse COO tensor."""
    rows.sum_duplicates()
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    indices = torch.from_numpy(np.stack([row, rows.indices.astype(np.int64)]))
    return torch.sparse_coo_tensor(
        indices,
        torch.from_numpy(rows.data),
        rows.shape,
        is_coalesced=True,
        check_invariants=False,
    )


def _stays_sparse(X: Any, transform: Any) -> bool:
    """Whether rows are better given to a net as they are: sparse, and wide."""
    kept = transform is None or getattr(transform, "keeps_zeros", False)
    if not kept or not hasattr(X, "tocsr") or X.shape[1] < WIDE:
        return False
    return bool(X.nnz <= _FEW * X.shape[0] * X.shape[1])


def _joined(X: Any, extra: Any) -> Any:
    """A CSR matrix and further columns."""
    if extra is None:
        return X
    from scipy.sparse import csr_matrix, hstack

    return hstack([X, csr_matrix(extra)], format="csr")


def _numbers(rows: Tensor | slice) -> Any:
    return rows if isinstance(rows, slice) else rows.cpu().numpy()


def _take(values: Tensor, rows: Tensor | slice) -> Tensor:
    return values[rows] if isinstance(rows, slice) else values.index_select(0, rows)
