"""A transformer as a feature network: sub-words in, one vector per text or word out."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar, Literal, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lossnet.checks import check_choice, check_int
from lossnet.encoders.extra import need
from lossnet.encoders.tokeniser import Subwords

Pool = Literal["mean", "cls", "words"]
Training = Literal["full", "lora", "frozen"]
POOLS: tuple[Pool, ...] = ("mean", "cls", "words")
TRAININGS: tuple[Training, ...] = ("frozen", "full", "lora")

_SUGGESTED = {"full": 5e-5, "lora": 2e-3, "frozen": 0.0}
#: Width up to which LoRA takes that rate, MiniLM's; a wider encoder takes less in proportion.
_LORA_WIDTH = 384


class Encoder(nn.Module):
    """A transformer and a way to pool its sub-words; :meth:`Pretrained.net` builds it.

    A word that is marked, such as a predicate, has token type 1. An encoder without token types
    (RoBERTa, DistilBERT) gets a learned vector in their place, zeros at first, which is added to
    the input embeddings of the marked word; so every word's vector can depend on the mark.

    Its state holds only what is trained: the weights of a frozen encoder, and those under LoRA's
    adapters, come from the :class:`Pretrained` it is built from.

    Args:
        body: a model of transformers.
        pool: ``"mean"`` of a text's sub-words, special ones included; ``"cls"``, its first
            sub-word; or ``"words"``, the mean of each word's sub-words, zeros for a word without
            any (it was cut off).
        training: ``"full"`` trains every weight; ``"lora"`` only adapters of low rank, zero at
            first, next to the attention's matrices; ``"frozen"`` nothing, and dropout is off.
        lora_rank: rank of the adapters.
        normalise: give every vector mean 0 and variance 1. Scales differ between encoders, and
            entries of about 0.1, as of a mean, slow down the layer that learns from them.

    Attributes:
        out_features: width of the vectors.
        suggested_lr: the learning rate to start from: 5e-5 for ``"full"``; for ``"lora"`` 2e-3 up
            to a width of 384, then less in proportion, 1e-3 at 768.
        pretrained: marks parameters that take the optimiser's rate for encoders.
    """

    pretrained: ClassVar[bool] = True

    def __init__(
        self,
        body: nn.Module,
        *,
        pool: Pool = "mean",
        training: Training = "full",
        lora_rank: int = 8,
        normalise: bool = False,
    ) -> None:
        super().__init__()
        check_choice("pool", pool, POOLS)
        check_choice("encoder_training", training, TRAININGS)
        check_int("lora_rank", lora_rank)
        config: Any = body.config
        self.pool, self.mode, self.normalise = pool, training, normalise
        self.out_features = int(config.hidden_size)
        self.suggested_lr = _SUGGESTED[training]
        if training == "lora":
            self.suggested_lr *= min(1.0, _LORA_WIDTH / self.out_features)
        self._has_types = getattr(config, "type_vocab_size", 0) >= 2 and _takes_types(body)
        body.requires_grad_(training == "full")
        self.body = _with_adapters(body, lora_rank) if training == "lora" else body
        self.mark: nn.Parameter | None = None
        if pool == "words" and not self._has_types:
            width = self._embeddings().weight.shape[1]
            self.mark = nn.Parameter(torch.zeros(width), requires_grad=training != "frozen")
        self._trained = {name for name, p in self.named_parameters() if p.requires_grad}
        self.register_state_dict_post_hook(_leave_out)
        self.register_load_state_dict_pre_hook(_fill_in)
        self.train(True)

    def train(self, mode: bool = True) -> Self:
        """As of any module; a frozen encoder never drops anything."""
        return super().train(mode and self.mode != "frozen")

    def forward(self, x: Subwords) -> Tensor:
        """``(B, d)`` of texts, or ``(B, T, d)`` of words."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and self.mode != "frozen"):
            hidden = self.body(**self._inputs(x)).last_hidden_state
            vectors = _POOLED[self.pool](hidden, x)
            return F.layer_norm(vectors, vectors.shape[-1:]) if self.normalise else vectors

    def _inputs(self, x: Subwords) -> dict[str, Tensor]:
        # A row without sub-words attends to its padding: attention to nothing is not a number.
        attended = x.attended.clone()
        attended[:, 0] = True
        inputs = {"attention_mask": attended.long()}
        if x.types is not None and self._has_types:
            return {"input_ids": x.ids, "token_type_ids": x.types, **inputs}
        if x.types is not None and self.mark is not None:
            added = x.types.unsqueeze(-1) * self.mark
            return {"inputs_embeds": self._embeddings()(x.ids) + added, **inputs}
        return {"input_ids": x.ids, **inputs}

    def _embeddings(self) -> Any:
        body: Any = self.body
        return body.get_input_embeddings()


def text_means(hidden: Tensor, x: Subwords) -> Tensor:
    """Means ``(B, d)`` of the sub-words of each text; zeros where there are none."""
    weights = x.attended.to(hidden.dtype).unsqueeze(-1)
    return (hidden * weights).sum(1) / weights.sum(1).clamp_min(1.0)


def word_means(hidden: Tensor, x: Subwords) -> Tensor:
    """Means ``(B, T, d)`` of the sub-words of each word; zeros where there are none."""
    assert x.words is not None
    batch, time = x.mask.shape
    first = torch.arange(batch, device=hidden.device).unsqueeze(1) * time
    row, column = (x.words >= 0).nonzero(as_tuple=True)
    place = (x.words + first)[row, column]
    sums = hidden.new_zeros(batch * time, hidden.shape[-1])
    sums = sums.index_add(0, place, hidden[row, column])
    counts = torch.bincount(place, minlength=batch * time).clamp_min(1)
    return (sums / counts.unsqueeze(-1)).view(batch, time, -1)


def _first(hidden: Tensor, x: Subwords) -> Tensor:
    return hidden[:, 0] * x.attended[:, :1]


_POOLED = {"mean": text_means, "cls": _first, "words": word_means}


def _takes_types(body: nn.Module) -> bool:
    return "token_type_ids" in inspect.signature(body.forward).parameters


def _with_adapters(body: nn.Module, rank: int) -> nn.Module:
    """The model with adapters next to the matrices that peft knows for its kind."""
    peft = need("peft", "encoder_training='lora'")
    known = peft.utils.constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
    config: Any = body.config
    targets = known.get(config.model_type, "all-linear")
    settings = peft.LoraConfig(r=int(rank), lora_alpha=2 * int(rank), target_modules=targets)
    adapted: nn.Module = peft.inject_adapter_in_model(settings, body)
    return adapted


def _fixed(encoder: nn.Module, prefix: str) -> dict[str, Tensor]:
    """What is not trained, by its names in a state."""
    assert isinstance(encoder, Encoder)
    named = encoder.named_parameters(remove_duplicate=False)
    return {prefix + name: weight for name, weight in named if name not in encoder._trained}


def _leave_out(encoder: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Remove what is not trained from a state."""
    for name in _fixed(encoder, prefix):
        state.pop(name, None)


def _fill_in(encoder: nn.Module, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Add what is not trained, as it is, to a state that is to be loaded."""
    state.update(_fixed(encoder, prefix))
