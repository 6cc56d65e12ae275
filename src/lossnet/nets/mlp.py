"""Multi-layer perceptrons on feature vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lossnet.errors import SettingError
from lossnet.nets.base import Headed
from lossnet.nets.wide import WIDE, WideLinear


class Dropout(nn.Module):
    """Dropout by comparing uniform numbers, on a CPU twice as fast as ``nn.Dropout``."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if not 0.0 <= p < 1.0:
            raise SettingError(f"dropout must be from 0 to below 1, got {p}")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """``x`` with a share ``p`` of entries set to 0 and the rest scaled up, in training."""
        if not self.training or self.p == 0.0:
            return x
        if x.is_sparse:
            x = x.coalesce()  # what is 0 stays so
            return torch.sparse_coo_tensor(
                x.indices(), self(x.values()), x.shape, is_coalesced=True, check_invariants=False
            )
        kept = torch.rand_like(x) >= self.p
        return x * kept.to(x.dtype).mul_(1.0 / (1.0 - self.p))

    def extra_repr(self) -> str:
        return f"p={self.p}"


class FeatureMLP(nn.Module):
    """The feature network T(x) of paper 000: Linear, softplus, dropout for each layer.

    The last layer has no dropout. Weights are Kaiming-uniform, biases zero. From 5,000 features
    the first layer also takes inputs that are sparse COO tensors, see
    :class:`~lossnet.nets.WideLinear`.

    Args:
        in_features: length of an input row.
        hidden: width of each layer.
        dropout: share of units dropped after every layer but the last, and of the input
            where ``input_dropout`` says so.
        input_dropout: share of input features dropped.
    """

    def __init__(
        self,
        in_features: int,
        hidden: Sequence[int] = (400, 400),
        dropout: float = 0.5,
        input_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [Dropout(input_dropout)] if input_dropout else []
        width = in_features
        for index, units in enumerate(hidden):
            linear = nn.Linear(width, units)
            nn.init.kaiming_uniform_(linear.weight, nonlinearity="relu")
            nn.init.zeros_(linear.bias)
            wide = index == 0 and in_features >= WIDE
            layers += [WideLinear.of(linear) if wide else linear, nn.Softplus()]
            if index < len(hidden) - 1 and dropout:
                layers.append(Dropout(dropout))
            width = units
        self.layers = nn.Sequential(*layers)
        self.out_features = width

    def forward(self, x: Tensor) -> Tensor:
        """Features ``(B, hidden[-1])`` of inputs ``(B, in_features)``."""
        return self.layers(x)


class LabelMLP(Headed):
    """The task-net F(x) = G T(x): a feature network and one embedding per label; logits out.

    Args:
        in_features: length of an input row.
        labels: number of labels L.
        hidden, dropout, input_dropout: see :class:`FeatureMLP`.
    """

    def __init__(
        self,
        in_features: int,
        labels: int,
        *,
        hidden: Sequence[int] = (400, 400),
        dropout: float = 0.5,
        input_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.features = FeatureMLP(in_features, hidden, dropout, input_dropout)
        self.label_embeddings = label_embeddings(labels, self.features.out_features)

    def head(self, h: Tensor) -> Tensor:
        """Logits ``(B, L)`` of features ``(B, hidden[-1])``."""
        return h @ self.label_embeddings.T

    def new_head(self) -> LabelHead:
        """A second head: one embedding per label, separate from the net's own."""
        return LabelHead(*self.label_embeddings.shape)


class LabelHead(nn.Module):
    """One embedding per label: logits ``(B, L)`` of features ``(B, width)``."""

    def __init__(self, labels: int, width: int) -> None:
        super().__init__()
        self.label_embeddings = label_embeddings(labels, width)

    def forward(self, h: Tensor) -> Tensor:
        """Logits ``(B, L)``."""
        return h @ self.label_embeddings.T


def label_embeddings(labels: int, width: int) -> nn.Parameter:
    """One Xavier-uniform row per label, ``(L, width)``."""
    bound = math.sqrt(6.0 / (labels + width))
    return nn.Parameter(torch.empty(labels, width).uniform_(-bound, bound))
