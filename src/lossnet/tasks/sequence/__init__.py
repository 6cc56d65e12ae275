"""Sentences with a tag for each token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lossnet._lazy import lazy

if TYPE_CHECKING:
    from lossnet.tasks.sequence.conll import ConllFormat, read_conll, write_conll
    from lossnet.tasks.sequence.folders import load_sequence_splits, load_sequences
    from lossnet.tasks.sequence.references import read_references, tokenise_reference
    from lossnet.tasks.sequence.rewards import Reward, Rewarded, RewardFunction
    from lossnet.tasks.sequence.sentences import SequenceData
    from lossnet.tasks.sequence.span_metrics import (
        SpanScore,
        SpanScores,
        span_scores,
        token_accuracy,
    )
    from lossnet.tasks.sequence.tagger import SequenceTagger
    from lossnet.tasks.sequence.tags import Span, detect_scheme, from_spans, spans, to_scheme

__all__ = [
    "ConllFormat",
    "Reward",
    "RewardFunction",
    "Rewarded",
    "SequenceData",
    "SequenceTagger",
    "Span",
    "SpanScore",
    "SpanScores",
    "detect_scheme",
    "from_spans",
    "load_sequence_splits",
    "load_sequences",
    "read_conll",
    "read_references",
    "span_scores",
    "spans",
    "to_scheme",
    "token_accuracy",
    "tokenise_reference",
    "write_conll",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "ConllFormat": "conll",
        "Reward": "rewards",
        "RewardFunction": "rewards",
        "Rewarded": "rewards",
        "SequenceData": "sentences",
        "SequenceTagger": "tagger",
        "Span": "tags",
        "SpanScore": "span_metrics",
        "SpanScores": "span_metrics",
        "detect_scheme": "tags",
        "from_spans": "tags",
        "load_sequence_splits": "folders",
        "load_sequences": "folders",
        "read_conll": "conll",
        "read_references": "references",
        "span_scores": "span_metrics",
        "spans": "tags",
        "to_scheme": "tags",
        "token_accuracy": "span_metrics",
        "tokenise_reference": "references",
        "write_conll": "conll",
    },
)
