"""The examples where methods differ most: labels, tags in their sentence, masks on their image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from lossnet.comparison.blocks import Block, Example, Examples, Mark, Output
from lossnet.comparison.pictures import png, shortened
from lossnet.comparison.result import MeasuredRun
from lossnet.comparison.standing import Standing
from lossnet.tasks import details

#: The most examples, methods and labels of an output that are shown, and the longest text.
SHOWN, METHODS, LABELS, LONGEST = 8, 6, 40, 600
#: The longest side of a picture, and its colours; a class' colours on it.
SIDE, TONES = 160, 64
CLASSES = np.array(
    [[29, 95, 166], [214, 96, 40], [44, 125, 63], [132, 70, 163], [176, 42, 80], [15, 127, 134]]
)
#: The code of what is not known.
UNKNOWN = 255


def examples(standing: Standing) -> list[Block]:
    """The examples, those that methods differ most on first; of one model those it does worst."""
    shown = standing.comparison.examples
    every = {n: standing.comparison.of(n)[0] for n in standing.ranked}
    known = [n for n, run in every.items() if run.details.predictions is not None]
    # The best, and the reference.
    best = [*known[: METHODS - 1], *(n for n in known[METHODS - 1 :] if n == standing.reference)]
    runs = {n: every[n] for n in (best if len(best) == METHODS else known[:METHODS])}
    if shown is None or shown.kind == "other" or not runs:
        return []
    main, count = standing.comparison.main, len(shown.titles)
    means = [_mean_scores(standing.comparison.of(name), main, count) for name in runs]
    scores = {name: _mean_scores([run], main, count) for name, run in runs.items()}
    chosen = _chosen(np.stack(means), np.stack(list(scores.values())))
    if not len(chosen):
        return []
    make = {"labels": _labels, "tags": _tags, "mask": _masks}[shown.kind]
    found = [make(_Case(shown, runs, scores, int(k))) for k in chosen]
    what = "The examples that the methods differ most on" if len(runs) > 1 else "The worst examples"
    if len(runs) < len(known):
        what = (
            f"The examples that {len(runs)} of the methods, the best and the reference, differ on"
        )
    by = f"by {main}. Outputs, and what they score in parentheses, are those of the first seed"
    marks = "" if shown.kind == "mask" else " Green is right, red is wrong, dashed is missed."
    return [Examples(found, f"{what}, {by}.{marks}")]


def _mean_scores(runs: Sequence[MeasuredRun], metric: str, count: int) -> np.ndarray:
    """A metric of each example that is kept, mean over runs."""
    found = [run.details.scores[metric] for run in runs if metric in run.details.scores]
    values = [_by_example(np.asarray(scores, dtype=float)[:count]) for scores in found]
    return np.mean(values, axis=0) if values else np.full(count, np.nan)


def _by_example(values: np.ndarray) -> np.ndarray:
    """A score for each example; of counts F1, 1 where nothing is true and nothing predicted."""
    if values.ndim == 1:
        return values
    right, predicted, true = values.T
    total = predicted + true
    return np.where(total > 0, 2 * right / np.maximum(total, 1), 1.0)


def _chosen(means: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Examples by how far methods are apart; where there is one method, by its score.

    Args:
        means: scores of methods and examples, mean over seeds.
        first: the same of the outputs that are shown; they must differ too.
    """
    several = len(means) > 1
    apart, shown = (_apart(scores) if several else 1.0 - scores[0] for scores in (means, first))
    apart = np.where(np.isfinite(apart) & (shown > 0), apart, -np.inf)
    order = np.argsort(-apart, kind="stable")[:SHOWN]
    return order[apart[order] > 0]


def _apart(scores: np.ndarray) -> np.ndarray:
    """From the worst method's score to the best; NaN where one is not known."""
    spread: np.ndarray = scores.max(axis=0) - scores.min(axis=0)
    return spread


@dataclass(frozen=True)
class _Case:
    """One example, and who predicted what."""

    shown: details.Examples
    runs: dict[str, MeasuredRun]
    scores: dict[str, np.ndarray]
    k: int

    @property
    def title(self) -> str:
        return self.shown.titles[self.k]

    @property
    def picture(self) -> str:
        return "" if self.shown.images is None else _small(self.shown.images[self.k])

    @property
    def text(self) -> str:
        return "" if self.shown.texts is None else " ".join(self.shown.texts[self.k])

    def score(self, name: str) -> str:
        return f"({100 * self.scores[name][self.k]:.0f})"

    def output(self, names: Sequence[str], marks: Sequence[Mark]) -> Output:
        """An output that methods agree on."""
        return Output(", ".join(names), marks, score=self.score(names[0]))

    def cut(self, outputs: np.ndarray | None) -> np.ndarray:
        """This example's part of outputs."""
        assert outputs is not None
        if self.shown.offsets is None:
            return np.asarray(outputs[self.k])
        start, end = self.shown.offsets[self.k : self.k + 2]
        return np.asarray(outputs[start:end])

    @property
    def truth(self) -> np.ndarray:
        return self.cut(self.shown.truth)

    def alike(self) -> Iterator[tuple[list[str], np.ndarray]]:
        """Different outputs, the best methods' first, and the methods that agree on each."""
        groups: dict[bytes, tuple[list[str], np.ndarray]] = {}
        for name, run in self.runs.items():
            own = self.cut(run.details.predictions)
            groups.setdefault(own.tobytes(), ([], own))[0].append(name)
        yield from groups.values()


