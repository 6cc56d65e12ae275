"""Predicted roles: found once, measured, written as JSON lines, CoNLL or text, and drawn."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from lossnet.errors import SettingError
from lossnet.tasks.roles.metrics import GIVEN
from lossnet.tasks.roles.predicates import RoleData
from lossnet.tasks.roles.propbank import gold_conll_text
from lossnet.tasks.roles.role_lines import role_lines
from lossnet.tasks.sequence.predictions import rows_of
from lossnet.tasks.sequence.tags import spans
from lossnet.tasks.task import Judged

Tags = list[list[str]]


@lru_cache(maxsize=8)
def predicted(model: Any, data: RoleData) -> Tags:
    """The tags of the predicates. Kept: they are measured and then drawn, and take long to find."""
    found: Tags = model.predict(data)
    return found


def lines_for(model: Any, data: RoleData, out: str, *, proba: bool) -> Iterable[str]:
    """What a file of this name holds, or the terminal."""
    kind = Path(out).suffix.lower()
    if proba and kind not in ("", ".jsonl"):
        raise SettingError(f"--proba: {kind} holds no probabilities; --out must be .jsonl")
    tags = predicted(model, data)
    if kind == ".gold_conll":
        return [gold_conll_text(data, tags)]
    if kind == ".txt":
        lines = role_lines(data, tags)
        return ["\n" if k is None else lines[k] for k in rows_of(data)]
    return _json_lines(model, data, tags, proba=proba)


def _json_lines(model: Any, data: RoleData, tags: Tags, *, proba: bool) -> Iterator[str]:
    """One object per row: words, predicate, tags and roles; probabilities of the tags if asked."""
    shares = model.predict_proba(data) if proba else None
    number = {tag: k for k, tag in enumerate(model.tags_)}
    predicates, sentences = data.predicates, data.documents or []
    for row, k in enumerate(rows_of(data)):
        line: dict[str, Any] = {"row": row, "tokens": [], "tags": [], "roles": []}
        if k is not None:
            words = data.tokens[k]
            line |= {"sentence": sentences[k], "predicate": predicates[k], "tokens": words}
            line |= {"tags": tags[k], "roles": _roles(words, tags[k])}
            if shares is not None:
                chosen = (p[number[tag]] for p, tag in zip(shares[k], tags[k], strict=True))
                line["probabilities"] = [round(float(p), 6) for p in chosen]
        yield json.dumps(line, ensure_ascii=False) + "\n"


def _roles(words: list[str], tags: list[str]) -> list[dict[str, Any]]:
    return [
        {"role": kind, "start": start, "end": end, "text": " ".join(words[start:end])}
        for kind, start, end in spans(tags)
        if kind != GIVEN
    ]


def draw(judged: Mapping[str, Judged], path: str) -> Path:
    """Draw sentences with each model's roles next to the truth."""
    from lossnet.tasks.roles.role_pictures import draw_roles

    data = next(iter(judged.values())).data
    return draw_roles(data, {name: predicted(*one) for name, one in judged.items()}, path)
