"""The energy of a label set: a local and a global part."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lossnet.energies.energy import Energy, reads_of
from lossnet.nets.mlp import FeatureMLP, label_embeddings
from lossnet.spaces import sparse

_LOG2_E = math.log2(math.e)


class LabelEnergy(Energy):
    """E(x, y) = Σ_i y_i b_i·T(x) + v·softplus(M y + c)   (paper 000, Eq. 2).

    The first sum scores every label independently; the second sees the labels together and lets
    the gradient of one label depend on all the others. The bias c is in the public code, not
    in the equation.

    Args:
        in_features: length of an input row.
        labels: number of labels L.
        hidden, dropout, input_dropout: the feature network T, see
            :class:`~lossnet.nets.FeatureMLP`.
        global_hidden: rows of M.
        features: a feature network of your own in place of T, with ``out_features``, such as
            :class:`~lossnet.nets.SharedFeatures`; the parameters of T then have no effect.

    >>> energy = LabelEnergy(in_features=5, labels=3, hidden=(4,))
    >>> h = energy.encode(torch.zeros(2, 5))       # once per batch, (B, L)
    >>> energy(h, torch.zeros(7, 2, 3)).shape      # 7 candidates of each of 2 examples
    torch.Size([7, 2])
    """

    def __init__(
        self,
        in_features: int,
        labels: int,
        *,
        hidden: Sequence[int] = (400, 400),
        dropout: float = 0.5,
        input_dropout: float = 0.0,
        global_hidden: int = 200,
        features: nn.Module | None = None,
    ) -> None:
        super().__init__()
        if features is None:
            features = FeatureMLP(in_features, hidden, dropout, input_dropout)
        self.features = features
        self.reads = reads_of(self.features)
        width: Any = self.features.out_features
        self.label_embeddings = label_embeddings(labels, width)
        # M is held transposed: row l is what label l adds to M y.
        self.global_weight = nn.Parameter(torch.empty(labels, global_hidden))
        nn.init.kaiming_uniform_(self.global_weight.data.T, nonlinearity="relu")
        self.global_bias = nn.Parameter(torch.zeros(global_hidden))
        self.global_readout = nn.Parameter(nn.init.normal_(torch.empty(global_hidden)))
        self.global_readout.data.mul_(math.sqrt(2.0 / global_hidden))

    def encode(self, x: Any, mask: Tensor | None = None) -> Tensor:
        """The local energy of every label, b_i·T(x): ``(B, L)``."""
        return self.features(x) @ self.label_embeddings.T

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is not None:
            y = sparse.dense(y, h.dtype) * mask
        z = sparse.matmul(y, self.global_weight, self.global_bias)
        z = z.float() if z.dtype == torch.bfloat16 else z
        overall: Tensor = _Readout.apply(z, self.global_readout)
        return overall + sparse.dot(y, h)

    def output_like(self, h: Tensor) -> Tensor:
        return h


class _Readout(torch.autograd.Function):
    """v·softplus(z) over the last axis, in as few sweeps over z as there can be.

    The forward pass leaves softplus and its slope, the backward pass multiplies them. Where the
    gradient is itself to be differentiated, ordinary operations find the two again.
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, readout: Tensor) -> Tensor:
        # log(1 + exp z) in vectorised sweeps; exp2 takes less than half of exp's time on a CPU.
        slope = (z * _LOG2_E).exp2_()
        hidden = slope.log1p()
        slope.div_(slope + 1.0)
        overall = _project(hidden, readout)
        if not math.isfinite(overall.sum().item()):  # exp z has overflowed
            slope, hidden = torch.sigmoid(z), F.softplus(z)
            overall = _project(hidden, readout)
        ctx.save_for_backward(z, readout, slope, hidden)
        return overall

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        z, readout, slope, hidden = ctx.saved_tensors
        if torch.is_grad_enabled():
            slope, hidden = torch.sigmoid(z), F.softplus(z)
        need_z, need_readout = ctx.needs_input_grad
        return (
            (grad.unsqueeze(-1) * readout).mul_(slope) if need_z else None,
            grad.flatten() @ hidden.flatten(0, -2) if need_readout else None,
        )


def _project(hidden: Tensor, readout: Tensor) -> Tensor:
    """The product, in full precision under autocast too: energies would lose their digits."""
    product = hidden @ readout
    if product.dtype == hidden.dtype:
        return product
    with torch.autocast(hidden.device.type, enabled=False):
        return hidden @ readout
