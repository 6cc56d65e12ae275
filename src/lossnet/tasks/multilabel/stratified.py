"""A validation split, and folds, that keep the proportion of every label."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel.arrays import gold_of

Rows = NDArray[np.intp]


def stratified_split(Y: ArrayLike, fraction: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Rows for training and rows for validation, each label in both in proportion.

    Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011, Algorithm 1) with two
    subsets: take the label with the fewest unplaced rows; place each of its rows on the side
    that still wants most of this label, then on the side that still wants most rows, then at
    random. Rows without labels come last.

    Departing from the paper, a side that has all its rows takes no more, so the sizes are
    exact: round(n fraction) rows of validation, at least 1 and at most n - 1. The last rows
    placed, which carry only the commonest labels or none, absorb the difference.

    Args:
        Y: (n, L) gold 0/1, dense or sparse, n >= 2; NaN (not known) counts as 0.
        fraction: share of rows for validation, between 0 and 1.
        rng: the source of all randomness; the same state gives the same split.

    Returns:
        Row numbers of training and of validation, each in ascending order.
    """
    if not 0.0 < fraction < 1.0:
        raise SettingError(f"fraction={fraction}: expected a number between 0 and 1")
    gold, _ = gold_of(Y)
    n = len(gold)
    if n < 2:
        raise DataError(f"cannot split {n} row: at least 2 are needed")
    held_out = min(max(round(n * fraction), 1), n - 1)
    room = [n - held_out, held_out]
    share = np.array(room) / n

    shuffled = rng.permutation(n)
    coin = rng.integers(0, 2, size=n).tolist()
    row_of, label_of = np.nonzero(gold[shuffled])
    starts = np.searchsorted(row_of, np.arange(n + 1))
    labels_of = [label_of[a:b] for a, b in itertools.pairwise(starts)]
    by_label = np.argsort(label_of, kind="stable")
    bounds = np.searchsorted(label_of[by_label], np.arange(gold.shape[1] + 1))

    left = np.bincount(label_of, minlength=gold.shape[1])
    wanted = share[:, None] * left
    side = np.full(n, -1, dtype=np.int8)

    while left.any():
        label = int(np.argmin(np.where(left > 0, left, n + 1)))
        rows = row_of[by_label[bounds[label] : bounds[label + 1]]]
        for i in rows[side[rows] < 0].tolist():
            # The side that wants the row most, never one without room.
            first, second = ((room[s] > 0, wanted[s, label], room[s]) for s in (0, 1))
            pick = coin[i] if first == second else int(second > first)
            side[i] = pick
            room[pick] -= 1
            wanted[pick, labels_of[i]] -= 1
            left[labels_of[i]] -= 1
    rest = np.flatnonzero(side < 0)
    side[rest] = np.arange(len(rest)) >= room[0]
    return np.sort(shuffled[side == 0]), np.sort(shuffled[side == 1])


def stratified_folds(Y: ArrayLike, folds: int, rng: np.random.Generator) -> Rows:
    """The fold of each row, ``(n,)``: every label in all of them in proportion.

    :func:`stratified_split` cuts them off one by one. Sizes differ by at most one row.

    Args:
        Y: (n, L) gold 0/1, dense or sparse, n >= folds.
        folds: how many, at least 2.
        rng: the source of all randomness.
    """
    gold, _ = gold_of(Y)
    n = len(gold)
    if not 2 <= folds <= n:
        raise DataError(f"cannot divide {n} rows into {folds} folds: from 2 to {n} are possible")
    fold = np.zeros(n, dtype=np.intp)
    left: Rows = np.arange(n)
    for number in range(folds - 1, 0, -1):
        rest, held = stratified_split(gold[left], 1.0 / (number + 1), rng)
        fold[left[held]] = number
        left = left[rest]
    return fold
