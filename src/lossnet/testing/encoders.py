"""A tiny random encoder, for tests and examples that download nothing."""

from __future__ import annotations

import json
import string
from collections.abc import Iterable
from pathlib import Path

import torch

from lossnet.encoders.extra import need

_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_WORDS = ("the", "a", "dog", "cat", "barks", "sleeps", "rome", "ann", "saw", "left")


def write_tiny_encoder(
    folder: str | Path,
    *,
    words: Iterable[str] = _WORDS,
    width: int = 16,
    most: int = 64,
    types: int = 2,
    seed: int = 0,
) -> Path:
    """Write a random BERT with two layers and its tokenizer to a folder, and return the folder.

    Its sub-words are lower-case letters, digits and a few words: ``"dogs"`` is ``dog ##s``.

    Args:
        folder: made where it does not exist.
        words: words that are not split into letters, in lower case.
        width: width of its vectors.
        most: most sub-words.
        types: number of token types.
        seed: of the weights.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = _write_tokenizer(folder, words, most)
    transformers = need("transformers", "a tiny encoder")
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * width,
        max_position_embeddings=most,
        type_vocab_size=types,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.BertModel(config, add_pooling_layer=False)
    need("safetensors.torch", "a tiny encoder").save_file(
        model.state_dict(), folder / "model.safetensors", {"format": "pt"}
    )
    (folder / "config.json").write_text(config.to_json_string(), encoding="utf-8")
    return folder


def _write_tokenizer(folder: Path, words: Iterable[str], most: int) -> list[str]:
    tokenizers = need("tokenizers", "a tiny encoder")
    letters = string.ascii_lowercase + string.digits
    vocabulary = [*_SPECIAL, *letters, *(f"##{letter}" for letter in letters), *".,!?'-"]
    vocabulary += sorted({*words}.difference(vocabulary))
    numbers = {word: number for number, word in enumerate(vocabulary)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, numbers[name]) for name in _SPECIAL[2:4]]
    )
    tokenizer.add_special_tokens(list(_SPECIAL))
    tokenizer.save(str(folder / "tokenizer.json"))
    facts = {"model_max_length": most, "tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(facts), encoding="utf-8")
    return vocabulary
