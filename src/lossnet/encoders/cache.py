"""Vectors of a frozen encoder: computed once, and stored as they are computed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import safetensors.numpy
import torch
from safetensors import SafetensorError, safe_open
from tqdm.auto import tqdm

from lossnet.encoders.encoder import Encoder, Pool
from lossnet.encoders.pretrained import Pretrained
from lossnet.encoders.tokeniser import Coded, Tokeniser
from lossnet.errors import DataError
from lossnet.files import atomic_write

#: Most sub-words of a batch, padding counted, and texts of a chunk, which is one file.
_SUBWORDS, _CHUNK = 4096, 256
_HASH = 16
#: Changes with the layout of the chunks and with how vectors are computed.
_VERSION = 1


def vectors_of(
    pretrained: Pretrained,
    texts: Sequence[Any],
    *,
    pool: Pool = "mean",
    limit: int | None = None,
    cache: str | Path | Literal[False] | None = None,
    device: str | torch.device = "cpu",
    progress: bool = False,
) -> Any:
    """Vectors of texts ``(n, d)``, float32; of sentences a list of ``(T, d)``, float16.

    Each distinct text is encoded once. The vectors are stored in chunks while they are computed,
    by the encoder's fingerprint, the way to pool, the limit and the text: a killed run loses at
    most one chunk, another encoder's vectors are never returned, and a damaged chunk is computed
    again.

    Args:
        pretrained: the encoder.
        texts: strings; with ``pool="words"`` sentences, lists of words.
        pool: see :class:`Encoder`.
        limit: most sub-words of a text; see :class:`Tokeniser`.
        cache: folder of the stored vectors; None: ``$LOSSNET_CACHE``, else
            ``~/.cache/lossnet/vectors``; False stores nothing.
        device: torch device.
        progress: show a bar in a terminal.
    """
    tokeniser = pretrained.tokeniser(limit)
    keys = [_key_of(text) for text in texts]
    store = None if cache is False else VectorStore(cache, pretrained, pool, tokeniser.limit)
    found = {} if store is None else store.read(set(keys))
    missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
    chunk: dict[bytes, np.ndarray] = {}
    for key, vector in _computed(pretrained, tokeniser, missing, pool, device, progress):
        found[key] = chunk[key] = vector
        if store is not None and len(chunk) == _CHUNK:
            store.write(chunk)
            chunk = {}
    if store is not None and chunk:
        store.write(chunk)
    vectors = [found[key] for key in keys]
    if pool == "words":
        return vectors
    return np.stack(vectors) if vectors else np.empty((0, pretrained.width), np.float32)


def _key_of(text: Any) -> bytes:
    content = text if isinstance(text, str) else list(text)
    return hashlib.sha256(json.dumps(content).encode()).digest()[:_HASH]


def _computed(
    pretrained: Pretrained,
    tokeniser: Tokeniser,
    texts: Mapping[bytes, Any],
    pool: Pool,
    device: str | torch.device,
    progress: bool,
) -> Iterator[tuple[bytes, np.ndarray]]:
    """The vectors of the texts, from the shortest to the longest."""
    if not texts:
        return
    contents = list(texts.values())
    coded = tokeniser.sentences(contents) if pool == "words" else tokeniser.texts(contents)
    keys = list(texts)
    net = pretrained.net(pool=pool, training="frozen").to(device)
    order = sorted(range(len(coded)), key=lambda row: len(coded[row].ids))
    with tqdm(total=len(coded), unit=" texts", disable=None if progress else True) as bar:
        for rows in _batches(order, coded):
            vectors = _encoded(net, tokeniser, [coded[row] for row in rows], device)
            yield from zip((keys[row] for row in rows), vectors, strict=True)
            bar.update(len(rows))


def _batches(order: Sequence[int], coded: Sequence[Coded]) -> Iterator[list[int]]:
    """Rows of similar length, as many as fit: a row's length is at least that of those before."""
    rows: list[int] = []
    for row in order:
        if rows and (len(rows) + 1) * max(len(coded[row].ids), 1) > _SUBWORDS:
            yield rows
            rows = []
        rows.append(row)
    if rows:
        yield rows


