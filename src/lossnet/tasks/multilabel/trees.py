"""Extremely randomised trees, which vote beside the nets."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import torch
from scipy import sparse
from sklearn.tree import ExtraTreeRegressor
from torch import Tensor
from tqdm.auto import tqdm

from lossnet.nets.forest import Forest
from lossnet.streams import stream_seed
from lossnet.tasks.cross_fitting import Predict, out_of_fold
from lossnet.training import Source

Array = np.ndarray[Any, Any]
#: Labels beyond this number are projected at random, anew for each tree, to so many columns.
PROJECTED = 16
#: Splits try this share of the columns, at most so many, but never fewer than the square root of
#: their number.
_SHARE, _MOST_TRIED = 0.3, 100
#: What the trees may count beside the nets, apart from a half. An average is safer than either.
SHARES = (0.25, 0.75)
#: Probabilities are kept so far from 0 and 1 where their log loss is measured.
_FLOOR = 1e-3
#: Values that all trees together look at, about; fewer trees than this are of no use.
_WORK, _FEWEST = 5e8, 10
#: Added to votes for and against before their logits, times the scale, become inputs of the nets.
_SOFT, _SCALE = 0.005, 0.5
#: The logit where nobody votes for a label.
_NONE = math.log(_SOFT / (1.0 + _SOFT))
#: Rows that are read at a time, and the share of values below which they are kept sparse.
_ROWS, _FEW = 2048, 0.2
#: Values of dense rows that trees vote on at a time.
_ENTRIES = 2**26


def grow(
    X: Any,
    Y: Array,
    *,
    trees: int,
    seed: int,
    weight: Array | None = None,
    entries: Array | None = None,
    progress: bool = False,
) -> Forest:
    """Trees fitted on rows X ``(n, d)``, dense or CSR, and labels Y ``(n, L)``.

    A tree splits by the variance of the labels, which for labels of 0 and 1 is Gini's impurity. The
    variance of random projections is that of the labels in expectation, at a fraction of the cost
    where they are many (Joly, Geurts and Wehenkel, 2014); leaves hold the labels themselves.

    Args:
        X: the rows as the nets see them.
        Y: labels; NaN where not known, which counts in no leaf.
        trees: how many.
        seed: of splits and projections.
        weight: what each row counts, ``(n,)``.
        entries: ``(2, L)``: what labels that are off, and on, count, as in the nets' loss.
        progress: show a bar in a terminal if it takes more than two seconds.
    """
    known = ~np.isnan(Y)
    mean = np.where(known, Y, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    filled = np.where(known, Y, mean).astype(np.float32)
    columns, rng = X.shape[1], np.random.default_rng(seed)
    wide = X.tocsc() if hasattr(X, "tocsc") else X
    found, grown = [], _Leaves(Y, known, mean, weight, entries)
    bar = tqdm(range(trees), desc="trees", delay=2, leave=False, disable=None if progress else True)
    for _ in bar:
        target = filled
        if target.shape[1] > PROJECTED:
            target = filled @ rng.normal(size=(target.shape[1], PROJECTED)).astype(np.float32)
        own = ExtraTreeRegressor(max_features=_tried(columns), random_state=_draw(rng))
        found.append(_as_forest(own.fit(wide, target, sample_weight=weight), X, grown))
    return Forest.joined(found, columns, Y.shape[1])


def _tried(columns: int) -> int:
    """How many columns a split tries."""
    return max(1, round(max(columns**0.5, min(_SHARE * columns, _MOST_TRIED))))


def _draw(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


class _Leaves:
    """What the leaves of a tree hold: the labels' means over their rows."""

    def __init__(
        self, Y: Array, known: Array, mean: Array, weight: Array | None, entries: Array | None
    ) -> None:
        rows = np.ones(len(Y)) if weight is None else np.asarray(weight, dtype=np.float64)
        off, on = np.ones((2, Y.shape[1])) if entries is None else entries
        counts = rows[:, None] * known * np.where(Y == 1, on, off)
        self.counts = None if known.all() and entries is None else counts
        self.on, self.rows, self.mean = sparse.csr_matrix(counts * (Y == 1)), rows, mean

    def __call__(self, leaf: Array, nodes: int) -> Any:
        """Means ``(nodes, L)``, sparse, for the leaf of each row."""
        n = len(leaf)
        member = sparse.csr_matrix((np.ones(n), (leaf, np.arange(n))), shape=(nodes, n))
        on = member @ self.on
        if self.counts is None:
            sizes: Any = member @ self.rows
            return sparse.diags(1.0 / np.maximum(sizes, 1e-12)) @ on
        # Where nothing is known of a label in a leaf, it has the label's mean over all rows.
        total: Any = member @ self.counts
        on_sum: Array = on.toarray()
        held = np.zeros(nodes, dtype=bool)
        held[leaf] = True
        means = np.where(total > 0, on_sum / np.maximum(total, 1e-12), self.mean)
        return sparse.csr_matrix(means * held[:, None])


