"""What a comparison keeps of predicted tags."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

import numpy as np

from lossnet.tasks.details import Details, Examples, reliability_bins
from lossnet.tasks.sequence.bracket_metrics import bracket_scores
from lossnet.tasks.sequence.measured import counts_runs
from lossnet.tasks.sequence.span_metrics import Sentences, without_unknown
from lossnet.tasks.sequence.tags import BRACKETS, PLAIN, TREES, has_spans, spans
from lossnet.tasks.sequence.trees import trees_of

#: Sentences that are kept at most.
_MOST = 5000


def tag_examples(data: Any) -> Examples:
    """Tokens and tags of the first sentences."""
    tokens = [list(words) for words in data.tokens[:_MOST]]
    offsets = np.cumsum([0, *map(len, tokens)])
    titles = [f"sentence {number}" for number in range(len(tokens))]
    truth = _codes(data, data.tags)
    return Examples("tags", data.tag_names, truth, titles, tokens, offsets=offsets)


def tag_details(
    model: Any,
    data: Any,
    predicted: Any,
    counts: Mapping[str, Any],
    groups: Mapping[str, Mapping[str, float]],
) -> Details:
    """Counts by sentence and calibration of predicted tags.

    Args:
        model: the fitted estimator.
        data: the labelled sentences.
        predicted: their predicted tags.
        counts: by metric, besides the tokens', as :func:`counts_of` gives them.
        groups: metrics of each type.
    """
    right, known = [], []
    for gold, guess in zip(data.tags, predicted, strict=True):
        pairs = [(a, b) for a, b in zip(gold, guess, strict=True) if a is not None]
        right.append(sum(a == b for a, b in pairs))
        known.append(len(pairs))
    scores = {"accuracy": np.stack([right, known, known], 1)}
    scores |= {name: np.asarray(value) for name, value in counts.items()}
    bins, calibration = None, dict[str, float]()
    if model.method_.task_net_predicts and model.refine is None:
        bins, calibration = reliability_bins(*_chosen(model, data))
    noun = "type" if groups else ""
    return Details(scores, _codes(data, predicted), groups, noun, bins, calibration)


def _codes(data: Any, tags: Any) -> np.ndarray:
    """Tags of the first sentences as places among the data's tags, -1 for others."""
    place = {tag: code for code, tag in enumerate(data.tag_names)}
    return np.array([place.get(t, -1) for t in chain.from_iterable(tags[:_MOST])], dtype=np.int32)


def _chosen(model: Any, data: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of all tokens the probability of the most probable tag, and whether it is the true one."""
    names, probabilities, right = model.tags_, [], []
    for gold, proba in zip(data.tags, model.predict_proba(data.without_labels()), strict=True):
        best = np.asarray(proba).argmax(-1)
        known = [k for k, tag in enumerate(gold) if tag is not None]
        probabilities += [float(proba[k][best[k]]) for k in known]
        right += [names[best[k]] == gold[k] for k in known]
    return np.clip(probabilities, 0.0, 1.0), np.array(right)


def counts_of(model: Any, data: Any, predicted: Any) -> dict[str, np.ndarray]:
    """Right, predicted and true spans or brackets of each sentence, ``(n, 3)``, by metric."""
    if model.scheme_ == TREES:
        return {BRACKETS: bracket_counts(data, predicted)}
    prefixed = has_spans({*data.tag_names, *model.tags_})
    if not prefixed and not counts_runs(model):
        return {}
    return {"span-f1": span_counts(data.tags, predicted, None if prefixed else PLAIN)}


def span_counts(true: Sentences, predicted: Sentences, scheme: str | None) -> np.ndarray:
    """Spans of each sentence that are right, predicted and true, ``(n, 3)``."""
    true, predicted = without_unknown(true, predicted)
    found = []
    for tags in zip(true, predicted, strict=True):
        gold, guess = (set(spans(one, scheme)) for one in tags)
        found.append((len(gold & guess), len(guess), len(gold)))
    return np.array(found)


def bracket_counts(data: Any, predicted: Any) -> np.ndarray:
    """Brackets of each tree that are right, predicted and true, ``(n, 3)``."""
    pairs = zip(trees_of(data.tags, data), trees_of(predicted, data), strict=True)
    scores = [bracket_scores([gold], [guess]) for gold, guess in pairs]
    return np.array([(one.correct, one.predicted, one.true) for one in scores])
