"""Sub-words of texts and words: alignment, limits, batches."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest
import torch

from lossnet.encoders import Tokeniser
from lossnet.errors import DataError, SettingError


def names(tiny, coded) -> list[str]:
    vocabulary = json.loads(tiny.tokenizer)["model"]["vocab"]
    by_number = {number: name for name, number in vocabulary.items()}
    return [by_number[number] for number in coded.ids.tolist()]


def test_words_of_sub_words_by_hand(tiny) -> None:
    (coded,) = tiny.tokeniser().sentences([["The", "dogs", "ab", "\u200b", "saw"]], [1])
    assert names(tiny, coded) == ["[CLS]", "the", "dog", "##s", "a", "##b", "saw", "[SEP]"]
    assert coded.words.tolist() == [-1, 0, 1, 1, 2, 2, 4, -1]
    assert coded.types.tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    assert (len(coded), coded.cut, coded.lost) == (5, 0, 1)


def test_a_text_keeps_its_first_sub_words(tiny) -> None:
    cut, short, empty = tiny.tokeniser(5).texts(["the dog saw a cat", "the dog", ""])
    assert names(tiny, cut) == ["[CLS]", "the", "dog", "saw", "[SEP]"]
    assert (cut.cut, len(cut), cut.words, cut.types) == (2, 5, None, None)
    assert (short.cut, names(tiny, empty)) == (0, ["[CLS]", "[SEP]"])


def test_words_behind_the_limit_are_lost(tiny) -> None:
    (coded,) = tiny.tokeniser(5).sentences([["the", "dogs", "saw", "a", "cat", "the", "dog"]])
    assert coded.words.tolist() == [-1, 0, 1, 1, -1]
    assert (len(coded), coded.lost, coded.cut) == (7, 5, 5)


def test_a_million_characters_are_cut_before_they_are_read(tiny) -> None:
    tokeniser, start = tiny.tokeniser(16), time.monotonic()
    words, letters = tokeniser.texts(["dog " * 250_000, "x" * 10**6])
    assert (len(words), words.cut) == (16, 250_000 - 14)
    assert len(letters) <= 16
    (word,) = tokeniser.sentences([["x" * 10**6]])
    assert len(word) == 1
    assert time.monotonic() - start < 10


def test_batches_are_padded_on_the_right(tiny) -> None:
    tokeniser = tiny.tokeniser()
    x = tokeniser.collate(tokeniser.sentences([["dogs"], ["a", "cat", "saw"]], [0, 2]))
    assert x.attended.tolist() == [[True] * 4 + [False], [True] * 5]
    assert x.words.tolist() == [[-1, 0, 0, -1, -1], [-1, 0, 1, 2, -1]]
    assert x.types.tolist() == [[0, 1, 1, 0, 0], [0, 0, 0, 1, 0]]
    assert x.mask.tolist() == [[True, False, False], [True] * 3]
    texts = tokeniser.collate(tokeniser.texts(["the dog", "a"]))
    assert texts.mask.tolist() == [[True], [True]]
    assert texts.types is None
    assert texts.words is None


def test_words_are_read_as_within_a_text() -> None:
    """A byte-level tokenizer needs the space before a word."""
    tokenizers = pytest.importorskip("tokenizers")
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    numbers = {letter: number for number, letter in enumerate(letters)}
    numbers |= {"Ġd": len(numbers), "Ġdo": len(numbers) + 1}
    bpe = tokenizers.models.BPE(vocab=numbers, merges=[("Ġ", "d"), ("Ġd", "o")])
    tokenizer = tokenizers.Tokenizer(bpe)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokeniser = Tokeniser(tokenizer.to_str(), limit=8)
    (sentence,), (text,) = tokeniser.sentences([["do", "do"]]), tokeniser.texts(["do do"])
    assert sentence.ids.tolist() == [numbers["Ġdo"]] * 2
    assert text.ids.tolist() == [numbers["d"], numbers["o"], numbers["Ġdo"]]
    assert tokeniser.collate(tokeniser.texts([""])).attended.tolist() == [[False]]


def test_lone_surrogates_are_read(tiny) -> None:
    (coded,) = tiny.tokeniser().texts(["a \ud800 dog"])
    assert names(tiny, coded) == ["[CLS]", "a", "?", "dog", "[SEP]"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tiny: tiny.tokeniser(65), "at most 64 for the encoder .*, got 65"),
        (lambda tiny: tiny.tokeniser(2), "at least 3, as 2 sub-words are special, got 2"),
        (lambda tiny: tiny.tokeniser(0), "max_length must be an integer of at least 1"),
        (lambda tiny: tiny.tokeniser().texts(["a", None]), "text 1 is a NoneType; give strings"),
        (lambda tiny: tiny.tokeniser().sentences([["a"]], [1]), "1 words, and word 1 is marked"),
        (lambda tiny: tiny.tokeniser().sentences([["a"]], []), "1 sentences and 0 marked words"),
    ],
)
def test_errors(tiny, call, message) -> None:
    with pytest.raises((SettingError, DataError), match=message):
        call(tiny)


def test_settings_stored_with_a_tokenizer_do_not_count(tiny) -> None:
    facts = json.loads(tiny.tokenizer)
    facts["truncation"] = {"max_length": 3, "strategy": "LongestFirst", "stride": 0}
    facts["truncation"]["direction"] = "Right"
    (coded,) = Tokeniser(json.dumps(facts), limit=8).texts(["the dog saw a cat"])
    assert len(coded) == 7
    assert coded.ids.dtype == np.int64
    assert torch.as_tensor(coded.ids).dtype == torch.int64
