"""Decisions of :class:`~lossnet.SequenceTagger` and of estimators that build on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import eq
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.decisions import minimum_risk, of_rows
from lossnet.decisions.risk import Utility
from lossnet.energies import ChainEnergy
from lossnet.exporting import Exported
from lossnet.exporting.runtime.chains import choose_spans
from lossnet.method import Method
from lossnet.spaces import Categorical
from lossnet.tasks.decision import Decision
from lossnet.tasks.estimator import StructuredEstimator
from lossnet.tasks.sequence.bracket_metrics import bracket_scores
from lossnet.tasks.sequence.decisions import TagJoint, trials
from lossnet.tasks.sequence.decoding import TagRules, decoder
from lossnet.tasks.sequence.exported_tags import exported
from lossnet.tasks.sequence.span_metrics import span_scores, token_accuracy
from lossnet.tasks.sequence.tags import BRACKETS, from_spans, span_scheme
from lossnet.tasks.sequence.trees import trees_of
from lossnet.training.predict import Output, best_output, each_batch

#: Metrics that count spans of all sentences together.
SPAN_METRICS = ("span-f1", "strict-span-f1", "role-f1")
#: Sentences at a time where samples are weighed.
_BATCH = 64
#: The most samples that are compared with each other by a metric of Python's.
_COMPARED = 20


class TagDecisions(StructuredEstimator):
    """The rules that tags are decided by."""

    rule_needs: ClassVar[Mapping[str, str]] = {
        "expected": "a metric of spans, IOB2 or BIOES tags with follow_scheme=True, and a method "
        "that predicts with the task-net alone",
        "samples": "a task-net that predicts and a loss-net that gives probabilities",
        "mode": "a task-net that predicts and a loss-net that gives probabilities",
    }
    #: The type of a span that every sentence has and that is given, if there is one.
    given_span: ClassVar[str | None] = None
    exports_exact = True
    tags_: list[str]
    scheme_: str
    follow_scheme: bool

    # The task --------------------------------------------------------------------------------

    def _rules(self) -> TagRules | None:
        """What the scheme allows, None where it has no rules or they are not to be followed."""
        raise NotImplementedError

    def _decoder(self, output: Output) -> Output:
        """The function that gives the usual rule's tags ``(B, T)`` of relaxed outputs."""
        return decoder(output, self._rules())

    def _never(self, context: Context) -> Tensor | None:
        """Tags that cannot be, ``(B, T, C)`` bool."""
        return None

    def _each(
        self, function: Callable[[Context], Tensor], data: Any, source: Any = None
    ) -> list[np.ndarray]:
        raise NotImplementedError

    def _exported(self) -> Exported:
        return exported(self)

    # Rules -----------------------------------------------------------------------------------

    def _rules_for(self, method: Method, *, named: bool) -> list[str]:
        if not method.task_net_predicts:
            return []
        metric, meaning = self._metric_name(), method.meaning
        joint = "energy" in method.nets and meaning.joint is not None
        by_spans = metric in SPAN_METRICS and self._takes_spans
        found = ["expected"] if by_spans else []
        # Comparing samples with each other takes long: only where it is asked for.
        if joint and (named or by_spans or metric == "accuracy"):
            found.append("samples")
        return [*found, "mode"] if joint and (named or metric == "perfect") else found

    @property
    def _takes_spans(self) -> bool:
        """Whether decisions can be made of single spans; before ``fit``, whether they may be."""
        fitted = hasattr(self, "scheme_")
        return self._rules() is not None if fitted else bool(self.follow_scheme)

    def _trials_of(self, rule: str) -> list[Decision]:
        by_spans = self._metric_name() in SPAN_METRICS and self._takes_spans
        samples = 0 if self._exact_joint else int(self.decode_samples)
        compared = self._metric_name() in (*SPAN_METRICS, BRACKETS) and not by_spans
        if rule == "samples" and compared:
            samples = min(_COMPARED, int(self.decode_samples))
        elif rule == "samples" and self._metric_name() == "perfect":
            samples = int(self.decode_samples)
        return trials(rule, samples, by_spans=by_spans)

    @property
    def _exact_joint(self) -> bool:
        return type(self.nets_.get("energy")) is ChainEnergy

    def _joint(self, decision: Decision) -> TagJoint:
        predict: Any = self.method_.predict
        usual = self._decoder(best_output(predict, self.nets_))
        given = self.method_.meaning, self._rules(), self._never, usual
        return TagJoint(decision, *given, net=predict.net)

    def _decide(self, decision: Decision, data: Any) -> list[np.ndarray]:
        joint, metric = self._joint(decision), self._metric_name()
        data = data.without_labels()
        if decision.rule == "mode":
            return self._by_batch(joint.mode, data)
        if metric == "accuracy":
            return self._by_batch(self._decoder(joint.marginals), data)
        if metric in SPAN_METRICS and self._takes_spans:
            return self._best_spans(joint, data)
        return self._by_batch(partial(self._least_risk, joint), data)

    def _by_batch(self, function: Callable[[Context], Any], data: Any) -> list[Any]:
        """What a function gives for each sentence: tags without padding, or anything else."""
        found: list[Any] = [None] * len(data)
        lengths = data.lengths
        how: dict[str, Any] = {"batch_size": _BATCH, "precision": self.precision}
        for rows, values in each_batch(
            function, self.nets_, Categorical(), self._source(data), **how
        ):
            assert isinstance(rows, Tensor)
            for row, value in zip(rows.tolist(), values, strict=True):
                tags = isinstance(value, Tensor) and value.dim() > 0
                found[row] = value[: lengths[row]].cpu().numpy() if tags else value
        return found

    # Spans -----------------------------------------------------------------------------------

    def _best_spans(self, joint: TagJoint, data: Any) -> list[np.ndarray]:
        """The spans of each sentence above a threshold that serve the F1 of all of them best."""
        decision = joint.decision
        find = partial(joint.pools, tags=self.tags_, given=self.given_span)
        key = "pools", decision.weight, decision.temperature
        pools = self._once(key, lambda: self._by_batch(find, data))
        number = {tag: k for k, tag in enumerate(self.tags_)}
        least = float(1.0 / (1.0 + np.exp(decision.offset)))
        found = []
        for pool, length in zip(pools, data.lengths, strict=True):
            chosen = choose_spans(pool, length, least, self.given_span)
            names = from_spans(chosen, length, self._span_scheme())
            found.append(np.array([number[name] for name in names]))
        return found

    def _span_scheme(self) -> str:
        return self.scheme_

    def _least_risk(self, joint: TagJoint, context: Context) -> Tensor:
        """The candidate of highest mean metric, among samples and the usual rule's tags."""
        chain, mask = joint.chain(context), context.batch.mask
        assert mask is not None
        if chain is None:
            drawn = joint.weighted(context)
            y, w = drawn.y.long().argmax(-1), drawn.w
        else:
            noise = context.uniform(joint.decision.samples, context.logits(joint.net)[..., :1])
            y = chain.draw(noise.squeeze(-1).double())
            w = y.new_full(y.shape[:2], 1.0 / len(y), dtype=torch.float64)
        candidates = torch.cat([joint.usual(context).unsqueeze(0), y]).masked_fill(~mask, -1)
        same: Utility = lambda truth, predicted: (truth == predicted).all(-1).double()  # noqa: E731
        utility = same if self._metric_name() == "perfect" else of_rows(self._utility)
        best = minimum_risk(candidates, y.masked_fill(~mask, -1), w, utility)
        return candidates[best, torch.arange(len(best), device=best.device)].clamp_min(0)

    def _utility(self, truth: np.ndarray, predicted: np.ndarray) -> float:
        """The metric of one sentence's tags, -1 standing for padding."""
        if np.array_equal(truth, predicted):
            return 1.0
        pair = ([[self.tags_[tag] for tag in tags if tag >= 0]] for tags in (truth, predicted))
        return self._measured(*pair)

    def _known_rows(self, data: Any, *, every: bool = False) -> np.ndarray | None:
        known = data.known
        return known and np.array([tags.all() if every else tags.any() for tags in known])

    # Measures --------------------------------------------------------------------------------

    def _decode(self, discrete: Any) -> list[list[str]]:
        return [[self.tags_[tag] for tag in row] for row in discrete]

    def _measure(self, data: Any, outputs: Any) -> float:
        predicted = self._decode(outputs)
        if self._metric_name() == BRACKETS:
            return bracket_scores(trees_of(data.tags, data), trees_of(predicted, data)).f1
        return self._measured(data.tags or [], predicted)

    def _measured(self, true: list[list[str]], predicted: list[list[str]]) -> float:
        """The metric; an error where it counts spans and the tags mark none."""
        if self._metric_name() == "accuracy":
            return token_accuracy(true, predicted)
        if self._metric_name() == BRACKETS:
            return bracket_scores(trees_of(true), trees_of(predicted)).f1
        mode = "strict" if self.metric == "strict-span-f1" else "conlleval"
        scheme = span_scheme(self.tags_, self.scheme_)
        return span_scores(true, predicted, mode=mode, scheme=scheme).f1

    def _effective_samples(self, decision: Decision, data: Any) -> float | None:
        if not decision.weight or not decision.samples or self._exact_joint:
            return None
        sizes = self._by_batch(self._joint(decision).effective_samples, data.without_labels())
        return float(np.mean([float(size) for size in sizes]))

    def _statistics(self, data: Any, discrete: Any) -> np.ndarray:
        predicted = self._decode(discrete)
        if self._metric_name() == BRACKETS:
            trees = zip(trees_of(data.tags, data), trees_of(predicted, data), strict=True)
            found = [bracket_scores([true], [guess]) for true, guess in trees]
            return np.array([(one.correct, one.true + one.predicted) for one in found], dtype=float)
        pairs = zip(data.tags, predicted, strict=True)
        return np.array([self._counts(true, guess) for true, guess in pairs], dtype=float)

    def _counts(self, true: Sequence[Any], predicted: Sequence[str]) -> list[float]:
        """What the metric is made of, for one sentence: see :meth:`_metric_of`."""
        if self._metric_name() == "accuracy":
            return [sum(map(eq, true, predicted)), len(true) - list(true).count(None)]
        scheme, mode = span_scheme(self.tags_, self.scheme_), "conlleval"
        if self.metric == "strict-span-f1":
            mode = "strict"
            scheme = scheme or ("BIOES" if any(t[:1] in "ES" for t in self.tags_) else "IOB2")
        found = span_scores([true], [predicted], mode=mode, scheme=scheme)
        return [found.correct, found.true + found.predicted]

    def _metric_of(self, means: np.ndarray) -> float:
        if len(means) == 1:
            return float(means[0])
        doubled = 1.0 if self._metric_name() == "accuracy" else 2.0
        return doubled * float(means[0] / means[1]) if means[1] else 0.0
