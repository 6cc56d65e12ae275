"""A pretrained transformer as data: config, tokenizer and weights."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from lossnet.checks import check_int
from lossnet.encoders.encoder import Encoder, Pool, Training
from lossnet.encoders.extra import need
from lossnet.encoders.tokeniser import Tokeniser
from lossnet.errors import SettingError
from lossnet.files import check_form

#: Entries of a config that change no vector.
_IRRELEVANT = ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype")
_FORM = {"name": str, "config": {"model_type": str}, "tokenizer": str, "width": int, "most": int}
#: What the names of packed weights start with.
_PREFIX = "encoder/"


@dataclass(frozen=True, repr=False)
class Pretrained:
    """A pretrained encoder, from which nets and tokenisers are made without touching files.

    Attributes:
        name: the name or folder it was loaded by.
        config: the config of the transformer, with its ``model_type``.
        tokenizer: the tokenizer as the JSON of ``tokenizers``.
        width: width of its vectors.
        most: most sub-words of a text that the encoder can take.
        weights: the weights by name; empty where the nets' own are loaded afterwards.

    >>> from tempfile import mkdtemp
    >>> from lossnet.testing.encoders import write_tiny_encoder
    >>> pretrained = Pretrained.load(write_tiny_encoder(mkdtemp()))
    >>> tokeniser = pretrained.tokeniser(limit=16)
    >>> net = pretrained.net(pool="mean", training="frozen")
    >>> net(tokeniser.collate(tokeniser.texts(["the dog", "a cat barks"]))).shape
    torch.Size([2, 16])
    """

    name: str
    config: Mapping[str, Any]
    tokenizer: str
    width: int
    most: int
    weights: Mapping[str, Tensor] = field(default_factory=dict)

    @classmethod
    def load(cls, name: str | Path) -> Pretrained:
        """Read an encoder from a folder, or from the Hugging Face hub.

        Args:
            name: a folder with ``config.json``, a tokenizer and weights, as ``save_pretrained``
                writes it; otherwise a name on the hub, which is downloaded once.
        """
        from lossnet.encoders.loading import load

        return cls(**load(name))

    def __repr__(self) -> str:
        kind = self.config["model_type"]
        return f"Pretrained({self.name!r}, {kind}, {self.width} wide, {self.fingerprint[:8]})"

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the weights, the config and the tokenizer, in hexadecimal digits."""
        relevant = {k: v for k, v in self.config.items() if k not in _IRRELEVANT}
        texts = (json.dumps(relevant, sort_keys=True), self.tokenizer, str(self.most))
        digest = hashlib.sha256("\0".join(texts).encode())
        for name, weight in sorted(self.weights.items()):
            digest.update(f"{name} {tuple(weight.shape)} {weight.dtype}".encode())
            digest.update(weight.cpu().flatten().contiguous().view(torch.uint8).numpy().data)
        return digest.hexdigest()

    def checksum(self) -> str:
        """The fingerprint: what a checkpoint belongs to."""
        return self.fingerprint

    def tokeniser(self, limit: int | None = None) -> Tokeniser:
        """A tokeniser of at most ``limit`` sub-words; None: the most the encoder can take."""
        if limit is not None:
            check_int("max_length", limit)
            if limit > self.most:
                most = f"must be at most {self.most} for the encoder {self.name}"
                raise SettingError(f"max_length {most}, got {limit}")
        return Tokeniser(self.tokenizer, limit=int(limit or self.most), pad=self._pad)

    @property
    def _pad(self) -> int:
        pad = self.config.get("pad_token_id")
        return pad if isinstance(pad, int) else 0

    def net(
        self,
        *,
        pool: Pool = "mean",
        training: Training = "full",
        lora_rank: int = 8,
        normalise: bool = False,
    ) -> Encoder:
        """A module with these weights, for one of the ways to pool and to train.

        Args:
            pool: see :class:`Encoder`.
            training: see :class:`Encoder`.
            lora_rank: rank of the adapters where ``training="lora"``.
            normalise: see :class:`Encoder`.
        """
        body = self._body()
        if self.weights and next(body.parameters()).device.type != "meta":
            body.load_state_dict(dict(self.weights))
        options: dict[str, Any] = {"lora_rank": lora_rank, "normalise": normalise}
        return Encoder(body, pool=pool, training=training, **options)

    def _body(self) -> nn.Module:
        """The transformer, its weights not yet filled in."""
        transformers = need("transformers", f"encoder={self.name!r}")
        rest = {key: value for key, value in self.config.items() if key != "model_type"}
        config = transformers.AutoConfig.for_model(self.config["model_type"], **rest)
        # A drawing of weights that are then replaced takes longer than all the rest.
        no_init = need("transformers.initialization", f"encoder={self.name!r}").no_init_weights
        with no_init():
            body: nn.Module = transformers.AutoModel.from_config(config, **options_of(config))
        return body

    def pack(self, *, weights: bool = True) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Tensors and plain facts for a model folder; :meth:`unpack` restores them.

        Args:
            weights: whether to pack them; not where the stored nets hold all of them.
        """
        facts = {key: getattr(self, key) for key in _FORM}
        return {_PREFIX + k: v for k, v in self.weights.items() if weights}, facts

    @classmethod
    def unpack(cls, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> Pretrained:
        """What :meth:`pack` gave; other tensors are left alone."""
        check_form(facts, _FORM, "the encoder")
        weights = {k.removeprefix(_PREFIX): v for k, v in tensors.items() if k.startswith(_PREFIX)}
        return cls(**{key: facts[key] for key in _FORM}, weights=weights)


def options_of(config: Any) -> dict[str, Any]:
    """How transformers should build the model of this config: without a pooling layer."""
    kind = need("transformers", "an encoder").MODEL_MAPPING[type(config)]
    has_pooler = "add_pooling_layer" in inspect.signature(kind.__init__).parameters
    # On a CPU sdpa is as fast as eager or faster, and no method differentiates an encoder twice.
    implementation: Literal["sdpa", "eager"] = "sdpa" if _has_sdpa(kind) else "eager"
    pooling = {"add_pooling_layer": False} if has_pooler else {}
    return {"attn_implementation": implementation, **pooling}


def _has_sdpa(kind: Any) -> bool:
    return bool(getattr(kind, "_supports_sdpa", False))
