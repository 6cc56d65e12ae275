"""Metrics of tagged sentences in groups: of all spans, and of each type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lossnet.errors import SettingError
from lossnet.tasks.sequence.span_metrics import SHARES, SpanScores, span_scores, token_accuracy
from lossnet.tasks.sequence.tags import PLAIN, TREES, has_spans
from lossnet.tasks.task import Measured

if TYPE_CHECKING:
    from lossnet.tasks.sequence.bracket_metrics import BracketScores

#: The group of the metrics over all types, and what the names of the others begin with.
ALL, TYPE = "all", "type:"


def measured_tags(model: Any, data: Any, *, strict: bool) -> Measured:
    """What ``measure`` of the task gives; with ``strict`` only spans that follow the scheme."""
    from lossnet.tasks.sequence.bracket_metrics import bracket_scores
    from lossnet.tasks.sequence.trees import trees_of

    predicted = model.predict(data)
    prefixed = has_spans({*data.tag_names, *model.tags_})
    if strict and not prefixed:
        raise SettingError(
            "--strict counts spans, and these tags have no prefixes (B-, I-): leave it out"
        )
    if model.scheme_ == TREES:
        trees = bracket_scores(trees_of(data.tags, data), trees_of(predicted, data))
        about = {"exact-trees": trees.exact, "accuracy": token_accuracy(data.tags, predicted)}
        return by_type(trees, "bracket", about)
    if not prefixed and not counts_runs(model):
        return {ALL: {"accuracy": token_accuracy(data.tags, predicted)}}
    mode, scheme = "strict" if strict else "conlleval", None if prefixed else PLAIN
    scores = span_scores(data.tags, predicted, mode=mode, scheme=scheme)
    return by_type(scores, "span", {"accuracy": scores.accuracy})


def counts_runs(model: Any) -> bool:
    """Whether runs of plain tags are spans to a tagger: where its own metric counts spans.

    Not otherwise: runs of parts of speech, say, mean nothing.
    """
    return bool(model.scheme_ == PLAIN and model.metric not in (None, "accuracy"))


def by_type(scores: SpanScores | BracketScores, kind: str, about: dict[str, float]) -> Measured:
    """The scores of all spans and of each type."""
    shares = {f"{kind}-{share}": getattr(scores, share) for share in SHARES}
    measured: Measured = {ALL: about | shares}
    for name, score in scores.types.items():
        counts = {"spans": score.true, "predicted": score.predicted}
        measured[TYPE + name] = {share: getattr(score, share) for share in SHARES} | counts
    return measured


def types_of(measured: Measured) -> list[tuple[str, dict[str, float]]]:
    """The metrics of each type of spans."""
    groups = measured.items()
    return [(name.removeprefix(TYPE), values) for name, values in groups if name != ALL]


def groups_of(measured: Measured) -> dict[str, dict[str, float]]:
    """The metrics of each type as a comparison keeps them."""
    shares = {name: {share: v[share] for share in SHARES} for name, v in types_of(measured)}
    return {name: {**shares[name], "count": v["spans"]} for name, v in types_of(measured)}
