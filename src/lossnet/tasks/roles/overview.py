"""Sentences, predicates and roles of a data set, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from lossnet.tasks.description import Description, Listing
from lossnet.tasks.roles.metrics import GIVEN, repeated_roles
from lossnet.tasks.roles.predicates import RoleData
from lossnet.tasks.sequence.tags import Span, spans


def describe_roles(data: RoleData, by_name: Mapping[str, RoleData]) -> Description:
    """The description of a data set: all its predicates, and its parts where it has any."""
    parts = list(by_name.items())
    columns = [("all", data), *parts] if parts else [("", data)]
    lines = [["", *(name for name, _ in columns)]] if parts else []
    facts = [_facts(one) for _, one in columns]
    lines += [[name, *(values[name] for values in facts)] for name in facts[0]]
    counts, spans_of_all = roles_in(data), max(len(_spans(data)), 1)
    shares = {role: 100 * count / spans_of_all for role, count in counts.most_common()}
    return Description(
        data.name,
        lines,
        data.notes,
        [_roles(data, parts)] if data.labelled else [],
        {"roles": shares} if shares else {},
        {"words per sentence": [len(sentence.words) for sentence in data.sentences]},
    )


def roles_in(data: RoleData) -> Counter[str]:
    """How many spans each role has, V left out; C- and R- are roles of their own."""
    return Counter(span.type for span in _spans(data))


def _spans(data: RoleData) -> list[Span]:
    return [span for tags in data.tags or [] for span in spans(tags) if span.type != GIVEN]


def _facts(data: RoleData) -> dict[str, str]:
    sentences = len(data.sentences)
    without = sentences - len(set(data.documents or ()))
    facts = {
        "sentences": f"{sentences:,}",
        "without predicates": f"{without:,}",
        "predicates": f"{len(data):,}",
        "per sentence": f"{len(data) / sentences:.2f}",
        "words": f"{sum(len(sentence.words) for sentence in data.sentences):,}",
        "words per sentence": _range([len(sentence.words) for sentence in data.sentences]),
    }
    if data.labelled:
        found = _spans(data)
        repeated = sum(bool(repeated_roles(tags)) for tags in data.tags or [])
        facts |= {
            "spans": f"{len(found):,}",
            "spans per predicate": f"{len(found) / len(data):.2f}",
            "words per span": _range([span.end - span.start for span in found] or [0]),
            "roles": f"{len(roles_in(data)):,}",
            "core role repeated": f"{repeated:,} ({100 * repeated / len(data):.2f} %)",
        }
    return {**facts, "checksum": data.checksum()[:16]}


def _range(lengths: list[int]) -> str:
    """The median, and the longest."""
    return f"{np.median(lengths):.0f}, at most {max(lengths):,}"


def _roles(data: RoleData, parts: list[tuple[str, RoleData]]) -> Listing:
    """Every role: its spans in all and in each part, and how many words they have."""
    counts = [roles_in(one) for one in (data, *(part for _, part in parts))]
    words: Counter[str] = Counter()
    for span in _spans(data):
        words[span.type] += span.end - span.start
    lines = [["role", "spans", *(name for name, _ in parts), "words per span"]]
    for role, count in sorted(counts[0].items(), key=lambda item: (-item[1], item[0])):
        own = [f"{side[role]:,}" for side in counts]
        lines.append([role, *own, f"{words[role] / count:.2f}"])
    return Listing("", lines, range(1, len(lines[0])))
