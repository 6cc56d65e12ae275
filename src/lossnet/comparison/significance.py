"""Is a difference to the baseline real? Over seeds and over examples, for several methods.

The difference of example i under seed s, method minus baseline, is taken as

    d_si = μ + a_s + b_i + e_si,    s = 1 ... S,    i = 1 ... N,

with random effects of the seed, of the example and of both. The mean of all d_si estimates μ; with
the mean squares of the two-way layout its variance is estimated three times:

    MS_seed / (S N)                            other seeds, these examples,
    MS_example / (S N)                         these seeds, other examples,
    (MS_seed + MS_example - MS_both) / (S N)   other seeds and other examples,

with S - 1, with N - 1 and with Satterthwaite's degrees of freedom. The third is what is asked for,
but with few seeds it is often too small, or negative. So a difference counts as real only if all
three t tests reject, and the interval is the widest of the three: an intersection-union test, which
keeps its level without correction. ``benchmarks/significance.py`` measures both its errors.

What is not covered: other training data. All runs are trained on the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lossnet.errors import DataError, SettingError, unknown

#: Scores of each example by seed; of runs that are only known in total one number.
Scores = Mapping[int, ArrayLike]


@dataclass(frozen=True)
class Difference:
    """A method's scores minus the baseline's.

    Attributes:
        method: name of the method.
        baseline: name of the baseline.
        mean: the mean difference over seeds and examples; NaN where no seed is common to both.
        low: lower end of the interval, which covers the true difference with at least ``level``.
        high: its upper end; both are NaN where nothing varies that could be judged by, as with one
            seed and one score.
        p: p-value, corrected for all methods that were compared (Holm); NaN where there is none.
        seeds: the seeds that were compared, those of both.
        examples: how many examples were compared.
        level: the confidence level.
    """

    method: str
    baseline: str
    mean: float
    low: float
    high: float
    p: float
    seeds: tuple[int, ...]
    examples: int
    level: float = 0.95

    @property
    def real(self) -> bool:
        """Whether the difference is unlikely to be chance: p is at most 1 - ``level``."""
        return self.p <= 1.0 - self.level + 1e-12

    @property
    def over(self) -> str:
        """What the interval covers: other "seeds and examples", "seeds", "examples" or nothing."""
        if math.isnan(self.low):
            return ""
        names = [name for name, count in self._counts if count > 1]
        return " and ".join(names)

    @property
    def _counts(self) -> list[tuple[str, int]]:
        return [("seeds", len(self.seeds)), ("examples", self.examples)]


def differences(
    scores: Mapping[str, Scores], baseline: str, *, level: float = 0.95
) -> dict[str, Difference]:
    """The differences of all methods to the baseline, by name, corrected for their number.

    p-values are Holm's. The interval of a method has the level at which Holm's procedure judges it,
    so that it excludes 0 exactly where the difference is real; it is never narrower than ``level``.

    Args:
        scores: for each method, by seed, the score of each example, higher is better; or one
            number where only a metric of all examples is known. Seeds are paired: those that only
            one of two methods has are left out, and so are examples whose score is NaN under any
            seed, and seeds whose scores are all NaN.
        baseline: the method to compare with.
        level: confidence level.

    >>> scores = {"a": {0: [0, 1, 0, 0], 1: [0, 1, 0, 1]}, "b": {0: [1, 1, 1, 0], 1: [1, 1, 1, 1]}}
    >>> found = differences(scores, "a")["b"]
    >>> found.mean, found.real, found.over
    (0.5, False, 'seeds and examples')
    """
    if baseline not in scores:
        raise unknown("baseline", baseline, scores)
    if not 0.0 < level < 1.0:
        raise SettingError(f"level must be a number between 0 and 1, got {level!r}")
    names = [name for name in scores if name != baseline]
    found = [_paired(name, scores[name], baseline, scores[baseline]) for name in names]
    alphas, p_values = _holm([_p(one.spread, one.mean) for one in found], 1.0 - level)
    return {
        one.method: one.difference(alpha, p, level)
        for one, alpha, p in zip(found, alphas, p_values, strict=True)
    }


def ratio_scores(numerators: ArrayLike, denominators: ArrayLike) -> np.ndarray:
    """Scores of examples whose mean is the ratio of two sums, R = Σ n_i / Σ d_i.

    For metrics that are no means over examples: micro-F1 and span-F1 have n = 2 tp and d =
    predicted + true. To first order example i contributes R + (n_i - R d_i) / mean(d).

    >>> ratio_scores([2, 0], [2, 2]).tolist()
    [1.0, 0.0]
    """
    top, bottom = (np.asarray(values, dtype=float) for values in (numerators, denominators))
    if top.shape != bottom.shape or top.ndim != 1:
        raise DataError(f"shapes must match and be (n,), got {top.shape} and {bottom.shape}")
    if not bottom.sum() > 0:
        raise DataError("the denominators must have a sum above 0")
    ratio = top.sum() / bottom.sum()
    contributions: np.ndarray = ratio + (top - ratio * bottom) / bottom.mean()
    return contributions


#: Standard errors of a mean difference, each with its degrees of freedom.
_Spread = list[tuple[float, float]]


@dataclass(frozen=True)
class _Paired:
    """What the scores of two methods give before any correction."""

    method: str
    baseline: str
    mean: float
    spread: _Spread
    seeds: tuple[int, ...]
    examples: int

    def difference(self, alpha: float, p: float, level: float) -> Difference:
        half = math.nan if math.isnan(p) else _half_width(self.spread, alpha)
        ends = self.mean - half, self.mean + half
        return Difference(
            self.method, self.baseline, self.mean, *ends, p, self.seeds, self.examples, level
        )


def _paired(method: str, own: Scores, baseline: str, other: Scores) -> _Paired:
    seeds = [seed for seed in own if seed in other]
    nothing = _Paired(method, baseline, math.nan, [], (), 0)
    if not seeds:
        return nothing
    rows = [_row(method, s, own[s]) - _row(baseline, s, other[s], own[s]) for s in seeds]
    if len({len(row) for row in rows}) > 1:
        raise DataError(f"{method} has different numbers of examples under its seeds")
    d = np.stack(rows)
    kept = ~np.isnan(d).all(axis=1)
    d, seeds = d[kept], [seed for seed, keep in zip(seeds, kept, strict=True) if keep]
    d = d[:, ~np.isnan(d).any(axis=0)]
    if not d.size:
        return nothing
    return _Paired(method, baseline, float(d.mean()), _spread(d), tuple(seeds), d.shape[1])


def _row(name: str, seed: int, scores: ArrayLike, like: ArrayLike | None = None) -> np.ndarray:
    """The scores of one run, ``(n,)``, checked."""
    row = np.atleast_1d(np.asarray(scores, dtype=float))
    if row.ndim != 1 or not row.size or np.isinf(row).any():
        expected = "expected one finite number, or NaN, for each example"
        raise DataError(f"scores of {name}, seed {seed}: {expected}, got shape {row.shape}")
    if like is not None and row.shape != np.atleast_1d(np.asarray(like)).shape:
        counts = f"{np.atleast_1d(np.asarray(like)).size} and {row.size}"
        raise DataError(f"example counts must match under seed {seed}, got {counts}")
    return row


def _spread(d: np.ndarray) -> _Spread:
    """Standard errors of the mean of differences ``(S, N)`` and their degrees of freedom."""
    S, N = d.shape
    by_seed, by_example, mean = d.mean(axis=1), d.mean(axis=0), d.mean()
    tiny = 1e-24 * float(np.square(d).mean())  # what is left of rounding
    seeds = N * by_seed.var(ddof=1) if S > 1 else 0.0
    examples = S * by_example.var(ddof=1) if N > 1 else 0.0
    squares = [(seeds, S - 1.0), (examples, N - 1.0)]
    if S > 1 and N > 1:
        rest = np.square(d - by_seed[:, None] - by_example + mean).sum() / ((S - 1) * (N - 1))
        total = seeds + examples - rest
        shares = seeds**2 / (S - 1) + examples**2 / (N - 1) + rest**2 / ((S - 1) * (N - 1))
        if total > 0:
            squares.append((total, total**2 / shares))
    found = [(value, freedom) for value, freedom in squares if freedom > 0]
    return [(math.sqrt(v / (S * N)) if v > tiny else 0.0, freedom) for v, freedom in found]


def _p(spread: _Spread, mean: float) -> float:
    """The largest of the p-values; NaN where nothing varies that could be judged by."""
    from scipy.special import stdtr

    errors = [(error, freedom) for error, freedom in spread if error > 0]
    if not errors:
        return 1.0 if spread and mean == 0 else math.nan
    return max(float(2 * stdtr(freedom, -abs(mean) / error)) for error, freedom in errors)


def _half_width(spread: _Spread, alpha: float) -> float:
    """Half the width of the widest interval."""
    from scipy.special import stdtrit

    errors = [(error, freedom) for error, freedom in spread if error > 0]
    widths = [-float(stdtrit(freedom, alpha / 2)) * error for error, freedom in errors]
    return max(widths, default=0.0)


def _holm(p_values: Sequence[float], alpha: float) -> tuple[list[float], list[float]]:
    """Holm's level for each test, and its adjusted p-values; NaN is no test.

    From the smallest p-value on, the k-th of m is judged at alpha / (m - k + 1), until one is not
    rejected; the rest keep the level of that one.
    """
    order = sorted((p, index) for index, p in enumerate(p_values) if not math.isnan(p))
    levels, adjusted = [alpha] * len(p_values), [math.nan] * len(p_values)
    level, largest = alpha, 0.0
    for rank, (p, index) in enumerate(order):
        left = len(order) - rank
        if largest <= alpha:  # all before were rejected
            level = alpha / left
        largest = max(largest, min(1.0, p * left))
        levels[index], adjusted[index] = level, largest
    return levels, adjusted
