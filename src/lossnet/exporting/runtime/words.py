"""Words, characters and columns as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .base import Array, ModelError

#: The number of what training never saw; the first that it saw has the next.
_UNKNOWN = 1


def case_of(word: str) -> str:
    """What kind of case a word has."""
    if any(letter.isdigit() for letter in word):
        return "digits"
    if not any(letter.isalpha() for letter in word):
        return "other"
    if word.islower():
        return "lower"
    if word.isupper():
        return "upper"
    return "title" if word[0].isupper() and word[1:].islower() else "mixed"


class Coder:
    """The tables that turn tokens into numbers; 0 is padding.

    Args:
        vocabulary: ``words``, ``chars`` and the values of ``columns`` in their order;
            ``lowercase``; ``cases``, the kinds of case if they are a column; ``longest``, the
            characters of a word that are read.
    """

    def __init__(self, vocabulary: Mapping[str, Any]) -> None:
        self.words, self.chars = _numbered(vocabulary["words"]), _numbered(vocabulary["chars"])
        self.columns = {name: _numbered(v) for name, v in vocabulary["columns"].items()}
        self.cases = _numbered(vocabulary["cases"])
        self.lowercase, self.longest = vocabulary["lowercase"], vocabulary["longest"]

    def code(
        self, sentences: Sequence[Sequence[str]], columns: Mapping[str, Any]
    ) -> list[dict[str, Array]]:
        """Every sentence as numbers."""
        if {*columns} != {*self.columns}:
            wanted, given = (", ".join(names) or "none" for names in (self.columns, columns))
            raise ModelError(f"columns must be those of training ({wanted}), got {given}")
        coded = []
        for row, tokens in enumerate(sentences):
            if not tokens or not all(isinstance(token, str) and token for token in tokens):
                raise ModelError(f"sentence {row} (from 0) must be a list of one word or more")
            arrays = {"words": np.array([self._word(token) for token in tokens])}
            if self.chars:
                width = min(self.longest, max(map(len, tokens)))
                arrays["chars"] = np.zeros((len(tokens), width), dtype=np.int64)
                for word, token in zip(arrays["chars"], tokens, strict=True):
                    numbers = [self.chars.get(letter, _UNKNOWN) for letter in token[:width]]
                    word[: len(numbers)] = numbers
            for name, table in self.columns.items():
                values = columns[name][row]
                if values is None or len(values) != len(tokens):
                    raise ModelError(f"sentence {row} (from 0) needs a {name} for every word")
                arrays[f"column_{name}"] = np.array([table.get(v, _UNKNOWN) for v in values])
            if self.cases:
                arrays["column_case"] = np.array([self.cases[case_of(t)] for t in tokens])
            coded.append(arrays)
        return coded

    def _word(self, word: str) -> int:
        lower = word.lower() if self.lowercase else word
        return self.words.get(word, self.words.get(lower, _UNKNOWN))

    def padded(self, some: Sequence[Mapping[str, Array]]) -> dict[str, Array]:
        """Sentences as one batch, zeros behind each, and their mask."""
        found = {}
        for name in some[0]:
            shape = np.max([one[name].shape for one in some], axis=0)
            found[name] = np.zeros((len(some), *shape), dtype=np.int64)
            for row, one in zip(found[name], some, strict=True):
                row[tuple(map(slice, one[name].shape))] = one[name]
        lengths = np.array([len(one["words"]) for one in some])
        return {**found, "mask": np.arange(lengths.max()) < lengths[:, None]}


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names, start=2)}
