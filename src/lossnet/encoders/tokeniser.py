"""Texts and sentences as sub-words: what an encoder is given."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lossnet.encoders.extra import need
from lossnet.errors import DataError, SettingError

#: Characters per sub-word allowed before tokenising: what lies behind is cut unread, so that a
#: text of a million characters takes no longer than one of the limit.
_GENEROUS = 100
#: Longest word that is read to its end.
_LONGEST = 1000
#: Texts tokenised at a time.
_BATCH = 1000


@dataclass(frozen=True)
class Coded:
    """One text or sentence as sub-words.

    Attributes:
        ids: numbers of the sub-words, special ones included, ``(S,)``.
        types: token type of each, 1 for those of a marked word; None where no word is marked.
        words: the word each belongs to, ``(S,)``, -1 for a special one; None for a text.
        cut: how many sub-words did not fit; an estimate where the text was too long to read.
        length: number of words of a sentence, or of sub-words of a text.
    """

    ids: np.ndarray
    types: np.ndarray | None
    words: np.ndarray | None
    cut: int
    length: int

    def __len__(self) -> int:
        return self.length

    @property
    def lost(self) -> int:
        """Words without a single sub-word, whose vectors are zeros; 0 for a text."""
        if self.words is None:
            return 0
        return self.length - len(np.unique(self.words[self.words >= 0]))


@dataclass(frozen=True)
class Subwords:
    """A batch of texts or sentences, padded on the right.

    Attributes:
        ids: numbers of the sub-words, ``(B, S)``.
        attended: true where there is a sub-word, ``(B, S)``.
        types: token types, ``(B, S)``, or None.
        words: the word of each sub-word, ``(B, S)``, -1 where there is none; None for texts.
        mask: true where there is a word, ``(B, T)``; for texts ``(B, 1)``, all true.
    """

    ids: Tensor
    attended: Tensor
    types: Tensor | None
    words: Tensor | None
    mask: Tensor


class Tokeniser:
    """Cuts texts and words into an encoder's sub-words; :meth:`Pretrained.tokeniser` makes it.

    A text keeps its first ``limit`` sub-words, the special ones counted, and the rest is cut. A
    text is read up to ``100 * limit`` characters, a sentence up to ``limit`` words, and a word up
    to 1,000 characters.

    Args:
        tokenizer: the JSON of a ``tokenizers.Tokenizer``.
        limit: most sub-words of a text or sentence.
        pad: number of the padding.
    """

    def __init__(self, tokenizer: str, *, limit: int, pad: int = 0) -> None:
        self.limit, self.pad = limit, pad
        self._json = tokenizer
        self._special = special = self._plain.num_special_tokens_to_add(False)
        if limit <= special:
            least = f"max_length must be at least {special + 1}, as {special} sub-words are special"
            raise SettingError(f"{least}, got {limit}")

    @cached_property
    def _plain(self) -> Any:
        return self._built(self._json)

    @cached_property
    def _by_word(self) -> Any:
        """The same where words come one by one, each preceded by a space as in a text."""
        facts = json.loads(self._json)
        outer = facts.get("pre_tokenizer") or {}
        for step in (outer, *outer.get("pretokenizers", ())):
            if step.get("type") == "ByteLevel":
                step["add_prefix_space"] = True
            if step.get("type") == "Metaspace":
                step["prepend_scheme"] = "always"
        return self._built(json.dumps(facts))

    def _built(self, text: str) -> Any:
        tokenizers = need("tokenizers", "an encoder")
        try:
            tokenizer = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # it raises no other kind
            raise DataError(f"the encoder's tokenizer is damaged: {error}") from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.limit)
        return tokenizer

    def texts(self, texts: Sequence[str]) -> list[Coded]:
        """Each text as sub-words; an empty one has only the special ones, if there are any."""
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                raise DataError(f"text {row} is a {type(text).__name__}; give strings")
        most = _GENEROUS * self.limit
        found = self._encoded(self._plain, [_clean(text[:most]) for text in texts])
        coded = []
        for text, (encoding, cut) in zip(texts, found, strict=True):
            unread = max(len(text) - most, 0)
            cut += round(unread / most * (len(encoding) + cut - self._special))
            ids = np.array(encoding.ids, dtype=np.int64)
            coded.append(Coded(ids, None, None, cut, len(ids)))
        return coded

    def sentences(
        self, sentences: Sequence[Sequence[str]], marked: Sequence[int] | None = None
    ) -> list[Coded]:
        """Each sentence as sub-words that know their words.

        Args:
            sentences: lists of words.
            marked: for each sentence the word whose sub-words have token type 1.
        """
        if marked is not None and len(marked) != len(sentences):
            raise DataError(f"there are {len(sentences)} sentences and {len(marked)} marked words")
        words = [[_clean(word[:_LONGEST]) for word in row[: self.limit]] for row in sentences]
        found = self._encoded(self._by_word, words, is_pretokenized=True)
        coded = []
        for row, (encoding, cut) in enumerate(found):
            ids = np.array(encoding.ids, dtype=np.int64)
            own = np.array([-1 if w is None else w for w in encoding.word_ids], dtype=np.int64)
            length = len(sentences[row])
            types = None
            if marked is not None:
                types = (own == _checked(marked[row], length, row)).astype(np.int64)
            coded.append(Coded(ids, types, own, cut + max(length - self.limit, 0), length))
        return coded

    def _encoded(
        self, tokenizer: Any, inputs: list[Any], **options: bool
    ) -> Iterator[tuple[Any, int]]:
        """Each input's encoding, and how many sub-words were cut off it."""
        for start in range(0, len(inputs), _BATCH):
            for encoding in _batch(tokenizer, inputs[start : start + _BATCH], options):
                yield encoding, sum(len(part) - self._special for part in encoding.overflowing)

    def collate(self, coded: Sequence[Coded], device: str | torch.device = "cpu") -> Subwords:
        """A batch, padded to the longest of them."""
        ids = [one.ids for one in coded]
        types = [one.types for one in coded if one.types is not None]
        words = [one.words for one in coded if one.words is not None]
        attended = _padded([np.ones(len(one), dtype=bool) for one in ids], False)
        lengths = np.array([len(one) if words else 1 for one in coded])
        mask = np.arange(lengths.max(initial=1)) < lengths[:, None]

        def moved(array: np.ndarray) -> Tensor:
            return torch.as_tensor(array, device=device)

        return Subwords(
            moved(_padded(ids, self.pad)),
            moved(attended),
            moved(_padded(types, 0)) if types else None,
            moved(_padded(words, -1)) if words else None,
            moved(mask),
        )


def _clean(text: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot hold, as question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _checked(word: int, length: int, row: int) -> int:
    if not 0 <= word < length:
        wrong = f"sentence {row} has {length} words, and word {word} is marked"
        raise DataError(f"{wrong}; marked words are counted from 0")
    return word


def _padded(arrays: Sequence[np.ndarray], value: int | bool) -> np.ndarray:
    """Arrays as the rows of one, this value behind each; at least one column."""
    width = max((len(array) for array in arrays), default=0)
    together = np.full((len(arrays), max(width, 1)), value, dtype=arrays[0].dtype)
    for row, array in enumerate(arrays):
        together[row, : len(array)] = array
    return together


def _batch(tokenizer: Any, inputs: list[Any], options: dict[str, bool]) -> list[Any]:
    """The encodings; an error where the tokeniser's own tables contradict each other."""
    try:
        return list(tokenizer.encode_batch(inputs, **options))
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what Rust raises; no Exception
            raise
        what = f"the tokeniser is damaged ({error})"
        raise DataError(f"{what}; take the encoder's files anew, or train again") from error
