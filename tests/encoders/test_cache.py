"""Vectors of a frozen encoder: computed once, and never those of another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from lossnet.encoders import Encoder, Pretrained, cache, vectors_of
from lossnet.testing.encoders import write_tiny_encoder

TEXTS = ["the dog barks", "a cat", "", "rome", "the dog barks", "ann saw the cat", "left"]
SENTENCES = [text.split() for text in TEXTS if text]


@pytest.fixture
def encoded(monkeypatch) -> list[int]:
    """The number of texts in every batch that is encoded."""
    counts: list[int] = []
    forward = Encoder.forward

    def counted(self, x):
        counts.append(len(x.ids))
        return forward(self, x)

    monkeypatch.setattr(Encoder, "forward", counted)
    return counts


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch) -> None:
    monkeypatch.setattr(cache, "_CHUNK", 2)
    monkeypatch.setattr(cache, "_SUBWORDS", 12)


def alone(tiny, text, pool):
    tokeniser = tiny.tokeniser()
    coded = tokeniser.sentences([text]) if pool == "words" else tokeniser.texts([text])
    net = tiny.net(pool=pool, training="frozen")
    return net(tokeniser.collate(coded))[0].detach().numpy()


@pytest.mark.parametrize("pool", ["mean", "cls", "words"])
def test_vectors_are_those_of_the_encoder(tiny, tmp_path, pool, encoded) -> None:
    texts = SENTENCES if pool == "words" else TEXTS
    expected = [alone(tiny, text, pool) for text in texts]
    encoded.clear()
    first = vectors_of(tiny, texts, pool=pool, cache=tmp_path)
    assert sum(encoded) == len(texts) - 1  # each distinct text once
    again = vectors_of(tiny, texts, pool=pool, cache=tmp_path)
    unstored = vectors_of(tiny, texts, pool=pool, cache=False)
    assert sum(encoded) == 2 * (len(texts) - 1)
    for found in (first, again, unstored):
        assert found[0].dtype == (np.float16 if pool == "words" else np.float32)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=2e-3 if pool == "words" else 1e-5)
    if pool != "words":
        assert first.shape == (7, 16)
        np.testing.assert_array_equal(first, again)


def test_nothing_to_encode(tiny, tmp_path) -> None:
    assert vectors_of(tiny, [], cache=tmp_path).shape == (0, 16)
    assert vectors_of(tiny, [], pool="words", cache=tmp_path) == []


def test_a_killed_run_loses_at_most_a_chunk(tiny, tmp_path, monkeypatch, encoded) -> None:
    forward = Encoder.forward

    def killed(self, x):
        if sum(encoded) >= 4:
            raise KeyboardInterrupt
        return forward(self, x)

    with monkeypatch.context() as patch:
        patch.setattr(Encoder, "forward", killed)
        with pytest.raises(KeyboardInterrupt):
            vectors_of(tiny, TEXTS, cache=tmp_path)
    done = sum(encoded)
    assert done < 6
    encoded.clear()
    found = vectors_of(tiny, TEXTS, cache=tmp_path)
    assert 6 - done <= sum(encoded) <= 6 - done + 2
    np.testing.assert_allclose(found, vectors_of(tiny, TEXTS, cache=False), atol=1e-6)


def test_another_encoder_pool_or_limit_has_other_vectors(tiny, tmp_path, encoded) -> None:
    other = Pretrained.load(write_tiny_encoder(tmp_path / "other", seed=1))
    own = vectors_of(tiny, TEXTS, cache=tmp_path)
    for given, options in (
        (other, {}),
        (tiny, {"pool": "cls"}),
        (tiny, {"limit": 3}),
    ):
        encoded.clear()
        assert not np.allclose(vectors_of(given, TEXTS, cache=tmp_path, **options), own)
        assert sum(encoded) == 6


@pytest.mark.parametrize("damage", ["cut", "bit", "key", "empty"])
def test_a_damaged_chunk_is_computed_again(tiny, tmp_path, damage, encoded) -> None:
    own = vectors_of(tiny, TEXTS, cache=tmp_path)
    chunks = sorted(tmp_path.glob("*/*.safetensors"))
    assert len(chunks) == 3
    content = bytearray(chunks[1].read_bytes())
    if damage == "cut":
        content = content[:-7]
    elif damage == "empty":
        content = bytearray()
    else:
        start = 8 + int.from_bytes(content[:8], "little")
        content[-1 if damage == "bit" else start] ^= 1
    chunks[1].write_bytes(content)
    encoded.clear()
    np.testing.assert_allclose(vectors_of(tiny, TEXTS, cache=tmp_path), own, atol=1e-6)
    assert sum(encoded) == 2
    encoded.clear()
    vectors_of(tiny, TEXTS, cache=tmp_path)
    assert encoded == []


@pytest.mark.parametrize("method", ["open", "unlink"])
def test_a_chunk_that_cannot_be_read_or_removed_is_left_alone(
    tiny, tmp_path, monkeypatch, encoded, method
) -> None:
    own = vectors_of(tiny, TEXTS, cache=tmp_path)
    chunks = sorted(tmp_path.glob("*/*.safetensors"))

    def refuse(*_, **__):
        raise PermissionError

    if method == "open":
        monkeypatch.setattr(cache, "safe_open", refuse)
    else:
        chunks[1].write_bytes(b"")
        monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(cache.VectorStore, "write", lambda *_: None)
    encoded.clear()
    np.testing.assert_allclose(vectors_of(tiny, TEXTS, cache=tmp_path), own, atol=1e-6)
    assert sum(encoded) == (6 if method == "open" else 2)
    assert sorted(tmp_path.glob("*/*.safetensors")) == chunks


def test_the_default_folder(tiny, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LOSSNET_CACHE", str(tmp_path / "here"))
    vectors_of(tiny, ["a"])
    assert len(list((tmp_path / "here").rglob("*.safetensors"))) == 1
    monkeypatch.delenv("LOSSNET_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    vectors_of(tiny, ["a"])
    assert list((tmp_path / "home/.cache/lossnet/vectors").rglob("*.safetensors"))


def test_a_folder_that_cannot_be_written_is_a_warning(tiny, tmp_path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match="vectors are not stored: .*set LOSSNET_CACHE"):
        found = vectors_of(tiny, ["a"], cache=tmp_path / "file")
    assert found.shape == (1, 16)


def test_torch_state_is_left_alone(tiny) -> None:
    before = torch.get_rng_state()
    vectors_of(tiny, TEXTS, cache=False)
    assert torch.equal(torch.get_rng_state(), before)
