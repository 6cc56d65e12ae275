"""Label sets of texts, whose features are TF-IDF."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .base import Array, ModelError, json_lines, text_lines
from .label_sets import LabelModel

_ROWS = 256
_WORD = re.compile(r"(?u)\b\w\w+\b")


class TextModel(LabelModel):
    """Texts, and the labels of each. ``predict`` takes a list of strings."""

    def read(self, path: Path) -> list[str]:
        """Texts of a ``.txt`` file, one a line, or of a ``.jsonl`` file, the key ``text``."""
        if path.suffix.lower() != ".jsonl":
            return text_lines(path)
        found = []
        for place, row in json_lines(path):
            if not isinstance(row.get("text"), str):
                raise ModelError(f"{place}: no text; a line is an object with the key 'text'")
            found.append(row["text"])
        return found

    def batches(self, inputs: Any) -> Iterator[Array]:
        """TF-IDF rows: (1 + log tf) idf, each row of one length."""
        if isinstance(inputs, str):
            raise ModelError("inputs is a string; give a list of strings")
        place = {term: k for k, term in enumerate(self.facts["terms"])}
        for first in range(0, len(inputs), _ROWS):
            some = inputs[first : first + _ROWS]
            rows = np.zeros((len(some), len(place)), dtype=np.float32)
            for row, text in zip(rows, some, strict=True):
                if not isinstance(text, str):
                    raise ModelError(f"an input is a {type(text).__name__}; give strings")
                counts = Counter(term for term in self._terms(text) if term in place)
                at = np.array([place[term] for term in counts], dtype=np.int64)
                tf = np.log(np.array(list(counts.values()), dtype=np.float32)) + np.float32(1)
                row[at] = tf * self.arrays["idf"][at]
                row /= np.sqrt(np.dot(row, row)) or 1.0
            yield rows * np.float32(self.facts["length"])

    def _terms(self, text: str) -> Iterator[str]:
        words = _WORD.findall(text.lower())
        for size in range(1, self.facts["longest"] + 1):
            for start in range(len(words) - size + 1):
                yield " ".join(words[start : start + size])
