"""How outputs become predictions: the rule, and the choice between rules on validation data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from lossnet.errors import DataError
from lossnet.files import check_form
from lossnet.tasks.model_folder import CONFIG

#: Below this effective sample size a decision by samples is doubtful.
FEW = 5.0
_FORM: dict[str, Any] = {
    "rule": str,
    "temperature": float,
    "samples": int,
    "weight": float,
    "offset": float,
}
_FORM |= {"tried": {str: float}, "error": (None, float), "ess": (None, float)}


#: Settings to try where probabilities are tempered; the last serves without validation data.
TEMPERATURES = (0.5, 0.65, 0.8, 1.25, 1.6, 2.0, 3.0, 1.0)
OFFSETS = (-0.5, 0.5, 0.0)


@dataclass(frozen=True)
class Decision:
    """A rule that turns what the nets give into predictions, and what was measured of it.

    Attributes:
        rule: ``"threshold"`` or ``"argmax"``, position by position; ``"expected"``, the output of
            the highest expected metric if positions are independent; ``"samples"``, of the highest
            expected metric over weighted samples of the joint; ``"mode"``, the most probable
            output of the joint; ``"known"``, the most probable of the label sets that training
            rows have.
        temperature: divides the task-net's logits (``"expected"``).
        samples: number of samples (``"samples"`` and ``"mode"``).
        weight: what the loss-net counts against the task-net (``"samples"``, ``"mode"`` and
            ``"known"``).
        offset: what every label that is on adds to the log joint (``"mode"``, ``"known"``), or to
            its logit (``"expected"``).
        tried: the metric on rows held out, of the usual rule and of every other that was tried,
            the settings of each chosen on other rows.
        error: standard error of the difference between the best other rule and the usual one.
        ess: mean effective sample size on validation data, where samples are drawn.
    """

    rule: str
    temperature: float = 1.0
    samples: int = 0
    weight: float = 0.0
    offset: float = 0.0
    tried: Mapping[str, float] = field(default_factory=dict)
    error: float | None = None
    ess: float | None = None

    @property
    def words(self) -> str:
        """The rule, its settings, and why it was chosen."""
        settings = {
            "expected": f" (temperature {self.temperature:g}, offset {self.offset:.2g})",
            "samples": f" ({self.samples or 'no'} samples, energy weight {self.weight:g})",
            "mode": f" (energy weight {self.weight:g}, offset {self.offset:g})",
            "known": f" (energy weight {self.weight:g}, offset {self.offset:g})",
        }
        why = [f"{rule} {100 * value:.1f}" for rule, value in self.tried.items()]
        if len(why) < 2 or self.error is None:
            return f"{self.rule}{settings.get(self.rule, '')}"
        usual, *others = self.tried
        best = max(others, key=lambda rule: self.tried[rule])
        why.append(f"standard error of {best} against {usual} {100 * self.error:.1f}")
        if self.ess is not None and self.ess < FEW:
            why.append(f"only {self.ess:.1f} samples count on average")
        return f"{self.rule}{settings.get(self.rule, '')}: on rows held out {', '.join(why)}"

    def to_json(self) -> dict[str, Any]:
        """For a model folder."""
        return {**asdict(self), "tried": dict(self.tried)}

    @classmethod
    def from_json(cls, facts: Any) -> Self:
        """What :meth:`to_json` gave, checked."""
        check_form(facts, _FORM, CONFIG)
        return cls(**{name: facts[name] for name in _FORM})


def tempered_trials(rule: str) -> list[Decision]:
    """A rule with every temperature and offset."""
    pairs = itertools.product(OFFSETS, TEMPERATURES)
    return [Decision(rule, temperature=t, offset=offset) for offset, t in pairs]


#: Parts that validation rows are divided into: a rule's settings are chosen on all but one, and it
#: is judged on that one.
FOLDS = 5

#: Sums over rows that a metric is made of, ``(n, k)``: the metric itself of each row, or counts.
Statistics = np.ndarray[Any, Any]


def folds_of(rows: int) -> np.ndarray:
    """The fold of each row, ``(n,)``."""
    return np.random.default_rng(0).permutation(np.arange(rows) % FOLDS)


def choose(
    usual: Decision,
    usual_statistics: Statistics,
    trials: Sequence[Decision],
    statistics: Callable[[Decision], Statistics],
    metric: Callable[[np.ndarray], float],
    *,
    insist: bool = False,
    errors: float = 1.0,
) -> Decision:
    """The best rule among ``trials`` where its gain on validation rows exceeds its standard error.

    Settings are chosen on other rows than those that a rule is judged by, as a threshold tuned on
    the rows at hand would look better than it is.

    Args:
        usual: the decision to keep otherwise.
        usual_statistics: what it gives for each row, its settings chosen on other folds.
        trials: decisions to try, several of a rule.
        statistics: what a decision gives for each row.
        metric: the metric of the statistics' means ``(k,)``.
        insist: take the best of ``trials`` whatever it gains.
        errors: number of standard errors that a gain must exceed.
    """
    folds = folds_of(len(usual_statistics))
    judged, best = {usual.rule: usual_statistics}, {usual.rule: usual}
    for rule in dict.fromkeys(trial.rule for trial in trials):
        own = [trial for trial in trials if trial.rule == rule]
        found = np.stack([statistics(trial) for trial in own])
        judged[rule] = found[0].copy()
        for fold in np.unique(folds):
            chosen = found[_best(found[:, folds != fold], metric)]
            judged[rule][folds == fold] = chosen[folds == fold]
        best[rule] = own[_best(found, metric)]
    tried = {rule: metric(values.mean(0)) for rule, values in judged.items()}
    for rule, value in tried.items():
        if not np.isfinite(value):
            what = f"the metric is {value} on validation data decided by {rule!r}"
            raise DataError(f"{what}; give data that it is defined on, or use another metric")
    others = [rule for rule in tried if rule != usual.rule]
    winner = max(others, key=lambda rule: tried[rule], default=usual.rule)
    gain, error = difference(judged[usual.rule], judged[winner], metric)
    decision = best[winner] if insist or gain > errors * error + 1e-9 else usual
    return replace(decision, tried=tried, error=error)


def _best(found: Statistics, metric: Callable[[np.ndarray], float]) -> int:
    """The number of the trial ``(trials, n, k)`` of highest metric."""
    return int(np.argmax([metric(values.mean(0)) for values in found]))


def difference(
    before: Statistics, after: Statistics, metric: Callable[[np.ndarray], float]
) -> tuple[float, float]:
    """How much the metric of ``after`` exceeds that of ``before``, and its standard error.

    By the jackknife, which for a mean over rows is the standard error of paired differences.
    """
    rows, both = len(before), (before, after)
    first, second = (metric(values.mean(0)) for values in both)
    if rows < 2:
        return second - first, float("inf")
    left = [(values.sum(0) - values) / (rows - 1) for values in both]
    gains = np.array([metric(b) - metric(a) for a, b in zip(*left, strict=True)])
    spread = (rows - 1) / rows * np.square(gains - gains.mean()).sum()
    return second - first, float(np.sqrt(spread))
