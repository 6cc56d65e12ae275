"""Several task-nets of one shape in one batched pass, and the net that speaks for all of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lossnet.nets.base import Derived
from lossnet.nets.mlp import Dropout, label_embeddings
from lossnet.nets.wide import RowParameter, all_rows, settle_rows, times_rows
from lossnet.spaces import Space

if TYPE_CHECKING:
    from lossnet.context import Context


class LabelMLPs(nn.Module):
    """M nets as :class:`~lossnet.nets.LabelMLP`, each with its own weights and dropout masks.

    Layer l of member m is softplus(W_ml h + b_ml); all members' products are one batched product.

    Args:
        in_features: length of an input row.
        labels: number of labels L.
        members: number of nets M.
        hidden, dropout, input_dropout: see :class:`~lossnet.nets.FeatureMLP`.
    """

    def __init__(
        self,
        in_features: int,
        labels: int,
        *,
        members: int,
        hidden: Sequence[int] = (400, 400),
        dropout: float = 0.5,
        input_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.members = members
        self.input_dropout, self.dropout = Dropout(input_dropout), Dropout(dropout)
        widths = [in_features, *hidden]
        pairs = list(itertools.pairwise(widths))
        weights = [nn.Parameter(torch.empty(members, *pair)) for pair in pairs]
        if weights:
            weights[0] = RowParameter(weights[0].detach())
        self.weights = nn.ParameterList(weights)
        self.register_state_dict_pre_hook(settle_rows)
        for weight, (inputs, _) in zip(self.weights, pairs, strict=True):
            bound = math.sqrt(6.0 / inputs)  # Kaiming-uniform for relu, as in FeatureMLP
            nn.init.uniform_(weight, -bound, bound)
        self.biases = nn.ParameterList(torch.zeros(members, 1, units) for units in hidden)
        each = [label_embeddings(labels, widths[-1]).detach() for _ in range(members)]
        self.label_embeddings = nn.Parameter(torch.stack(each))

    def forward(self, x: Tensor) -> Tensor:
        """Logits ``(B, M, L)`` of inputs ``(B, in_features)``, dense or sparse."""
        sparse = x.is_sparse and len(self.weights) > 0
        h = x if sparse else self.input_dropout(x.expand(self.members, *x.shape))
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if index == 0 and sparse:
                values = x.coalesce().values().expand(self.members, -1)
                z = times_rows(x, weight, self.input_dropout(values)) + bias
            else:
                z = torch.baddbmm(bias, h, all_rows(weight))
            h = F.softplus(z)
            h = self.dropout(h) if index < len(self.weights) - 1 else h
        return torch.bmm(h, self.label_embeddings.transpose(1, 2)).transpose(0, 1)


class HeldOut(Derived):
    """One net for several members: in training the member that has not learnt from the row.

    The loss-net then learns from outputs as it will meet them on new rows. Rows without a fold
    have the mean of the members' relaxed outputs.

    Args:
        base: name of the members' net, whose logits are ``(B, M, *S)``.

    Attributes:
        voters: what reads other models' probabilities ``(B, *S)`` off the inputs, or None.
        share: what these count in the output, from 0 to 1.
    """

    trainable: ClassVar[bool] = False

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.voters: Callable[[Tensor], Tensor] | None = None
        self.share = 0.0

    @classmethod
    def build(cls, base: str, net: nn.Module, outputs: tuple[int, ...], space: Space) -> HeldOut:
        return cls(base)

    def logits(self, context: Context) -> Tensor:
        each, fold, space = context.logits(self.base), context.batch.fold, context.space
        voters = self.voters if self.share else None
        if fold is not None:
            logits = each[torch.arange(len(fold), device=each.device), fold]
            if voters is None:
                return logits
            found = space.relax(logits)
        else:
            found = space.relax(each).mean(1)
        if voters is not None:
            found = torch.lerp(found, voters(context.batch.x), self.share)
        return space.unrelax(found)
