"""Predicted tags as JSON lines and as CoNLL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lossnet.tasks.sequence.layout import Layout
from lossnet.tasks.sequence.measure import counts_runs
from lossnet.tasks.sequence.rows import for_model
from lossnet.tasks.sequence.text import Known, Sentences

if TYPE_CHECKING:
    from lossnet.tasks.sequence.sentences import SequenceData
    from lossnet.tasks.sequence.tags import Span

PROBABILITY = "probability"


def predicted(
    model: Any, sentences: Sentences, known: Known, *, proba: bool
) -> tuple[list[list[str]], list[list[float]] | None]:
    """The tags of the sentences that are not empty, and the probabilities of these tags."""
    data = for_model(sentences.data, known, sentences.data.name)
    tags: list[list[str]] = model.predict(data)
    if not proba:
        return tags, None
    number = {tag: k for k, tag in enumerate(model.tags_)}
    chosen = [
        [float(row[number[tag]]) for row, tag in zip(rows, row_tags, strict=True)]
        for rows, row_tags in zip(model.predict_proba(data), tags, strict=True)
    ]
    return tags, chosen


def span_finder(model: Any) -> Callable[[list[str]], list[Span]] | None:
    """What finds the spans in the tagger's tags; None where they mark none."""
    from lossnet.tasks.sequence.tags import PLAIN, has_spans, spans

    if has_spans(model.tags_):
        return spans
    return partial(spans, scheme=PLAIN) if counts_runs(model) else None


def json_lines(
    sentences: Sentences,
    tags: list[list[str]],
    proba: list[list[float]] | None,
    *,
    find: Callable[[list[str]], list[Span]] | None,
) -> Iterator[str]:
    """An object a row: tokens and tags; probabilities where given, spans where ``find`` is."""
    place = {row: k for k, row in enumerate(sentences.places)}
    for row in range(sentences.count):
        k = place.get(row)
        words, row_tags = ([], []) if k is None else (sentences.data.tokens[k], tags[k])
        line: dict[str, Any] = {"row": row, "tokens": words, "tags": row_tags}
        if find is not None:
            line["spans"] = [
                {**span._asdict(), "text": " ".join(words[span.start : span.end])}
                for span in find(row_tags)
            ]
        if proba is not None:
            line["probabilities"] = [] if k is None else [round(p, 6) for p in proba[k]]
        yield json.dumps(line, ensure_ascii=False) + "\n"


def conll(sentences: Sentences, tags: list[list[str]], proba: list[list[float]] | None) -> str:
    """The columns of the source, the tags in their place; plain text as tokens and tags.

    An empty line of a text is a blank line more. Probabilities are one more column, the last
    before the tags where the tags are last.
    """
    from lossnet.tasks.sequence.conll import conll_blocks, conll_text

    token, tag = _places(sentences)
    data = _tagged(sentences.data, tags, proba)
    blocks = ["\n"] * sentences.count
    made = conll_blocks(data, token_column=token, tag_column=tag)
    for row, block in zip(sentences.places, made, strict=True):
        blocks[row] = block
    return conll_text(blocks)


def _places(sentences: Sentences) -> tuple[int, int]:
    """Where the tokens and the tags of the source are; tags it has not go last."""
    layout, data = sentences.layout or Layout(), sentences.data
    width = 1 + len(data.columns) + (data.tags is not None)
    token = layout.token_column % width
    if data.tags is None or layout.tag_column is None or layout.tag_column % width == width - 1:
        return token, -1
    return token, layout.tag_column % width


def _tagged(
    data: SequenceData, tags: list[list[str]], proba: list[list[float]] | None
) -> SequenceData:
    columns = dict(data.columns)
    if proba is not None:
        columns[PROBABILITY] = [[f"{p:.6g}" for p in row] for row in proba]
    return replace(data, tags=tags, columns=columns)