def _as_forest(tree: ExtraTreeRegressor, X: Any, leaves: _Leaves) -> Forest:
    """A fitted tree as a forest of one."""
    own = tree.tree_
    nodes, number = own.node_count, np.arange(own.node_count)
    is_leaf = own.children_left < 0
    held = sparse.csr_matrix(leaves(own.apply(_float32(X)), nodes))
    held.sort_indices()
    # Rows are float32: the largest float32 that is not above the threshold splits them alike.
    cut = own.threshold.astype(np.float32)
    cut = np.where(cut > own.threshold, np.nextafter(cut, np.float32(-np.inf)), cut)
    made = {
        "roots": np.zeros(1, dtype=np.int32),
        "feature": np.where(is_leaf, 0, own.feature).astype(np.int32),
        "threshold": np.where(is_leaf, np.float32(0), cut),
        "left": np.where(is_leaf, number, own.children_left).astype(np.int32),
        "right": np.where(is_leaf, number, own.children_right).astype(np.int32),
        "start": held.indptr.astype(np.int64),
        "label": held.indices.astype(np.int32),
        "value": held.data.astype(np.float32),
    }
    tensors = {name: torch.as_tensor(value) for name, value in made.items()}
    return Forest(tensors, features=X.shape[1], labels=held.shape[1])


def _float32(X: Any) -> Any:
    return X.astype(np.float32, copy=False)


