"""Estimators that decide for a metric: the usual rule, or a better one on validation data."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from lossnet.checks import check_choice, check_int, describe
from lossnet.errors import SettingError
from lossnet.method import Method
from lossnet.proposals import GBI, Proposal
from lossnet.tasks.contract import TaskEstimator
from lossnet.tasks.decision import FOLDS, Decision, Statistics, choose, folds_of
from lossnet.tasks.method_checks import refinement

#: Rules of decision besides the task's usual one, and what they need.
RULES = {
    "expected": "probabilities of a task-net and a metric that it has a best output for, as F1",
    "samples": "a loss-net that gives probabilities and a metric of single examples",
    "mode": "a loss-net that gives probabilities and a metric of single examples",
    "known": "exact match of label sets as the metric",
}


class DecidingEstimator(TaskEstimator):
    """How outputs become predictions; a task says which rules it has besides its usual one."""

    #: The rule that decides position by position.
    usual_rule: ClassVar[str] = "argmax"
    #: What rules need of the task, for errors, where it is not what RULES says.
    rule_needs: ClassVar[Mapping[str, str]] = RULES
    decision_: Decision

    # The task --------------------------------------------------------------------------------

    def _discrete(self, outputs: Any) -> Any:
        """What the usual rule decides on outputs."""
        return outputs

    def _decode(self, discrete: Any) -> Any:
        """Predictions as users have them, from what a rule decided."""
        return discrete

    def _rules_for(self, method: Method, *, named: bool) -> list[str]:
        """Rules besides the usual one that suit the metric and the method.

        With ``named`` all that can serve them, also where they cost much or suit less.
        """
        return []

    def _how_chosen(self) -> str:
        """In words, how one of several rules is chosen."""
        return "the first, unless another is better on validation data by more than chance"

    def _trials_of(self, rule: str) -> list[Decision]:
        """What to try of a rule on validation data; the last one serves where there is none."""
        return [Decision(rule)]

    def _decide(self, decision: Decision, data: Any) -> Any:
        """What another rule than the usual one decides, in the form of :meth:`_discrete`."""
        raise NotImplementedError

    def _effective_samples(self, decision: Decision, data: Any) -> float | None:
        """Mean effective sample size of a decision by samples; None where none are drawn."""
        return None

    def _usual_by_folds(self, data: Any, folds: np.ndarray) -> Any:
        """What the usual rule decides for each fold, its settings chosen on the other folds."""
        return self._decided(Decision(self.usual_rule), data)

    def _statistics(self, data: Any, discrete: Any) -> Statistics:
        """What the metric is made of, for each row of decisions: ``(n, k)``."""
        raise NotImplementedError

    def _metric_of(self, means: np.ndarray) -> float:
        """The metric of the statistics' means ``(k,)``."""
        return float(means[0])

    # The choice ------------------------------------------------------------------------------

    def _check_settings(self) -> Method:
        method = super()._check_settings()
        check_int("decode_samples", self.decode_samples)
        self._check_decode(method)
        return method

    def _check_decode(self, method: Method) -> None:
        """Raise unless ``decode`` names a rule that the metric and the method allow."""
        check_choice("decode", self.decode, ("auto", self.usual_rule, *RULES))
        allowed = "auto", self.usual_rule, *self._rules_for(method, named=True)
        if self.decode not in allowed:
            needs = f"decode={self.decode!r} needs {(RULES | dict(self.rule_needs))[self.decode]}"
            what = f"{method.name!r} with metric {self._metric_name()!r}"
            raise SettingError(f"{needs}; {what} allows {', '.join(map(repr, allowed))}")
        if self.refine is not None and self.decode not in allowed[:2]:
            what = f"decode={self.decode!r} and refine={self.refine!r} both find better outputs"
            raise SettingError(f"{what}; leave one of them out")

    def _proposal(self) -> Proposal:
        """What predicts: the method's own proposal, or the refinement asked for."""
        proposal = refinement(self.refine, self.method_, self.nets_) or self.method_.predict
        # Steps that were chosen for another refinement mean nothing for this one.
        steps = self.refine_steps_ if self.refined_as_ == describe(self.refine) else None
        if steps is not None and isinstance(proposal, GBI):
            return replace(proposal, steps=steps)
        return proposal

    def _decision(self) -> Decision:
        """What predicts: the decision that was chosen, unless parameters name another."""
        self._check_decode(self.method_)
        if self.refine is not None or self.decode == self.usual_rule:
            return Decision(self.usual_rule)
        if self.decode == "auto":
            # One that was chosen for another metric, or before a threshold was given, is of no use.
            suits = self.usual_rule, *self._rules_for(self.method_, named=False)
            return self.decision_ if self.decision_.rule in suits else Decision(self.usual_rule)
        if self.decode == self.decision_.rule:
            return self.decision_
        return self._trials_of(self.decode)[-1]

    def _decided(self, decision: Decision, data: Any) -> Any:
        """What a rule decides, the usual one or another."""
        if decision.rule == self.usual_rule:
            return self._discrete(self._outputs(self._proposal(), data))
        self._check_kept(decision)
        return self._decide(decision, data)

    def _check_kept(self, decision: Decision) -> None:
        """Raise where a rule needs the loss-net and it was not kept."""
        if decision.weight and "energy" not in self.nets_:
            what = f"decode={decision.rule!r} needs the loss-net, which was not kept"
            raise SettingError(f"{what}; save with keep_energy=True, or use {self.usual_rule!r}")

    def _decided_score(self, data: Any) -> float:
        """The metric of predictions as users get them."""
        decision = self._decision()
        if decision.rule == self.usual_rule:
            return self._measure(data, self._outputs(self._proposal(), data))
        return self._metric_of(self._statistics(data, self._decided(decision, data)).mean(0))

    def _once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What ``make`` gives; while rules are tried on validation data, computed once per key."""
        kept = self.__dict__.get("_tried_outputs")
        if kept is None:
            return make()
        if key not in kept:
            kept[key] = make()
        return kept[key]

    def _choose_decision(self, data: Any) -> None:
        """Set ``decision_``: the rule of highest metric on this data (or None), as allowed."""
        self._check_decode(self.method_)
        usual, named = Decision(self.usual_rule), self.decode != "auto"
        rules = [self.decode] if named else self._rules_for(self.method_, named=False)
        trials = [t for rule in rules if rule != usual.rule for t in self._trials_of(rule)]
        few = data is None or len(data) < FOLDS
        if self.refine is not None or not trials or (few and not named):
            self.decision_ = usual
        elif few:
            self.decision_ = trials[-1]
        else:
            self._tried_outputs: dict[Hashable, Any] = {}
            try:
                self.decision_ = self._best_of(usual, trials, data, insist=named)
            finally:
                del self._tried_outputs

    def _best_of(
        self, usual: Decision, trials: Sequence[Decision], data: Any, *, insist: bool
    ) -> Decision:
        """The decision that :func:`choose` finds on validation data."""
        before = self._usual_by_folds(data, folds_of(len(data)))
        found = choose(
            usual,
            self._statistics(data, before),
            trials,
            lambda trial: self._statistics(data, self._decided(trial, data)),
            self._metric_of,
            insist=insist,
        )
        return replace(found, ess=self._effective_samples(found, data))
