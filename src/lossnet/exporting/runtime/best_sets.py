"""The label set of highest expected F-beta or Jaccard index where labels are independent.

The same algorithm as in lossnet.decisions: among sets of one size the most probable labels are
best, bounds rule out most sizes, and the others are computed from the distribution of the number
of labels that are on.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .base import Array

_TAIL = 1e-13
_ROWS, _NUMBERS = 512, 2**21

_Bounds = Callable[[Array], tuple[Array, Array]]
_Scores = Callable[[Array, int, int, int], Array]


def best_f(p: Array, beta: float) -> Array:
    """The label sets of highest expected F-beta for probabilities ``(n, L)``, bool."""
    b2 = beta**2

    def bounds(p: Array) -> tuple[Array, Array]:
        total, m, k = p.sum(1, keepdims=True), p.cumsum(1), np.arange(1, p.shape[1] + 1)
        own = np.square(p).cumsum(1) / np.maximum(m, 1e-300)
        lower, c = m / (k + b2 * (1 + total - own)), k + b2
        upper = m * (c + b2) / (c * (c + b2 * (1 + total - p[:, :1])))
        return (1 + b2) * lower, (1 + b2) * np.minimum(upper, m / (k + b2 * m))

    def scores(p: Array, first: int, last: int, counts: int) -> Array:
        count = _count(p[:, first:], counts)
        shared = np.zeros_like(count)
        for label in p[:, :first].T:
            shared = _with_label(shared, label)
            shared[1:] += count[:-1] * label
            count = _with_label(count, label)
        more = _on_and_count(count, p[:, first:last].T)
        shared = np.concatenate([shared[:, None], more], 1).cumsum(1)
        k = np.arange(first, last + 1)[None, :, None]
        on = np.arange(counts)[:, None, None]
        found: Array = (1 + b2) * (shared / (k + b2 * on)).sum(0).T
        return found

    return _best_prefix(p, bounds, scores)


def best_jaccard(p: Array) -> Array:
    """The label sets of highest expected Jaccard index for probabilities ``(n, L)``, bool."""

    def bounds(p: Array) -> tuple[Array, Array]:
        m, k = p.cumsum(1), np.arange(1, p.shape[1] + 1)
        outside = p.sum(1, keepdims=True) - m
        return m / (k + outside), m * (k + 1) / (k * (k + 1 + outside))

    def scores(p: Array, first: int, last: int, counts: int) -> Array:
        on = np.arange(counts)
        count, found = _count(p[:, last:], counts), []
        for k in range(last, first - 1, -1):
            found.append((1.0 / (k + on)) @ count)
            count = _with_label(count, p[:, k - 1])
        return p.cumsum(1)[:, first - 1 : last] * np.stack(found[::-1], 1)

    return _best_prefix(p, bounds, scores)


def _best_prefix(p: Array, bounds: _Bounds, scores: _Scores) -> Array:
    """The prefix of the sorted labels with the best expected score, as a label set."""
    order = np.argsort(-p, axis=1, kind="stable")
    p = np.take_along_axis(p, order, 1).astype(np.float64)
    none = (1.0 - p).prod(1, keepdims=True)
    lower, upper = (np.concatenate([none, bound], 1) for bound in bounds(p))
    best, k = lower.max(1), lower.argmax(1)
    possible = upper >= best[:, None] - _TAIL
    last = p.shape[1] - possible[:, ::-1].argmax(1)
    first = possible[:, 1:].argmax(1) + 1
    rows = np.flatnonzero(possible.sum(1) > 1)
    rows = rows[np.argsort(last[rows], kind="stable")]
    while len(rows):
        part = rows[:_ROWS]
        counts, least, most = _counts(p[part]), int(first[part].min()), int(last[part].max())
        part = part[: max(1, _NUMBERS // (counts * (most - least + 1)))]
        rows = rows[len(part) :]
        found = scores(p[part], least, most, counts)
        k[part] = np.where(none[part, 0] >= found.max(1), 0, found.argmax(1) + least)
    taken = np.zeros(p.shape, dtype=bool)
    np.put_along_axis(taken, order, np.arange(p.shape[1]) < k[:, None], 1)
    return taken


def _counts(p: Array) -> int:
    """How many counts 0, 1, ... leave out no more than the tail in any row, by Bernstein."""
    log = 30.0
    mean, variance = p.sum(1), (p * (1 - p)).sum(1)
    most = mean + log / 3 + np.sqrt(log**2 / 9 + 2 * log * variance)
    return min(p.shape[1], int(most.max())) + 1


def _count(p: Array, counts: int) -> Array:
    """The distribution of the number of labels on, ``(counts, n)``, as far as that."""
    count = np.zeros((counts, len(p)))
    count[0] = 1.0
    for label in p.T:
        count = _with_label(count, label)
    return count


def _with_label(count: Array, p: Array) -> Array:
    """The distribution ``(counts, n)`` of a count with one label more."""
    more: Array = count * (1.0 - p)
    more[1:] += count[:-1] * p
    return more


def _on_and_count(count: Array, p: Array) -> Array:
    """P(label i is on, and s labels in all), for some labels ``(I, n)``: ``(counts, I, n)``."""
    above = p > 0.5
    small = np.where(above, 1 - p, p)
    r = np.where(above, count[::-1, None], count[:, None]) / (1 - small)
    odds = small / (1 - small)
    for s in range(1, len(count)):
        r[s] -= odds * r[s - 1]
    before = np.concatenate([np.zeros_like(r[:1]), r[:-1]])
    found: Array = np.where(above, r[::-1], before) * p
    return found