@torch.inference_mode()
def _encoded(
    net: Encoder, tokeniser: Tokeniser, coded: list[Coded], device: str | torch.device
) -> list[np.ndarray]:
    vectors = net(tokeniser.collate(coded, device)).float().cpu().numpy()
    if net.pool != "words":
        return list(vectors)
    # Clipped: float16 ends at 65,504.
    halves = vectors.clip(-6e4, 6e4).astype(np.float16)
    return [half[: len(one)].copy() for half, one in zip(halves, coded, strict=True)]


class VectorStore:
    """The chunks of one encoder, way to pool and limit: a folder of files that never change."""

    def __init__(
        self, cache: str | Path | None, pretrained: Pretrained, pool: Pool, limit: int
    ) -> None:
        home = os.environ.get("LOSSNET_CACHE") or Path.home() / ".cache" / "lossnet" / "vectors"
        facts = json.dumps([_VERSION, pretrained.fingerprint, pool, limit])
        self.folder = Path(cache or home).expanduser()
        self.folder /= hashlib.sha256(facts.encode()).hexdigest()[:32]

    def read(self, wanted: set[bytes]) -> dict[bytes, np.ndarray]:
        """The stored vectors among those wanted; damaged chunks are removed where possible.

        A chunk that cannot be read, though it may be sound, is left alone.
        """
        found: dict[bytes, np.ndarray] = {}
        for path in sorted(self.folder.glob("*.safetensors")) if wanted else ():
            with contextlib.suppress(OSError):
                try:
                    found |= _read_chunk(path, wanted - found.keys())
                except (SafetensorError, KeyError, ValueError, TypeError):
                    path.unlink()
        return found

    def write(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Store a chunk; where that is not possible, a warning says so."""
        keys = np.frombuffer(b"".join(vectors), np.uint8).reshape(-1, _HASH)
        rows = [vector.reshape(-1, vector.shape[-1]) for vector in vectors.values()]
        lengths = np.array(
            [len(row) if v.ndim == 2 else -1 for row, v in zip(rows, vectors.values(), strict=True)]
        )
        arrays = {"keys": keys, "lengths": lengths, "vectors": np.concatenate(rows)}
        content = safetensors.numpy.save(arrays, {k: _digest(v) for k, v in arrays.items()})
        path = self.folder / f"{hashlib.sha256(keys.tobytes()).hexdigest()[:32]}.safetensors"
        try:
            atomic_write(path, partial(Path.write_bytes, data=content))
        except DataError as error:
            remedy = "set LOSSNET_CACHE to another folder"
            warnings.warn(f"vectors are not stored: {error}; or {remedy}", stacklevel=4)


def _read_chunk(path: Path, wanted: set[bytes]) -> dict[bytes, np.ndarray]:
    """The wanted vectors of a chunk; those of a chunk without any are not read."""
    with safe_open(path, "np") as file:
        facts = file.metadata()
        keys, lengths = _checked(file, facts, "keys"), _checked(file, facts, "lengths")
        names = [key.tobytes() for key in keys]
        if wanted.isdisjoint(names):
            return {}
        vectors = _checked(file, facts, "vectors")
    ends = np.abs(lengths).cumsum()
    rows = np.split(vectors, ends[:-1])
    return {
        name: (row if length >= 0 else row[0]).copy()
        for name, row, length in zip(names, rows, lengths, strict=True)
        if name in wanted
    }


def _checked(file: Any, facts: Mapping[str, str], name: str) -> np.ndarray:
    array: np.ndarray = file.get_tensor(name)
    if _digest(array) != facts[name]:
        raise ValueError(f"{name} do not have the checksum they were stored with")
    return array


def _digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
