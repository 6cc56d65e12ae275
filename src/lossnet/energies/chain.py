"""The energy of a tag sequence: single tags and pairs of neighbours."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from lossnet.energies import chain_inference as chains
from lossnet.energies.tag import TagEnergy
from lossnet.spaces import sparse


class ChainEnergy(TagEnergy):
    """E(x, y) = Σ_t <y_t, U b(x, t)> + Σ_t y_{t-1}' W y_t   (paper 003, Eq. 7).

    The paper's minus sign is in the weights. b is a feature network of the energy's own, or
    :class:`~lossnet.nets.SharedFeatures`.

    Args:
        features: feature network, tokens to ``(B, T, d)`` with ``out_features`` d.
        tags: number of tags C.
    """

    def __init__(self, features: nn.Module, tags: int) -> None:
        super().__init__(features, tags)
        self.pairwise = nn.Parameter(torch.zeros(tags, tags))

    def encode(self, x: Any, mask: Tensor | None = None) -> Tensor:
        """The energy of every tag at every position, ``(B, T, C)``."""
        return self.unary(self.features(x))

    def forward(self, h: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        return chains.energy(h, self.pairwise, sparse.dense(y, h.dtype), mask)

    def minimise(
        self,
        h: Tensor,
        mask: Tensor | None = None,
        *,
        target: Tensor | None = None,
        margin: float = 0.0,
    ) -> Tensor:
        """The tags of lowest E(x, y), or with a target of lowest E - margin Δ, ``(B, T)``.

        Δ is the L1 distance to the one-hot target.
        """
        if target is not None:
            h = chains.cost_augmented(h, target, margin, mask)
        return chains.viterbi(h, self.pairwise, mask)[0]

    def marginals(self, h: Tensor, mask: Tensor | None = None) -> Tensor:
        """Probability of every tag at every position under p(y|x) ~ exp(-E), ``(B, T, C)``."""
        return chains.marginals(h, self.pairwise, mask)

    def log_partition(self, h: Tensor, mask: Tensor | None = None) -> Tensor:
        """log Σ_y exp(-E(x, y)), ``(B,)``."""
        return chains.log_partition(h, self.pairwise, mask)
