"""The loss-net of roles: a chain, and self-attention over all tags of a predicate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from lossnet.constraints import UniqueSpans
from lossnet.energies import Energy, TagAttention, TotalEnergy
from lossnet.nets import WithFeatures
from lossnet.tasks.roles.metrics import is_core


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


def with_attention(
    energy: Energy, tags: int, *, words: nn.Module | None, own: nn.Module | None
) -> TotalEnergy:
    """A chain, or its sum with others, and :class:`TagAttention`.

    Args:
        energy: the chain, or the sum.
        tags: number of tags.
        words: features that the attention reads; None reads the tags alone.
        own: a feature network of the loss-net's own that all of them read, if there is one.
    """
    parts, weights = [energy], [1.0]
    if isinstance(energy, TotalEnergy):
        parts, weights = list(energy.parts), energy.weights  # type: ignore[arg-type]
    parts, weights = [*parts, TagAttention(tags, words=words)], [*weights, 1.0]
    return TotalEnergy(parts, weights) if own is None else OwnTotalEnergy(own, parts, weights)


def unique_core_roles(tags: Sequence[str]) -> UniqueSpans | None:
    """The rule that a predicate has each core role once; None where no tag is of one.

    >>> unique_core_roles(["B-ARG0", "B-ARGM-TMP", "I-ARG0", "O"])
    UniqueSpans(groups=((0,),))
    """
    begins = [k for k, tag in enumerate(tags) if tag.startswith("B-") and is_core(tag[2:])]
    return UniqueSpans(tuple((k,) for k in begins)) if begins else None
