"""The loss-net of roles (single tags, and all tags together), and what an output is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from lossnet.constraints import UniqueSpans
from lossnet.energies import Energy, TagAttention, TagPairs, TotalEnergy
from lossnet.energies.energy import reads_of
from lossnet.nets import WithFeatures
from lossnet.spaces import Categorical, Sequences, sparse
from lossnet.tasks.roles.metrics import is_core
from lossnet.tasks.sequence.decoding import tag_rules

#: How the loss-net sees the tags together.
TOGETHER = ("pairs", "attention", "attention+words")
#: Of the attention: four times as wide it takes as long as a BiLSTM, and is no better.
WIDTH, HEADS = 32, 2


class TagEnergy(Energy):
    """E(x, y) = Σ_t <y_t, U b(x, t)>, the local part of paper 000's Eq. 2.

    Args:
        features: feature network b, inputs to ``(B, T, d)`` with ``out_features`` d.
        tags: number of tags C.
    """

    def __init__(self, features: nn.Module, tags: int) -> None:
        super().__init__()
        self.features, self.reads = features, reads_of(features)
        width: Any = features.out_features
        self.unary = nn.Linear(width, tags)

    def encode(self, x: Any, mask: Tensor | None = None) -> Tensor:
        """The energy of every tag at every position, ``(B, T, C)``; 0 under padding."""
        h: Tensor = self.unary(self.features(x))
        return h if mask is None else h.masked_fill(~mask.unsqueeze(-1), 0.0)

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        return sparse.dot(y, h)

    def output_like(self, h: Tensor) -> Tensor:
        return h


class OwnTotalEnergy(TotalEnergy):
    """A sum of energies that read one feature network, which runs once for all of them.

    Args:
        features: the feature network.
        parts: energies whose features are :class:`~lossnet.nets.SharedFeatures`.
        weights: one per energy.
    """

    def __init__(
        self, features: nn.Module, parts: Sequence[Energy], weights: Sequence[float]
    ) -> None:
        super().__init__(parts, weights)
        self.own, self.reads = features, None

    @property
    def features(self) -> nn.Module:
        return self.own

    def encode(self, x: Any, mask: Tensor | None = None) -> tuple[Any, ...]:
        return super().encode(WithFeatures(x, self.own(x)), mask)


def tags_together(kind: str, tags: Sequence[str], words: nn.Module | None) -> Energy:
    """The part of an energy that sees all tags of a predicate: one of :data:`TOGETHER`.

    Args:
        kind: which one.
        tags: names of the tags.
        words: features for ``"attention+words"``.
    """
    if kind == "pairs":
        return TagPairs(len(tags), chosen=[k for k, tag in enumerate(tags) if tag[:2] == "B-"])
    return TagAttention(len(tags), width=WIDTH, heads=HEADS, words=words)


def summed(energy: Energy, part: Energy, own: nn.Module | None) -> TotalEnergy:
    """The sum of an energy, which may be a sum itself, and another.

    ``own`` is a feature network of the loss-net's own that all of them read, if there is one.
    """
    parts, weights = [energy], [1.0]
    if isinstance(energy, TotalEnergy):
        parts, weights = list(energy.parts), energy.weights  # type: ignore[arg-type]
    parts, weights = [*parts, part], [*weights, 1.0]
    return TotalEnergy(parts, weights) if own is None else OwnTotalEnergy(own, parts, weights)


def role_space(tags: Sequence[str], *, valid: bool) -> Categorical:
    """What an output is: tags with unique core roles, whose samples are ``valid`` BIO."""
    constraint = unique_core_roles(tags)
    rules = tag_rules(tags, "IOB2") if valid else None
    if rules is None:
        return Categorical(constraint)
    return Sequences(constraint, **{k: torch.tensor(v) for k, v in rules._asdict().items()})


def unique_core_roles(tags: Sequence[str]) -> UniqueSpans:
    """The rule that a predicate has each core role once.

    >>> unique_core_roles(["B-ARG0", "B-ARGM-TMP", "I-ARG0", "O"])
    UniqueSpans(groups=((0,),))
    """
    begins = [k for k, tag in enumerate(tags) if tag.startswith("B-") and is_core(tag[2:])]
    return UniqueSpans(tuple((k,) for k in begins))
