"""How outputs become predictions: the rule, and the choice between rules on validation data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

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


@dataclass(frozen=True)
class Decision:
    """A rule that turns what the nets give into predictions, and what was measured of it.

    Attributes:
        rule: ``"threshold"`` or ``"argmax"``, position by position; ``"expected"``, the output of
            the highest expected metric if positions are independent; ``"samples"``, of the highest
            expected metric over weighted samples of the joint; ``"mode"``, the most probable
            output of the joint.
        temperature: divides the task-net's logits (``"expected"``).
        samples: number of samples (``"samples"`` and ``"mode"``).
        weight: what the loss-net counts against the task-net (``"samples"`` and ``"mode"``).
        offset: what every label that is on adds to the log joint (``"mode"``).
        tried: the metric on validation data of the usual rule and of every other that was tried.
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
            "expected": f" (temperature {self.temperature:g})",
            "samples": f" ({self.samples} samples, loss-net weight {self.weight:g})",
            "mode": f" (loss-net weight {self.weight:g})",
        }
        why = [f"{rule} {100 * value:.1f}" for rule, value in self.tried.items()]
        if len(why) < 2 or self.error is None:
            return f"{self.rule}{settings.get(self.rule, '')}"
        why[-1] += f" (standard error of the difference {100 * self.error:.1f})"
        if self.ess is not None and self.ess < FEW:
            why.append(f"only {self.ess:.1f} samples count on average")
        return f"{self.rule}{settings.get(self.rule, '')}: on validation data {', '.join(why)}"

    def to_json(self) -> dict[str, Any]:
        """For a model folder."""
        return {**asdict(self), "tried": dict(self.tried)}

    @classmethod
    def from_json(cls, facts: Any) -> Self:
        """What :meth:`to_json` gave, checked."""
        check_form(facts, _FORM, CONFIG)
        return cls(**{name: facts[name] for name in _FORM})


def choose(
    usual: Decision,
    others: Iterable[Decision],
    predictions: Callable[[Decision], Any],
    metric: Callable[[Any], float],
    difference: Callable[[Any, Any], tuple[float, float]],
    *,
    insist: bool = False,
) -> Decision:
    """The best of ``others`` on validation data where its gain exceeds its standard error.

    Args:
        usual: the decision to keep otherwise.
        others: decisions to try.
        predictions: what a decision predicts.
        metric: the metric of predictions.
        difference: how much the metric of second predictions exceeds that of first ones, and the
            standard error of that.
        insist: take the best of ``others`` whatever it gains.
    """
    before = predictions(usual)
    tried = {usual.rule: metric(before)}
    best, after, value = usual, before, -np.inf
    for decision in others:
        found = predictions(decision)
        own = metric(found)
        tried[decision.rule] = max(tried.get(decision.rule, own), own)
        if own > value:
            best, after, value = decision, found, own
    gain, error = difference(before, after)
    chosen = best if insist or gain > error else usual
    return replace(chosen, tried=tried, error=error)


def paired_difference(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Mean difference of two metrics of each row, and its standard error."""
    gain = np.asarray(after, dtype=np.float64) - np.asarray(before, dtype=np.float64)
    spread = gain.std(ddof=1) if len(gain) > 1 else np.inf
    return float(gain.mean()), float(spread / np.sqrt(len(gain)))


def bootstrap_difference(
    metric: Callable[[np.ndarray, Any], float], rows: int, before: Any, after: Any, draws: int = 100
) -> tuple[float, float]:
    """The same of a metric of all rows together: ``metric(rows drawn, predictions)``."""
    every = np.arange(rows)
    gain = metric(every, after) - metric(every, before)
    rng = np.random.default_rng(0)
    drawn = (rng.integers(0, rows, rows) for _ in range(draws))
    gains = [metric(some, after) - metric(some, before) for some in drawn]
    return float(gain), float(np.std(gains, ddof=1))