def cross_fitted(
    X: Any,
    Y: Array,
    folds: Array,
    trees: int,
    seed: int,
    *,
    weight: Array | None = None,
    entries: Array | None = None,
    progress: bool = False,
) -> tuple[Forest, Array]:
    """Trees on all rows, and votes ``(n, L)`` on each row by others that left out its fold.

    Of the latter there are as many, divided among the folds. See :func:`grow` for the other
    arguments.
    """

    def on(rows: Array, count: int, name: str) -> Forest:
        own = None if weight is None else weight[rows]
        how: dict[str, Any] = {"weight": own, "entries": entries, "progress": progress}
        return grow(X[rows], Y[rows], trees=count, seed=stream_seed(seed, name), **how)

    count = max(1, trees // len(np.unique(folds)))

    def fit(rows: Array) -> Predict:
        # With a single fold there are no other rows.
        rows = rows if len(rows) else np.arange(len(Y))
        forest = on(rows, count, f"on {zlib.crc32(rows.tobytes())}")
        return lambda others: _votes(forest, X[others])

    return on(np.arange(len(Y)), trees, "all"), out_of_fold(folds, fit)


def _rows_at_a_time(columns: int) -> int:
    return max(1, min(_ROWS, _ENTRIES // columns))


def _votes(forest: Forest, X: Any) -> Array:
    size = _rows_at_a_time(X.shape[1])
    found = []
    for first in range(0, X.shape[0], size):
        part = X[first : first + size]
        dense = part.toarray() if hasattr(part, "toarray") else part
        found.append(forest(torch.as_tensor(dense)).numpy())
    return np.concatenate(found)


def votes_of(forest: Forest, source: Source) -> Array:
    """What the trees say of the rows of a source, ``(n, L)``."""
    found = [np.zeros((0, forest.labels), dtype=np.float32)]
    size = _rows_at_a_time(forest.features)
    for first in range(0, len(source), size):
        x = source.batch(slice(first, first + size)).x.cpu()
        found.append(forest(x.to_dense() if x.is_sparse else x).numpy())
    return np.concatenate(found)


def as_columns(votes: Array) -> Array:
    """Votes as columns for the nets: logits, softened near 0 and 1, and 0 where nobody votes."""
    found: Array = _SCALE * (np.log((votes + _SOFT) / (1.0 - votes + _SOFT)) - _NONE)
    return found.astype(np.float32)


def votes_as_columns(votes: Tensor) -> Tensor:
    """The same of tensors, for a net that is exported."""
    return _SCALE * (((votes + _SOFT) / (1.0 - votes + _SOFT)).log() - _NONE)


def votes_in(x: Tensor, *, labels: int) -> Tensor:
    """The votes that the last columns of rows hold, ``(B, L)``."""
    first = x.shape[1] - labels
    if x.is_sparse:
        row, column = x.coalesce().indices()
        last = column >= first
        columns = torch.zeros(len(x), labels, dtype=x.dtype, device=x.device)
        columns[row[last], column[last] - first] = x.coalesce().values()[last]
    else:
        columns = x[:, first:]
    odds = (columns / _SCALE + _NONE).exp()
    return ((odds * (1.0 + _SOFT) - _SOFT) / (1.0 + odds)).clamp(0.0, 1.0)


def rows_of(source: Source) -> Any:
    """All rows of a source as the nets see them, ``(n, d)``: CSR where most values are 0."""
    found: list[Any] = []
    is_sparse = False
    for first in range(0, len(source), _ROWS):
        batch = source.batch(slice(first, first + _ROWS)).x.cpu()
        if batch.is_sparse:
            is_sparse = True
            values, (row, column) = batch.values().numpy(), batch.indices().numpy()
            found.append(sparse.csr_matrix((values, (row, column)), shape=tuple(batch.shape)))
            continue
        x = batch.numpy()
        if first == 0:
            is_sparse = np.count_nonzero(x) < _FEW * x.size
        found.append(sparse.csr_matrix(x) if is_sparse else x)
    return sparse.vstack(found, format="csr") if is_sparse else np.concatenate(found)


def affordable(trees: int, rows: int, columns: int) -> int:
    """That many trees or, of large data, as many as take no more time than the nets; 0 if few."""
    work = rows * np.log2(rows + 1) * _tried(columns)
    fewer = min(trees, int(_WORK / max(work, 1.0)))
    return fewer if fewer >= min(trees, _FEWEST) else 0


def choose_share(nets: Array, trees: Array, Y: Array) -> float:
    """What the trees' probabilities count beside the nets', by the log loss of validation rows.

    Half, unless another of :data:`SHARES` has a loss that is lower by more than the difference's
    standard error.

    Args:
        nets: probabilities ``(n, L)``.
        trees: probabilities ``(n, L)``.
        Y: labels ``(n, L)``, NaN where not known.
    """
    half, best, gain = _losses(0.5, nets, trees, Y), 0.5, 0.0
    for share in SHARES:
        lower = half - _losses(share, nets, trees, Y)
        error = lower.std(ddof=1) / len(lower) ** 0.5 if len(lower) > 1 else np.inf
        if lower.mean() > max(error, gain):
            best, gain = share, lower.mean()
    return best


def _losses(share: float, nets: Array, trees: Array, Y: Array) -> Array:
    """Log losses of rows, ``(n,)``."""
    p = np.clip((1.0 - share) * nets + share * trees, _FLOOR, 1.0 - _FLOOR)
    losses: Array = -np.where(np.isnan(Y), 0.0, np.log(np.where(Y == 1, p, 1.0 - p))).sum(1)
    return losses
