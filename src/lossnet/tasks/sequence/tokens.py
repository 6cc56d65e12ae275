"""Words, characters and columns as numbers: how sentences reach the networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.data.disk_items import DiskItems
from lossnet.data.vectors import WordVectors
from lossnet.devices import generator_on
from lossnet.errors import DataError
from lossnet.exporting.runtime.words import case_of
from lossnet.nets.tokens import Tokens

Sentences = Sequence[Sequence[str]]

#: Numbers of nothing (padding) and of what training never saw.
PADDING, UNKNOWN = 0, 1
#: Kinds of case, as a column.
CASES = ("lower", "upper", "title", "mixed", "digits", "other")
#: Longest word the character CNN reads to its end.
LONGEST = 30

#: What :meth:`TokenCoder.to_json` gives: see :func:`lossnet.files.check_form`.
VOCABULARY_FORM = {
    **{"words": [str], "chars": [str], "columns": {str: [str]}},
    **{"lowercase": bool, "case": bool, "learned": int, "trained": int},
    "encoder": (None, dict),
}


@dataclass(frozen=True)
class Coded:
    """One sentence as numbers: words ``(T,)``, characters ``(T, W)``, columns ``(T,)`` each."""

    words: np.ndarray
    chars: np.ndarray | None
    columns: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.words)


@dataclass(frozen=True)
class TokenCoder:
    """The tables that turn tokens into numbers.

    A word is looked up as it is written, then in lower case where ``lowercase`` says so, then it
    is unknown. Words of pretrained vectors are all known, whether or not training saw them.

    Attributes:
        words: number of each word; 0 is padding, 1 unknown.
        lowercase: look words up in lower case too.
        chars: number of each character, empty where characters are not read.
        columns: number of each value of each further column.
        case: whether the case of a word is a column.
        learned: how many words, from the first, have no pretrained vector; padding and unknown
            are among them.
        trained: how many words, from the first, occur in training; those without a pretrained
            vector all do.
    """

    words: Mapping[str, int]
    lowercase: bool = True
    chars: Mapping[str, int] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    case: bool = False
    learned: int = 2
    trained: int = 2

    @classmethod
    def learn(
        cls,
        sentences: Sentences,
        columns: Mapping[str, Sentences],
        *,
        others: Sentences = (),
        vectors: WordVectors | None,
        lowercase: bool,
        case: bool,
        chars: bool,
        min_count: int,
    ) -> TokenCoder:
        """Tables of the training sentences, and of the pretrained vectors' words.

        ``others`` are sentences without a truth that nets are trained on as well.
        """
        known = dict.fromkeys(vectors.words) if vectors is not None else {}

        def found(word: str) -> str:
            return word.lower() if lowercase and word not in known else word

        counts = Counter(chain.from_iterable(sentences))
        seen: Counter[str] = Counter()
        for word, count in counts.items():
            seen[found(word)] += count
        new = sorted(w for w, count in seen.items() if count >= min_count and w not in known)
        met = seen.keys() | {found(word) for word in set(chain.from_iterable(others))}
        first = [word for word in known if word in met]
        letters = sorted({letter for word in counts for letter in word}) if chars else []
        return cls(
            _numbered([*new, *first, *(word for word in known if word not in met)]),
            lowercase,
            _numbered(letters),
            {n: _numbered(sorted({*chain.from_iterable(rows)})) for n, rows in columns.items()},
            case,
            learned=2 + len(new),
            trained=2 + len(new) + len(first),
        )

    def without_words(self) -> TokenCoder:
        """The same where an encoder reads the words: none is known."""
        return replace(self, words={}, learned=2, trained=2)

    @property
    def column_sizes(self) -> dict[str, int]:
        """How many values each column has, padding and unknown included."""
        sizes = {name: len(table) + 2 for name, table in self.columns.items()}
        return sizes | ({"case": len(CASES) + 2} if self.case else {})

    @property
    def characters(self) -> int:
        """How many characters there are, padding and unknown included; 0 where none are read."""
        return len(self.chars) + 2 if self.chars else 0

    def code_each(self, sentences: Sentences, columns: Mapping[str, Sentences]) -> Sequence[Coded]:
        """The same as :meth:`code`; of sentences on disk, when they are read."""
        if not isinstance(sentences, DiskItems):
            return self.code(sentences, columns)
        self.code([], columns)  # an error where columns are missing
        together = CodedOnDisk(self, sentences, columns)
        return DiskItems(together, np.array(sentences.lengths, dtype=np.int32))

    def code(self, sentences: Sentences, columns: Mapping[str, Sentences]) -> list[Coded]:
        """Every sentence as numbers; each word is looked up once, however often it occurs."""
        if {*columns} != {*self.columns}:
            given, known = (
                ", ".join(map(repr, names)) or "none" for names in (columns, self.columns)
            )
            raise DataError(
                f"columns must be those the model was trained with ({known}), got {given}"
            )
        distinct = list(dict.fromkeys(chain.from_iterable(sentences)))
        place = {word: number for number, word in enumerate(distinct)}
        numbers = np.array([self._word(word) for word in distinct], dtype=np.int64)
        cases = np.array([CASES.index(case_of(w)) + 2 for w in distinct] if self.case else [], int)
        letters = self._characters(distinct) if self.chars else None
        lengths = np.array([min(LONGEST, len(word)) for word in distinct], dtype=np.int64)
        coded = []
        for row, sentence in enumerate(sentences):
            at = np.array([place[word] for word in sentence], dtype=np.int64)
            parts = {
                name: np.array([table.get(v, UNKNOWN) for v in columns[name][row]], dtype=np.int64)
                for name, table in self.columns.items()
            }
            if self.case:
                parts["case"] = cases[at]
            chars = None if letters is None else letters[at, : lengths[at].max()]
            coded.append(Coded(numbers[at], chars, parts))
        return coded

    def _word(self, word: str) -> int:
        lower = word.lower() if self.lowercase else word
        return self.words.get(word) or self.words.get(lower, UNKNOWN)

    def _characters(self, words: Sequence[str]) -> np.ndarray:
        numbers = np.zeros((len(words), LONGEST), dtype=np.int64)
        for row, word in enumerate(words):
            for column, letter in enumerate(word[:LONGEST]):
                numbers[row, column] = self.chars.get(letter, UNKNOWN)
        return numbers

    def table(self, vectors: WordVectors | None, width: int, seed: int) -> Tensor:
        """Word vectors to start from, ``(number, width)``: the pretrained ones, random others."""
        width = width if vectors is None else vectors.vectors.shape[1]
        generator = generator_on("cpu", seed)
        spread = 0.1 if vectors is None else float(vectors.vectors.std())
        start = spread * torch.randn(len(self.words) + 2, width, generator=generator, device="cpu")
        start[PADDING] = 0.0
        if vectors is not None:
            rows = [self.words[word] for word in vectors.words]
            start[rows] = torch.as_tensor(vectors.vectors, device="cpu")
        return start

    def to_json(self) -> dict[str, Any]:
        """The tables as JSON holds them."""
        columns = {name: list(table) for name, table in self.columns.items()}
        return vars(self) | {"words": [*self.words], "chars": [*self.chars], "columns": columns}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> TokenCoder:
        """What :meth:`to_json` gave."""
        columns = {name: _numbered(values) for name, values in facts["columns"].items()}
        words, chars = _numbered(facts["words"]), _numbered(facts["chars"])
        return cls(**{**facts, "words": words, "chars": chars, "columns": columns})


@dataclass(frozen=True)
class CodedOnDisk:
    """Sentences on disk that become numbers when they are read."""

    coder: TokenCoder
    sentences: Sentences
    columns: Mapping[str, Sentences]

    def __len__(self) -> int:
        return len(self.sentences)

    def read(self, numbers: Iterable[int]) -> Iterator[Coded]:
        """These sentences, coded."""
        for number in numbers:
            columns = {name: [rows[number]] for name, rows in self.columns.items()}
            yield self.coder.code([self.sentences[number]], columns)[0]


def collate(coded: Sequence[Coded], device: str | torch.device = "cpu") -> Tokens:
    """Sentences padded on the right to the longest of them."""
    chars = [sentence.chars for sentence in coded if sentence.chars is not None]
    return Tokens(
        padded([sentence.words for sentence in coded], device),
        padded([np.ones(len(sentence), dtype=bool) for sentence in coded], device),
        padded(chars, device) if chars else None,
        {name: padded([s.columns[name] for s in coded], device) for name in coded[0].columns},
    )


def padded(arrays: Sequence[np.ndarray], device: str | torch.device) -> Tensor:
    """Arrays one after another, zeros behind each up to the largest shape."""
    shape = np.max([array.shape for array in arrays], axis=0)
    together = np.zeros((len(arrays), *shape), dtype=arrays[0].dtype)
    for row, array in enumerate(arrays):
        together[row][tuple(map(slice, array.shape))] = array
    return torch.as_tensor(together, device=device)


def _numbered(names: Sequence[str]) -> dict[str, int]:
    numbers = {name: number for number, name in enumerate(names, start=2)}
    if len(numbers) < len(names):
        raise DataError("a word, character or value of a column is listed twice")
    return numbers
