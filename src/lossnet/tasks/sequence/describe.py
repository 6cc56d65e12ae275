"""Sentences, tags, spans and words of a data set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from lossnet.data.brackets import Bracket
from lossnet.errors import DataError
from lossnet.tasks.description import Description, Listing
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.tags import Span, detect_scheme, has_spans, spans
from lossnet.tasks.sequence.trees import TreeData


def describe(data: SequenceData, by_name: Mapping[str, SequenceData], *, top: int) -> Description:
    """The description of a data set: all its sentences, and its parts where it has any."""
    parts = list(by_name.items())
    scheme, broken = _scheme(data)
    lines = [
        ["sentences", _with_parts(len(data), [(name, len(p)) for name, p in parts])],
        ["tokens", _with_parts(data.n_tokens, [(name, p.n_tokens) for name, p in parts])],
        ["tokens per sentence", _quantiles([len(tokens) for tokens in data.tokens])],
        ["words", f"{len({word for tokens in data.tokens for word in tokens}):,} distinct"],
        *_unseen(parts),
        ["tags", f"{len(data.tag_names):,}, {scheme}"],
        *([["other columns", ", ".join(data.columns)]] if data.columns else []),
        *([["documents", f"{len(set(data.documents)):,}"]] if data.documents else []),
        ["checksum", data.checksum()[:16]],
    ]
    listings = []
    if has_spans(data.tag_names):
        listings.append(_spans("spans", data, parts))
    if isinstance(data, TreeData):
        listings.append(_spans("constituents", data, parts))
    tags = _tags(data)
    return Description(
        data.name,
        lines,
        [*data.notes, *broken],
        [*listings, _commonest(tags, data.n_tokens, top)],
        {"tags": {tag: 100 * count / data.n_tokens for tag, count in tags}},
        {"tokens per sentence": [len(tokens) for tokens in data.tokens]},
    )


def _scheme(data: SequenceData) -> tuple[str, list[str]]:
    """The tags' scheme, and a note where they are of no one scheme."""
    if isinstance(data, TreeData):
        return "one tree per sentence", []
    try:
        scheme = detect_scheme(data.tags or [])
    except DataError as error:
        return "of no one scheme", [str(error)]
    return ("without prefixes" if scheme == "plain" else f"scheme {scheme}"), []


def _with_parts(total: int, parts: list[tuple[str, int]]) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in parts)
    return f"{total:,} ({counts})" if counts else f"{total:,}"


def _quantiles(lengths: list[int]) -> str:
    values = np.quantile(lengths, [0, 0.25, 0.5, 0.75, 1]).round().astype(int)
    low, first, median, third, high = (f"{value:,}" for value in values)
    return f"median {median}, half of them {first} to {third}, all {low} to {high}"


def _unseen(parts: list[tuple[str, SequenceData]]) -> list[list[str]]:
    """The share of the other parts' tokens that are absent from training."""
    if len(parts) < 2:
        return []
    seen = {word for tokens in parts[0][1].tokens for word in tokens}
    lower = {word.lower() for word in seen}
    shares = []
    for name, data in parts[1:]:
        words = [word for tokens in data.tokens for word in tokens]
        new = sum(word not in seen for word in words) / len(words)
        even = sum(word not in seen and word.lower() not in lower for word in words) / len(words)
        shares.append(f"{100 * new:.1f} % of {name} tokens ({100 * even:.1f} % in any case)")
    return [["not in training", ", ".join(shares)]]


def _tags(data: SequenceData) -> list[tuple[str, int]]:
    """The tags and how many tokens have them, the commonest first."""
    counts = Counter(tag for tags in data.tags or [] for tag in tags)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _commonest(tags: list[tuple[str, int]], tokens: int, top: int) -> Listing:
    lines = [["tag", "tokens", "share"]]
    lines += [[tag, f"{count:,}", f"{100 * count / tokens:.1f} %"] for tag, count in tags[:top]]
    return Listing("commonest tags", lines, (1, 2))


def _spans(title: str, data: SequenceData, parts: list[tuple[str, SequenceData]]) -> Listing:
    """Spans of every type: in all, in each part, and how many tokens they have."""
    found = [_of_part(part) for part in [data, *(part for _, part in parts)]]
    counts = [Counter(kind for kind, _, _ in side) for side in found]
    tokens: Counter[str] = Counter()
    for kind, start, end in found[0]:
        tokens[kind] += end - start
    lines = [["type", "spans", *(name for name, _ in parts), "tokens per span"]]
    for kind, count in sorted(counts[0].items(), key=lambda item: (-item[1], item[0])):
        own = [f"{side[kind]:,}" for side in counts]
        lines.append([kind or "(none)", *own, f"{tokens[kind] / count:.2f}"])
    return Listing(title, lines, range(1, len(lines[0])))


def _of_part(data: SequenceData) -> list[Span] | list[Bracket]:
    """The spans of all sentences, or the constituents of all trees."""
    if isinstance(data, TreeData):
        return [bracket for tree in data.trees for bracket in tree.brackets]
    return [span for tags in data.tags or [] for span in spans(tags)]
