"""Decisions of :class:`~lossnet.MultiLabelClassifier`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch

from lossnet.constraints import Bound
from lossnet.contrasts.meaning import Meaning
from lossnet.decisions import temper
from lossnet.method import Method
from lossnet.spaces import Binary
from lossnet.tasks.decision import Decision, choose, folds_of
from lossnet.tasks.estimator import StructuredEstimator
from lossnet.tasks.multilabel import decisions, thresholds
from lossnet.tasks.multilabel.arrays import with_unseen
from lossnet.tasks.multilabel.constrained import decide
from lossnet.tasks.multilabel.metrics import get_metric
from lossnet.tasks.multilabel.targets import Labels, check_known
from lossnet.tasks.multilabel.thresholds import choose_threshold
from lossnet.training.predict import Output, over_batches

#: Rows that settings of a rule which takes its time are chosen on, if there are more.
_MOST_ROWS = 2000
#: Labels beyond which only a rule that is asked for is tried instead of a threshold.
_MANY_LABELS = 5000


class LabelDecisions(StructuredEstimator):
    """The rules that label sets are decided by."""

    usual_rule = "threshold"
    threshold_: Any
    labels_: Labels
    n_labels_: int
    constraints_: Bound
    best_metric_: float | None
    label_sets_: np.ndarray
    #: Truth and outputs of the training rows, by nets that left them out; kept while fitting.
    _out_of_fold: tuple[np.ndarray, np.ndarray] | None = None

    def _discrete(self, outputs: np.ndarray) -> np.ndarray:
        """0/1 labels ``(n, L)`` at ``threshold_``: the nearest that keep to the constraints."""
        return decide(self.constraints_, outputs, self._raw(self.threshold_))

    def _decode(self, discrete: np.ndarray) -> np.ndarray:
        """0/1 labels ``(n, L)``; classes of a 1-D y."""
        return self.labels_.decode(discrete)

    def _rules_for(self, method: Method, *, named: bool) -> list[str]:
        if not method.task_net_predicts:
            return []  # what a descent gives are no probabilities
        if not named and not isinstance(self.threshold, str):
            return []  # a threshold was asked for
        if not named and getattr(self, "n_labels_", 0) > _MANY_LABELS:
            return []  # the others sort the labels of every row, or score thousands of sets
        meaning = self._meaning(method, named=named)
        found = decisions.rules(get_metric(self.metric), meaning, named=named)
        seen = len(getattr(self, "label_sets_", [0]))  # none where labels of every row are unknown
        return [rule for rule in found if rule != "known" or seen]

    def _meaning(self, method: Method, *, named: bool = False) -> Meaning | None:
        """What energies mean that label sets can be decided by, None where there are none.

        With ``named`` also those of a loss-net that was not kept.
        """
        kept = method.nets if named else getattr(self, "nets_", method.nets)
        return method.meaning if "energy" in kept else None

    def _trials_of(self, rule: str) -> list[Decision]:
        meaning = self._meaning(self.method_)
        joint = meaning is not None and meaning.joint is not None
        return decisions.trials(rule, int(self.decode_samples), joint=joint)

    def _decide(self, decision: Decision, data: Any) -> np.ndarray:
        metric = get_metric(self.metric)
        if decision.rule == "expected":
            proba = self._once("outputs", lambda: self._outputs(self._proposal(), data))
            found = decisions.expected(metric, proba, decision, self.constraints_)
            return found.astype(np.uint8)
        sets = self.label_sets_[self.constraints_.allows(self.label_sets_)]
        given = decision, metric, self.method_.meaning, sets, self.constraints_
        return self._by_joint(decisions.decider(*given), data).astype(np.uint8)

    def _by_joint(self, output: Output, data: Any) -> np.ndarray:
        nets = self.nets_
        source = self._once("source", lambda: self._source(data.without_labels()))
        found = over_batches(output, nets, Binary(), source, 256, precision=self.precision)
        return found.cpu().numpy()

    def _effective_samples(self, decision: Decision, data: Any) -> float | None:
        if not decision.samples:
            return None
        measure = decisions.effective_samples(decision, self.method_.meaning)
        found = float(self._by_joint(measure, data).mean())
        return found if np.isfinite(found) else None

    def _usual_by_folds(self, data: Any, folds: np.ndarray) -> np.ndarray:
        outputs = self._once("outputs", lambda: self._outputs(self._proposal(), data))
        proba = with_unseen(self._calibrated(outputs), data.n_labels)
        return self._cut_by_folds(data.Y, proba, outputs, folds)

    def _cut_by_folds(
        self, Y: np.ndarray, proba: np.ndarray, outputs: np.ndarray, folds: np.ndarray
    ) -> np.ndarray:
        """Labels ``(n, L)`` of each fold at a threshold that is tuned on the others."""
        metric, found = get_metric(self.metric), np.zeros(outputs.shape, dtype=np.uint8)
        for fold in np.unique(folds):
            here, others = folds == fold, folds != fold
            cut = choose_threshold(self.threshold, metric, Y[others], proba[others])
            own = cut if isinstance(cut, float) else cut[: self.n_labels_]
            found[here] = decide(self.constraints_, outputs[here], self._raw(own))
        return found

    def _statistics(self, data: Any, discrete: np.ndarray) -> np.ndarray:
        Y, P = data.Y, with_unseen(discrete, data.n_labels)
        return get_metric(self.metric).of_rows(Y, P)[:, None]

    def _split(self, data: Any, given: Any, seed: int) -> tuple[Any, Any, Any]:
        rest, held, rows = super()._split(data, given, seed)
        check_known(rest)
        self.label_sets_ = decisions.common_sets(rest.complete[:, : self.n_labels_])
        return rest, held, rows

    def _known_rows(self, data: Any, *, every: bool = False) -> np.ndarray | None:
        known = data.known
        return None if known is None else known.all(axis=1) if every else known.any(axis=1)

    # Rows that the nets never saw --------------------------------------------------------------

    def _with_out_of_fold(self, Y: np.ndarray, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Truth and probabilities ``(n, L)`` of rows, and while fitting of the training rows too.

        Each of these is as the nets that left it out say. The loss-net has seen it all the same, so
        that only what it has no say in can be chosen there.
        """
        if self._out_of_fold is None:
            return Y, proba
        truth, outputs = (with_unseen(one, Y.shape[1]) for one in self._out_of_fold)
        return np.concatenate([Y, truth]), np.concatenate([proba, outputs])

    def _choose_decision(self, data: Any) -> None:
        try:
            super()._choose_decision(data)
        finally:
            self.__dict__.pop("_out_of_fold", None)

    def _best_of(
        self, usual: Decision, trials: Sequence[Decision], data: Any, *, insist: bool
    ) -> Decision:
        """The best decision: what needs probabilities alone is chosen on training rows too."""
        free = [trial for trial in trials if trial.rule == "expected"]
        if self._out_of_fold is None or not free:
            return super()._best_of(usual, trials, data, insist=insist)
        outputs = self._once("outputs", lambda: self._outputs(self._proposal(), data))
        Y, proba = self._with_out_of_fold(data.Y, with_unseen(outputs, data.n_labels))
        if len(Y) > _MOST_ROWS:
            some = np.random.default_rng(0).choice(len(Y), _MOST_ROWS, replace=False)
            Y, proba = Y[some], proba[some]
        metric, own = get_metric(self.metric), proba[:, : self.n_labels_]

        def statistics(found: np.ndarray) -> np.ndarray:
            return metric.of_rows(Y, with_unseen(found, Y.shape[1]))[:, None]

        before = self._cut_by_folds(Y, proba, own, folds_of(len(Y)))
        tried = lambda t: statistics(decisions.expected(metric, own, t, self.constraints_))  # noqa: E731
        # Of so many rows a gain is taken as it is.
        given = usual, statistics(before), free, tried, self._metric_of
        first = choose(*given, insist=insist, errors=0.0)
        rest = [trial for trial in trials if trial.rule != "expected"]
        if not rest:
            return first
        rest += [first] if first.rule != usual.rule else []
        found = choose(
            usual,
            self._statistics(data, self._decided(usual, data)),
            rest,
            lambda trial: self._statistics(data, self._decided(trial, data)),
            self._metric_of,
        )
        found = found if found.rule not in (usual.rule, first.rule) else first
        return replace(found, ess=self._effective_samples(found, data))

    # Thresholds ------------------------------------------------------------------------------

    def _measure(self, data: Any, outputs: Any) -> float:
        """The metric at the threshold a user would get."""
        proba = with_unseen(self._calibrated(outputs), data.n_labels)
        metric = get_metric(self.metric)
        return thresholds.validation_metric(self.threshold, metric, data.Y, proba)

    def _choose_threshold(self, data: Any) -> None:
        metric, outputs = get_metric(self.metric), self._outputs(self._proposal(), data)
        proba = with_unseen(self._calibrated(outputs), data.n_labels)
        known = self._with_out_of_fold(data.Y, proba)
        found = thresholds.choose_threshold(self.threshold, metric, *known)
        self.threshold_ = found if isinstance(found, float) else found[: self.n_labels_]
        decided = with_unseen(self._discrete(outputs), data.n_labels)
        self.best_metric_ = float(metric(data.Y, decided if metric.needs == "labels" else proba))

    def _raw(self, threshold: Any) -> Any:
        """A threshold of :meth:`predict_proba` as one of the nets' own outputs."""
        return threshold if self.temperature_ is None else _moved(threshold, 1 / self.temperature_)

    def _rescale(self, ratio: float) -> None:
        if isinstance(self.threshold, str):  # a number that was given is one of probabilities
            self.threshold_ = _moved(self.threshold_, ratio)

    def _with_truth(self, data: Any) -> tuple[torch.Tensor, ...]:
        outputs = torch.as_tensor(self._outputs(self._proposal(), data))
        truth, own = torch.as_tensor(data.on[:, : self.n_labels_].astype(np.uint8)), data.known
        if own is None:
            return outputs, truth
        return outputs, truth, torch.as_tensor(own[:, : self.n_labels_])

    def tune_refinement(self, X: Any, y: Any = None, *, most: int = 30) -> Self:
        """Choose the number of descent steps, 0 to ``most``, and the threshold.

        For methods that predict by descending on the energy, or with ``refine``. ``refine_steps_``
        is the smallest number of steps with the best metric on this data; the threshold is tuned
        for each number of steps.
        """
        thresholds.check_threshold(self.threshold)
        return super().tune_refinement(X, y, most=most).tune_threshold(X, y)

    def tune_threshold(self, X: Any, Y: Any = None) -> Self:
        """Tune ``threshold_``, and ``decision_``, again on other data.

        For example after setting ``refine`` or another ``metric``. ``threshold``, ``decode`` and
        ``metric`` determine how; the nets do not change.
        """
        thresholds.check_threshold(self.threshold)
        data = self._scored((X, Y))
        thresholds.check_metric(get_metric(self.metric), data.Y)
        self._choose_threshold(data)
        self._choose_decision(data)
        return self


def _moved(threshold: Any, temperature: float) -> Any:
    """Thresholds, a number or an array, of probabilities that are tempered."""
    found = temper(torch.as_tensor(threshold, dtype=torch.float64), temperature).numpy()
    return found if found.ndim else float(found)
