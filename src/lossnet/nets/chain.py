"""A tagger that scores neighbouring tags too: a conditional random field as the task-net."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lossnet.energies import chain_inference as chains
from lossnet.nets.recurrent import Tagger

#: The least probability of a tag; the logarithm of a smaller one would have a useless gradient.
_LEAST = 1e-6


class ChainTagger(Tagger):
    """A linear-chain CRF: p(y|x) ∝ exp(Σ_t <y_t, s_t> + Σ_t y_{t-1}' W y_t).

    s are the scores of :class:`Tagger`, which its pass gives, and W a score for every pair of
    neighbouring tags. Its output, wherever one is asked for, is p(y_t = c | x) by forward-backward,
    and its cross-entropy the exact -log p(y*|x): see :class:`~lossnet.nets.JointNet`.

    Args:
        features: the feature network, with ``out_features``.
        tags: number of tags C.
    """

    def __init__(self, features: nn.Module, tags: int) -> None:
        super().__init__(features, tags)
        self.pairwise = nn.Parameter(torch.zeros(tags, tags))

    def marginal_logits(self, scores: Tensor, mask: Tensor | None = None) -> Tensor:
        """log p(y_t = c | x) of scores, both ``(B, T, C)``; 0 under padding."""
        with torch.autocast(scores.device.type, enabled=False):
            p = chains.marginals(-scores, -self.pairwise, mask)
        logits = p.clamp_min(_LEAST).log()
        return logits if mask is None else logits.masked_fill(~mask.unsqueeze(-1), 0.0)

    def nll(
        self,
        scores: Tensor,
        target: Tensor,
        mask: Tensor | None = None,
        known: Tensor | None = None,
    ) -> Tensor:
        """-log p(y*|x), ``(B,)``; of all y that agree with y* where it is ``known`` ``(B, T)``."""
        return chains.nll(-scores, -self.pairwise, target, mask, known)
