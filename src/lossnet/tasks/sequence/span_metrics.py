"""Metrics of tagged sentences: token accuracy; precision, recall and F1 of spans.

Gold and predicted tags come as lists of sentences, each a list of strings. For one type of span,
or for all, ``true`` counts the gold spans, ``predicted`` the predicted ones, and ``correct``
those with the same type, start and end in both.

None among the gold tags is a tag that is not known: such tokens are not counted, and spans end
there on both sides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from lossnet.errors import DataError, unknown
from lossnet.plain_text import aligned
from lossnet.tasks.sequence.tags import Span, spans

#: What a :class:`SpanScore` says of its counts.
SHARES = ("precision", "recall", "f1")
MODES = ("conlleval", "strict")
Sentences = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class SpanScore:
    """Counts of spans and the shares that follow; a share of nothing is 0, as in conlleval."""

    true: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        """correct / predicted."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """correct / true."""
        return self.correct / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        """2 correct / (true + predicted), the harmonic mean of precision and recall."""
        return 2 * self.correct / (self.true + self.predicted) if self.correct else 0.0


@dataclass(frozen=True)
class SpanScores(SpanScore):
    """Scores of all spans together (micro) and of each type; ``print`` shows a table.

    Args:
        types: by name, in alphabetical order.
        accuracy: the share of tokens whose tag is right.
    """

    types: dict[str, SpanScore]
    accuracy: float

    @property
    def overall(self) -> SpanScore:
        """All types pooled."""
        return SpanScore(self.true, self.predicted, self.correct)

    def __str__(self) -> str:
        counts = ("true", "predicted", "correct")
        lines = [["type", *SHARES, *counts]]
        for name, score in [*self.types.items(), ("all", self.overall)]:
            shares = [f"{getattr(score, share):.4f}" for share in SHARES]
            lines.append([name, *shares, *(str(getattr(score, count)) for count in counts)])
        return f"{aligned(lines, right=range(1, 7))}\ntoken accuracy {self.accuracy:.4f}"


def token_accuracy(true: Sentences, predicted: Sentences) -> float:
    """Share of all tokens whose predicted tag is the gold tag.

    >>> token_accuracy([["N", "V"], ["D", "N"]], [["N", "V"], ["D", "A"]])
    0.75
    """
    _check(true, predicted)
    pairs = zip(chain.from_iterable(true), chain.from_iterable(predicted), strict=True)
    right = sum(gold == guess for gold, guess in pairs if gold is not None)
    return right / _known(true)


def without_unknown(true: Sentences, predicted: Sentences) -> tuple[Sentences, Sentences]:
    """Both with ``O`` where the gold tag is not known, so that no span is counted there."""
    if not any(None in tags for tags in true):
        return true, predicted
    pairs = [list(zip(*pair, strict=True)) for pair in zip(true, predicted, strict=True)]
    filled = [[("O", "O") if gold is None else (gold, on) for gold, on in row] for row in pairs]
    return [[gold for gold, _ in row] for row in filled], [[on for _, on in row] for row in filled]


def _known(true: Sentences) -> int:
    """How many gold tags are known."""
    return sum(len(tags) - list(tags).count(None) for tags in true)


def span_scores(
    true: Sentences, predicted: Sentences, *, mode: str = "conlleval", scheme: str | None = None
) -> SpanScores:
    """Precision, recall and F1 of spans, overall and of each type.

    Args:
        true: gold tags.
        predicted: predicted tags, as many.
        mode: ``"conlleval"`` reads sequences that break the rules as the CoNLL script does;
            ``"strict"`` takes no span from them, as seqeval's strict mode.
        scheme: IOB1, IOB2, BIOES, or ``"plain"`` for tags without prefixes. Where None,
            conlleval takes any prefixes, and strict takes BIOES if there is an ``E-`` or ``S-``,
            else IOB2.

    >>> scores = span_scores([["B-PER", "I-PER", "O"]], [["I-PER", "I-PER", "O"]])
    >>> scores.f1
    1.0
    >>> span_scores([["B-PER", "I-PER", "O"]], [["I-PER", "I-PER", "O"]], mode="strict").f1
    0.0
    """
    if mode not in MODES:
        raise unknown("mode", mode, MODES)
    accuracy = token_accuracy(true, predicted)
    true, predicted = without_unknown(true, predicted)
    strict = mode == "strict"
    if strict and scheme is None:
        tags = {tag for side in (true, predicted) for sentence in side for tag in sentence}
        scheme = "BIOES" if any(tag[:1] in ("E", "S") for tag in tags) else "IOB2"
    gold = _spans(true, "true", scheme, strict)
    guess = _spans(predicted, "predicted", scheme, strict)
    counts = [Counter(span.type for _, span in side) for side in (gold, guess, gold & guess)]
    names = sorted({*counts[0], *counts[1]})
    types = {name: SpanScore(*(count[name] for count in counts)) for name in names}
    return SpanScores(len(gold), len(guess), len(gold & guess), types, accuracy)


def _spans(
    sentences: Sentences, side: str, scheme: str | None, strict: bool
) -> set[tuple[int, Span]]:
    """All spans, each with the number of its sentence."""
    found: set[tuple[int, Span]] = set()
    for number, tags in enumerate(sentences):
        try:
            found.update((number, span) for span in spans(tags, scheme, strict=strict))
        except DataError as error:
            raise DataError(f"{side} sentence {number} (counted from 0): {error}") from error
    return found


def _check(true: Sentences, predicted: Sentences) -> None:
    if len(true) != len(predicted):
        raise DataError(f"{len(true)} sentences of true tags and {len(predicted)} of predicted")
    for number, (gold, guess) in enumerate(zip(true, predicted, strict=True)):
        place = f"sentence {number} (counted from 0)"
        if isinstance(gold, str) or isinstance(guess, str):
            raise DataError(f"{place} is a string; give a list of tags for each")
        if len(gold) != len(guess):
            counts = f"{len(gold)} true tags and {len(guess)} predicted"
            raise DataError(f"{place} has {counts}; give one for each token")
    if not _known(true):
        what = "known tags" if any(map(len, true)) else "tags"
        raise DataError(f"no {what} at all; give at least one sentence")
