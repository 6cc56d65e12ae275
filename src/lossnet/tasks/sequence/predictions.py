"""Predicted tags as JSON lines and as CoNLL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from lossnet.errors import SettingError
from lossnet.tasks.sequence.conll import ConllFormat, conll_blocks, conll_text
from lossnet.tasks.sequence.measured import counts_runs
from lossnet.tasks.sequence.reading import with_columns
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tags import PLAIN, TREES, Span, has_spans, spans
from lossnet.tasks.sequence.trees import trees_of

PROBABILITY = "probability"
Tags = list[list[str]]
Probabilities = list[list[float]]


def predicted(model: Any, data: SequenceData, *, proba: bool) -> tuple[Tags, Probabilities | None]:
    """The tags of the sentences, and the probabilities of these tags."""
    data = with_columns(data, model.coder_.columns)
    tags: Tags = model.predict(data)
    if not proba:
        return tags, None
    number = {tag: k for k, tag in enumerate(model.tags_)}
    chosen = [
        [float(row[number[tag]]) for row, tag in zip(rows, row_tags, strict=True)]
        for rows, row_tags in zip(model.predict_proba(data), tags, strict=True)
    ]
    return tags, chosen


def rows_of(data: SequenceData) -> list[int | None]:
    """The sentence of each row of the source; None for an empty line."""
    sentences = iter(range(len(data)))
    blank = set(data.blank)
    return [None if row in blank else next(sentences) for row in range(len(data) + len(blank))]


def _span_finder(model: Any) -> Callable[[list[str]], list[Span]] | None:
    """What finds the spans in the tagger's tags; None where they mark none."""
    if has_spans(model.tags_):
        return spans
    return partial(spans, scheme=PLAIN) if counts_runs(model) else None


def json_lines(
    model: Any, data: SequenceData, tags: Tags, proba: Probabilities | None
) -> Iterator[str]:
    """One object per row: tokens and tags; probabilities where given, spans or a tree where tags
    mark them."""
    find = _span_finder(model)
    trees = trees_of(tags, data) if model.scheme_ == TREES else None
    for row, k in enumerate(rows_of(data)):
        words, row_tags = ([], []) if k is None else (data.tokens[k], tags[k])
        line: dict[str, Any] = {"row": row, "tokens": words, "tags": row_tags}
        if find is not None:
            line["spans"] = [
                {**span._asdict(), "text": " ".join(words[span.start : span.end])}
                for span in find(row_tags)
            ]
        if trees is not None:
            line["tree"] = "" if k is None else str(trees[k])
        if proba is not None:
            line["probabilities"] = [] if k is None else [round(p, 6) for p in proba[k]]
        yield json.dumps(line, ensure_ascii=False) + "\n"


def bracketed(model: Any, data: SequenceData, *, proba: bool) -> Iterator[str]:
    """A tree per line; an empty line of a text stays empty."""
    if model.scheme_ != TREES:
        what = f"the model was trained on {model.scheme_} tags, not on trees"
        raise SettingError(f"{what}; --out must be .jsonl or .conll")
    if proba:
        raise SettingError("--proba: .trees holds no probabilities; --out must be .jsonl")
    trees = trees_of(predicted(model, data, proba=False)[0], data)
    return ("\n" if k is None else f"{trees[k]}\n" for k in rows_of(data))


def conll(data: SequenceData, tags: Tags, proba: Probabilities | None) -> str:
    """The columns of the source, the tags in their place; plain text as tokens and tags.

    An empty line of a text is a blank line more. Probabilities are one more column, the last
    before the tags where the tags are last.
    """
    layout = data.layout or ConllFormat()
    width = 1 + len(data.columns) + data.labelled
    tag = layout.tag_column if data.labelled and layout.tag_column is not None else -1
    tag = -1 if tag % width == width - 1 else tag % width
    columns = dict(data.columns)
    if proba is not None:
        columns[PROBABILITY] = [[f"{p:.6g}" for p in row] for row in proba]
    tagged = replace(data, tags=tags, columns=columns)
    blocks = conll_blocks(tagged, token_column=layout.token_column % width, tag_column=tag)
    return conll_text(["\n" if k is None else blocks[k] for k in rows_of(data)])
