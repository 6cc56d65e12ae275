"""Tags of sentences: by single tokens or as a chain, in the order that their scheme allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .base import Array, Model, ModelError, json_lines, softmax, tempered, text_lines
from .chains import Chain, Rules, choose_spans, tags_of_spans, viterbi
from .words import Coder

_SENTENCES, _TOKENS = 64, 1 << 14
#: The least probability of a tag of a chain, as in lossnet.nets.ChainTagger.
_LEAST = 1e-6
Columns = Mapping[str, Sequence[Sequence[str]]]


class Sentences(NamedTuple):
    """Sentences, lists of tokens, and further columns of each token by name."""

    tokens: Sequence[Sequence[str]]
    columns: Columns


class TagModel(Model):
    """Sentences, lists of tokens, and the tag of each token."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.coder, self.rules = Coder(self.facts["vocabulary"]), Rules.of(self.arrays)

    def read(self, path: Path) -> Sentences:
        """Sentences of a text with one a line, of CoNLL, or of JSON lines with ``tokens``."""
        kind = path.suffix.lower()
        if kind == ".conllu":
            raise ModelError(f"{path}: give CoNLL with the word first, .txt or .jsonl")
        if kind == ".jsonl":
            return self._of_json(path)
        if kind == ".txt":
            return Sentences([words for line in text_lines(path) if (words := _cells(line))], {})
        blocks: list[list[list[str]]] = [[]]
        for line in text_lines(path):
            cells = _cells(line)
            if not cells or cells[0].startswith("-DOCSTART-"):
                blocks.append([])
            else:
                blocks[-1].append(cells)
        blocks, names = [block for block in blocks if block], list(self.coder.columns)
        for cells in (cells for block in blocks for cells in block):
            if len(cells) <= len(names):
                what = f"{path}: {' '.join(cells)!r} has {len(cells)} cells"
                raise ModelError(f"{what}; expected the word and {', '.join(names)}")
        columns = {
            name: [[cells[k] for cells in block] for block in blocks]
            for k, name in enumerate(names, start=1)
        }
        return Sentences([[cells[0] for cells in block] for block in blocks], columns)

    def _of_json(self, path: Path) -> Sentences:
        rows = [row for _, row in json_lines(path)]
        columns = {name: [row.get(name) for row in rows] for name in self.coder.columns}
        return Sentences([row.get("tokens", []) for row in rows], columns)  # type: ignore[arg-type]

    # Prediction ------------------------------------------------------------------------------

    def predict(self, sentences: Any, columns: Columns | None = None) -> list[list[str]]:
        """The tags of every sentence."""
        return self._each(self._tags, self._sentences(sentences, columns))

    def predict_proba(self, sentences: Any, columns: Columns | None = None) -> list[Array]:
        """Probabilities ``(T, C)`` of the tags in every sentence."""
        return self._each(self._users_probabilities, self._sentences(sentences, columns))

    def _sentences(self, sentences: Any, columns: Columns | None) -> Sentences:
        if isinstance(sentences, Sentences):
            return sentences
        if isinstance(sentences, str) or any(isinstance(row, str) for row in sentences):
            raise ModelError("a sentence is a string; give lists of tokens")
        return Sentences(sentences, columns or {})

    def _each(self, found: Any, sentences: Sentences) -> list[Any]:
        """What ``found`` gives for the sentences of a batch, in the sentences' order."""
        coded = self.coder.code(sentences.tokens, sentences.columns)
        results: list[Any] = [None] * len(coded)
        order = sorted(range(len(coded)), key=lambda k: len(sentences.tokens[k]))
        while order:
            longest = len(sentences.tokens[order[-1]])
            count = max(1, min(_SENTENCES, _TOKENS // max(longest, 1)))
            rows, order = order[-count:], order[:-count]
            arrays = self.coder.padded([coded[k] for k in rows])
            scores = self.net(**{one["name"]: arrays[one["name"]] for one in self.net.inputs})
            never = self._never(arrays)
            one = found(scores["scores"].astype(np.float64), arrays["mask"], never)
            for row, values in zip(rows, one, strict=True):
                results[row] = values[: len(sentences.tokens[row])]
        return results

    def _never(self, arrays: Mapping[str, Array]) -> Array | None:
        """Tags that cannot be, ``(B, T, C)``."""
        return None

    def _probabilities(self, scores: Array, mask: Array) -> Array:
        """Those of the net, ``(B, T, C)``."""
        if "pairwise" not in self.arrays:
            return softmax(scores)
        p = Chain(-scores, -self.arrays["pairwise"], mask).marginals()
        if self.facts["exact"]:
            return p
        p = np.maximum(p, _LEAST)
        found: Array = p / p.sum(-1, keepdims=True)
        return found

    def _users_probabilities(self, scores: Array, mask: Array, never: Array | None) -> Array:
        p, temperature = self._probabilities(scores, mask), self.facts["temperature"]
        return p if temperature is None else tempered(p, temperature, coupled=True)

    def _tags(self, scores: Array, mask: Array, never: Array | None) -> list[list[str]]:
        if self.facts["decision"]["rule"] == "expected":
            return self._by_spans(scores, mask, never)
        p = self._probabilities(scores, mask)
        if self.facts["exact"]:
            path = viterbi(-scores, -self.arrays["pairwise"], mask)
            p = (path[..., None] == np.arange(p.shape[-1])).astype(np.float64)
        energies = -np.log(np.maximum(p, np.finfo(np.float32).tiny))
        steps = np.zeros((p.shape[-1],) * 2)
        found = viterbi(energies, steps, mask, self.rules, never)
        return [[self.facts["tags"][tag] for tag in row] for row in found]

    def _by_spans(self, scores: Array, mask: Array, never: Array | None) -> list[list[str]]:
        """The spans of each sentence above a threshold."""
        decision, given = self.facts["decision"], self.facts["given_span"]
        scores = scores / decision["temperature"]
        if "pairwise" in self.arrays:
            pairwise = -self.arrays["pairwise"] / decision["temperature"]
        else:
            scores = np.log(softmax(scores))
            pairwise = np.zeros((scores.shape[-1],) * 2)
        chain = Chain(-scores, pairwise, mask, self.rules, never)
        pools = chain.spans(self.facts["tags"], self.facts["least"], given)
        least = float(1.0 / (1.0 + np.exp(decision["offset"])))
        found = []
        for pool, length in zip(pools, mask.sum(1).tolist(), strict=True):
            spans = choose_spans(pool, length, least, given)
            found.append(tags_of_spans(spans, length, self.facts["span_scheme"]))
        return found

    def lines(self, inputs: Any, *, proba: bool) -> Iterator[dict[str, Any]]:
        sentences, number = inputs, {tag: k for k, tag in enumerate(self.facts["tags"])}
        tags = self.predict(sentences)
        p = self.predict_proba(sentences) if proba else [None] * len(tags)
        for tokens, row, values in zip(sentences.tokens, tags, p, strict=True):
            line: dict[str, Any] = {"tokens": list(tokens), "tags": row}
            if values is not None:
                chosen = [values[t, number[tag]] for t, tag in enumerate(row)]
                line["probabilities"] = [round(float(value), 6) for value in chosen]
            yield line


def _cells(line: str) -> list[str]:
    return re.findall("[^ \t]+", line)


class RoleModel(TagModel):
    """Sentences with a predicate each, and its roles as tags."""

    def read(self, path: Path) -> Sentences:
        """Lines ``INDEX WORDS``, the predicate's position first, as ``2 the dog barks``."""
        tokens, predicates = [], []
        for number, line in enumerate(text_lines(path), start=1):
            cells = _cells(line)
            if not cells:
                continue
            words = cells[1 : cells.index("|||")] if "|||" in cells else cells[1:]
            if not cells[0].isdecimal() or not int(cells[0]) < len(words):
                what = f"{path}, line {number}: {cells[0]!r} is no position of one of the words"
                raise ModelError(f"{what}; a line is INDEX WORDS, as in '2 the dog barks'")
            tokens.append(words)
            predicates.append(int(cells[0]))
        return self._sentences(tokens, predicates)

    def _sentences(self, sentences: Any, predicates: Any) -> Sentences:
        if isinstance(sentences, Sentences):
            return sentences
        if predicates is None or len(predicates) != len(sentences):
            raise ModelError("give the position of the predicate of every sentence")
        mark, other = self.facts["marks"]
        marks = [
            [mark if t == place else other for t in range(len(row))]
            for row, place in zip(sentences, predicates, strict=True)
        ]
        return super()._sentences(sentences, {self.facts["marked"]: marks})

    def _never(self, arrays: Mapping[str, Array]) -> Array:
        """At a predicate all tags but its own, and elsewhere that one."""
        mark = self.coder.columns[self.facts["marked"]][self.facts["marks"][0]]
        is_verb = np.arange(len(self.facts["tags"])) == self.facts["verb"]
        never: Array = (arrays[f"column_{self.facts['marked']}"] == mark)[..., None] != is_verb
        return never