# Labels ---------------------------------------------------------------------------------------


def _labels(case: _Case) -> Example:
    truth, names = case.truth, case.shown.names
    true = [Mark(names[label], style="true") for label in np.flatnonzero(truth == 1)]
    outputs = [Output("truth", _cut(true))]
    for agreed, own in case.alike():
        marks = []
        for label in np.flatnonzero((own == 1) | (truth == 1)):
            known = "right" if truth[label] == 1 else "wrong"
            style = "" if truth[label] == UNKNOWN else known
            marks.append(Mark(names[label], style=style if own[label] == 1 else "missed"))
        outputs.append(case.output(agreed, _cut(marks)))
    return Example(case.title, shortened(case.text, LONGEST), case.picture, outputs)


def _cut(marks: list[Mark]) -> list[Mark]:
    """The first labels, and how many more there are."""
    left = len(marks) - LABELS
    return [*marks[:LABELS], Mark(f"and {left} more")] if left > 0 else marks


# Tags -----------------------------------------------------------------------------------------


def _tags(case: _Case) -> Example:
    words = case.shown.texts[case.k] if case.shown.texts is not None else []
    words = words or [str(n) for n in range(len(case.truth))]
    truth = [_tag(case.shown.names, code) for code in case.truth]
    predicted = [
        (agreed, [_tag(case.shown.names, code) for code in own]) for agreed, own in case.alike()
    ]
    if "O" in case.shown.names:
        true = _spans(truth)
        outputs = [Output("truth", _marked(words, dict.fromkeys(true, "true")))]
        for agreed, tags in predicted:
            own = _spans(tags)
            styles = {span: "right" if span in true else "wrong" for span in own}
            covered = {n for _, start, end in own for n in range(start, end)}
            missed = [s for s in true if not covered.intersection(range(s[1], s[2]))]
            styles |= dict.fromkeys(missed, "missed")
            outputs.append(case.output(agreed, _marked(words, styles)))
        return Example(case.title, "", case.picture, outputs)
    # Every word has a tag: only those that some method has wrong are marked.
    differ = [n for n in range(len(truth)) if any(tags[n] != truth[n] for _, tags in predicted)]
    outputs = [Output("truth", _marked(words, {(truth[n], n, n + 1): "true" for n in differ}))]
    for agreed, tags in predicted:
        styles = {(tags[n], n, n + 1): _right(tags[n] == truth[n]) for n in differ}
        outputs.append(case.output(agreed, _marked(words, styles)))
    return Example(case.title, "", case.picture, outputs)


def _right(holds: bool) -> str:
    return "right" if holds else "wrong"


def _tag(names: Sequence[str], code: int) -> str:
    return names[code] if 0 <= code < len(names) else "?"


#: Type, first word, and the word after the last.
_Span = tuple[str, int, int]


def _spans(tags: Sequence[str]) -> list[_Span]:
    """Runs of one type; ``B-`` and ``S-`` begin another.

    >>> _spans(["B-PER", "I-PER", "O", "LOC"])
    [('PER', 0, 2), ('LOC', 3, 4)]
    """
    types = [tag[2:] if tag[1:2] == "-" and tag[0] in "BIES" else tag for tag in tags]
    before = [None, *types[:-1]]
    starts = [
        n for n, tag in enumerate(tags) if types[n] != before[n] or tag.startswith(("B-", "S-"))
    ]
    return [(types[a], a, b) for a, b in pairwise([*starts, len(tags)]) if types[a] != "O"]


def _marked(words: Sequence[str], styles: dict[_Span, str]) -> list[Mark]:
    """The sentence with its spans marked; words between them are one mark without style."""
    marks, at = [], 0
    for (kind, start, end), style in sorted(styles.items(), key=lambda item: item[0][1]):
        if start > at:
            marks.append(Mark(" ".join(words[at:start])))
        marks.append(Mark(" ".join(words[start:end]), kind, style))
        at = end
    return [*marks, *([Mark(" ".join(words[at:]))] if at < len(words) else [])]


# Masks ----------------------------------------------------------------------------------------


def _masks(case: _Case) -> Example:
    image = None if case.shown.images is None else case.shown.images[case.k]
    outputs = [Output("truth", picture=_overlay(image, case.truth))]
    for name, run in case.runs.items():
        mask = case.cut(run.details.predictions)
        outputs.append(Output(name, picture=_overlay(image, mask), score=case.score(name)))
    return Example(case.title, "", case.picture, outputs)


def _overlay(image: np.ndarray | None, mask: np.ndarray) -> str:
    """The image in grey, with the classes but the background in colour."""
    if image is None:
        grey = np.full(mask.shape, 235.0)
    else:
        grey = image.mean(axis=2) if image.ndim == 3 else image.astype(float)
    pixels = np.repeat(grey[..., None], 3, axis=2)
    marked = (mask > 0) & (mask != UNKNOWN)
    colours = CLASSES[(mask[marked].astype(int) - 1) % len(CLASSES)]
    pixels[marked] = 0.45 * pixels[marked] + 0.55 * colours
    return _small(pixels.astype(np.uint8))


def _small(pixels: np.ndarray) -> str:
    """A picture of at most ``SIDE`` pixels a side."""
    step = max(1, -(-max(pixels.shape[:2]) // SIDE))
    return png(pixels[::step, ::step], tones=TONES)
