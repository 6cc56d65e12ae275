"""Which label sets to predict for a metric, from the nets' probabilities or from their joint.

Metrics of one row at a time have a best prediction for every distribution of label sets. Metrics of
all rows together, such as micro-F1, have none, and their usual threshold stays.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.constraints import Bound
from lossnet.context import Context
from lossnet.contrasts.meaning import Meaning
from lossnet.decisions import (
    Joint,
    Weighted,
    best_f,
    best_f_of_samples,
    best_jaccard,
    local_search,
    marginals,
    minimum_risk,
    most_probable,
    of_rows,
    temper,
)
from lossnet.decisions.distribution import MOST_ENUMERATED
from lossnet.decisions.risk import Utility
from lossnet.spaces import sparse
from lossnet.tasks.decision import OFFSETS, Decision, tempered_trials
from lossnet.tasks.multilabel import valid_decisions as valid
from lossnet.tasks.multilabel.arrays import sets_of
from lossnet.tasks.multilabel.metrics import METRICS, Metric

#: What the loss-net may count; the last one serves where there is no validation data.
WEIGHTS = (0.5, 0.75, 1.0)
#: Most label sets of the training rows that are kept.
MOST_SETS = 512
#: Rows of a sparse matrix whose label sets are counted, so that memory stays within bounds.
_COUNTED_ROWS = 2**20
#: Probabilities that are decided on at a time.
_ENTRIES = 2**20
#: Label sets that are enumerated for a user's function, which is called for every pair of them.
_FEW_SETS = 64
#: Metrics that are a mean over rows, F-beta of any beta aside.
BY_ROW = ("subset-accuracy", "hamming", "jaccard")
_F = re.compile(r"example-f(\d+(?:\.\d+)?)")


def beta_of(metric: Metric) -> float | None:
    """The beta of an example-based F measure, or None."""
    found = _F.fullmatch(metric.name) if _is(metric, metric.name) else None
    return float(found[1]) if found else None


def _is(metric: Metric, *names: str) -> bool:
    """Whether it is one of the library's metrics, not a user's own of that name."""
    return metric.name in names and metric == METRICS.get(metric.name)


def by_row(metric: Metric) -> bool:
    """Whether the metric is a mean over rows, so that a row has a best prediction."""
    return _is(metric, *BY_ROW) or beta_of(metric) is not None


def trials(rule: str, samples: int, *, joint: bool) -> list[Decision]:
    """What to try of a rule on validation data; ``joint``: whether the loss-net gives one."""
    if rule == "expected":
        return tempered_trials(rule)
    if rule == "samples":
        return [Decision(rule, samples=samples, weight=weight) for weight in WEIGHTS]
    weights = WEIGHTS if joint or rule == "mode" else ()
    weights, drawn = (weights, samples) if rule == "mode" else ((0.0, *weights), 0)
    pairs = itertools.product(weights, OFFSETS)
    return [Decision(rule, samples=drawn, weight=w, offset=offset) for w, offset in pairs]


def rules(metric: Metric, meaning: Meaning | None, *, named: bool) -> list[str]:
    """The rules that suit a metric, or with ``named`` those that can serve it at all.

    ``meaning`` is the loss-net's, None without one.
    """
    joint = meaning is not None and meaning.joint is not None
    if metric.needs != "labels" or _is(metric, "micro-f1", "macro-f1"):
        return []
    if not (named or by_row(metric)):
        return []
    exact = _is(metric, "subset-accuracy")
    found = ["expected"] if _is(metric, "jaccard") or beta_of(metric) is not None else []
    if exact:
        found.append("known")
    if joint and (named or not exact):
        found.append("samples")
    if joint and (named or exact):
        found.append("mode")
    return found


def expected(
    metric: Metric, proba: np.ndarray, decision: Decision, bound: Bound | None = None
) -> np.ndarray:
    """The (valid) sets of highest expected metric for independent labels, ``(n, L)`` bool."""
    beta, found = beta_of(metric), []
    for some in torch.as_tensor(proba).split(max(1, _ENTRIES // proba.shape[1])):
        p = temper(some, decision.temperature, offset=decision.offset)
        best = best_jaccard(p) if beta is None else best_f(p, beta)
        if bound:
            best = valid.repaired(bound, best, p, valid.by_probabilities(p, beta))
        found.append(best)
    return torch.cat(found).numpy()


def common_sets(Y: Any) -> np.ndarray:
    """The label sets that most rows have, ``(M, L)``, at most :data:`MOST_SETS`; of CSR too."""
    if hasattr(Y, "tocsr"):
        rows = Counter(itertools.islice(sets_of(Y), _COUNTED_ROWS))
        common = [np.frombuffer(own, np.int64) for own, _ in rows.most_common(MOST_SETS)]
        found = np.zeros((len(common), Y.shape[1]), dtype=np.uint8)
        for row, labels in zip(found, common, strict=True):
            row[labels] = 1
        return found
    sets, counts = np.unique(np.asarray(Y, dtype=np.uint8), axis=0, return_counts=True)
    chosen: np.ndarray = sets[np.argsort(-counts, kind="stable")[:MOST_SETS]]
    return chosen


def decider(
    decision: Decision,
    metric: Metric,
    meaning: Meaning,
    known: np.ndarray,
    bound: Bound | None = None,
) -> Callable[[Context], Tensor]:
    """The function that decides on a batch, ``(B, L)`` bool, by the joint, among valid sets.

    ``known`` are valid label sets ``(M, L)`` that exist: far from the task-net's guess, one of them
    may be more probable than anything that sampling and single changes lead to.
    """

    def decide(context: Context) -> Tensor:
        joint = Joint(context, meaning, decision.weight, decision.offset)
        sets = _every(known, context)
        if decision.rule == "known" and len(sets):
            return most_probable(sets, joint.log_p(sets))
        if decision.rule == "known" and bound is not None:  # no training row is valid
            return valid.nearest(bound, context.logits("task") + decision.offset)
        probable = decision.rule == "mode" or _is(metric, "subset-accuracy")
        most = MOST_ENUMERATED if probable or by_row(metric) else _FEW_SETS
        drawn = joint.candidates(decision.samples, enumerate_at_most=most)
        whole = probable or not (beta_of(metric) or _is(metric, "hamming"))
        if drawn.ess is None and (bound or whole):
            return valid.best_of_all(bound, drawn, None if probable else _utility(metric))
        if probable and bound:
            return valid.valid_mode(bound, joint, drawn, sets)
        if probable:
            y = valid.best_of([joint.rounded().unsqueeze(0), drawn.y, sets], joint.log_p)
            logits = context.logits("task") + decision.offset
            return local_search(joint.log_p, y, logits=logits, of_rows=joint.of_rows)
        if not bound:
            return _of_samples(metric, drawn)
        p = marginals(drawn.y, drawn.w)
        if _is(metric, "hamming"):
            return valid.nearest(bound, p - 0.5)
        choice = valid.by_samples(drawn, _utility(metric))
        return valid.repaired(bound, _of_samples(metric, drawn), p, choice)

    return decide


def _of_samples(metric: Metric, drawn: Weighted) -> Tensor:
    """The label sets of highest mean metric over weighted samples."""
    beta = beta_of(metric)
    if beta is not None:
        return best_f_of_samples(drawn.y, drawn.w, beta)
    if _is(metric, "hamming"):
        return marginals(drawn.y, drawn.w) >= 0.5
    chosen = minimum_risk(drawn.y, drawn.y, drawn.w, _utility(metric))
    y = sparse.dense(drawn.y, torch.bool)
    return y[chosen, torch.arange(len(chosen), device=y.device)]


def _utility(metric: Metric) -> Utility:
    """The metric of pairs of label sets."""
    beta = beta_of(metric)
    if beta is not None:
        return partial(_f, beta**2)
    function = lambda truth, one: metric(truth[None], one[None])  # noqa: E731
    return _jaccard if _is(metric, "jaccard") else of_rows(function)


def _f(b2: float, truth: Tensor, predicted: Tensor) -> Tensor:
    sizes = predicted.sum(-1) + b2 * truth.sum(-1)
    shared = (1 + b2) * (truth & predicted).sum(-1)
    return torch.where(sizes == 0, 1.0, shared / sizes.clamp_min(1e-9))


def _every(sets: np.ndarray, context: Context) -> Tensor:
    """The sets ``(M, L)`` as candidates of every row, ``(M, B, L)``."""
    logits = context.logits("task")
    found = torch.as_tensor(sets, dtype=torch.bool, device=logits.device)
    return sparse.repeated(found, len(logits), logits.dtype)


def _jaccard(truth: Tensor, predicted: Tensor) -> Tensor:
    union = (truth | predicted).sum(-1)
    return torch.where(union == 0, 1.0, (truth & predicted).sum(-1) / union.clamp_min(1))


def effective_samples(decision: Decision, meaning: Meaning) -> Callable[[Context], Tensor]:
    """The function that gives a batch's effective sample sizes, ``(B,)``."""

    def measure(context: Context) -> Tensor:
        joint = Joint(context, meaning, decision.weight, decision.offset)
        drawn = joint.candidates(decision.samples)
        sizes = drawn.ess
        return drawn.w.new_full((drawn.w.shape[1],), torch.inf) if sizes is None else sizes

    return measure
