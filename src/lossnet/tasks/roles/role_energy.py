"""The part of roles' loss-net that sees all tags together, and what an output is."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from lossnet.constraints import UniqueSpans
from lossnet.energies import Energy, TagAttention, TagPairs, TotalEnergy
from lossnet.spaces import Categorical, Sequences
from lossnet.tasks.roles.metrics import is_core
from lossnet.tasks.sequence.decoding import tag_rules

#: How the loss-net sees the tags together.
TOGETHER = ("pairs", "attention", "attention+words")
#: Of the attention: four times as wide it takes as long as a BiLSTM, and is no better.
WIDTH, HEADS = 32, 2


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
    return TotalEnergy(parts, weights, features=own)


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
