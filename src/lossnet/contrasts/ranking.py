"""Ranking the truth above samples, with and without the noise distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lossnet.contrasts.contrast import Compared, CostScaled, need
from lossnet.contrasts.meaning import DENSITY, ORDER, RATIO, Meaning
from lossnet.parameters import Weight


@dataclass(frozen=True)
class Ranking(CostScaled):
    """-log exp(-E_0) / Σ_{k=0..K} exp(-E_k + scale Δ_k), the truth being candidate 0.

    Paper 001, Eq. 10, with scale 0. With a ``scale`` costly candidates must be further away:
    paper 002's contrastive divergence, whose formula lacks its minus sign. The truth is in the
    denominator (paper 001's sum starts at 1), so the loss is never negative. Samples that
    happen to equal the truth are kept.

    Args:
        scale: weight of the cost Δ, which is 0 at the truth.
    """

    scale: Weight = 0.0

    @property
    def meaning(self) -> Meaning:
        # With the cost inside, energies keep a distance from the truth that is no probability.
        return ORDER if self.scale else RATIO

    def __call__(self, compared: Compared) -> Tensor:
        e_target = need(compared.e_target, "the truth's energy", self)
        return _rank(-e_target, self.add_cost(-compared.e, compared))


@dataclass(frozen=True)
class NCE(CostScaled):
    """-log exp(s_0) / Σ_{k=0..K} exp(s_k) with s = -E - log q   (paper 000, Eq. 8 and 9).

    With candidates drawn from q the minimiser of its expectation is E = -log p(y|x) + const(x)
    for any q that can draw every output (Ma and Collins, 2018). The truth is in the
    denominator; samples that equal it are kept. With a ``scale``, scale Δ_k is added to s_k:
    paper 002's L_NCE, whose formula lacks its minus sign.

    Args:
        scale: weight of the cost Δ, which is 0 at the truth.
    """

    scale: Weight = 0.0
    reads: ClassVar[frozenset[str]] = frozenset({"target", "log_q"})

    @property
    def meaning(self) -> Meaning:
        return ORDER if self.scale else DENSITY

    def __call__(self, compared: Compared) -> Tensor:
        e_target = need(compared.e_target, "the truth's energy", self)
        log_q = need(compared.log_q, "log q of the candidates", self)
        log_q_target = need(compared.log_q_target, "log q of the truth", self)
        return _rank(-e_target - log_q_target, self.add_cost(-compared.e - log_q, compared))


def _rank(truth: Tensor, others: Tensor) -> Tensor:
    """log Σ exp over the truth and the others, minus the truth: ``(B,)``."""
    everything = torch.cat([truth.unsqueeze(0), others])
    return torch.logsumexp(everything, 0) - truth
