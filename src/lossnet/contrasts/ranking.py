"""Ranking the truth above samples, with and without the noise distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from lossnet.contrasts.base import Compared, need


@dataclass(frozen=True)
class Ranking:
    """-log exp(-E_0) / Σ_{k=0..K} exp(-E_k), the truth being candidate 0   (paper 001, Eq. 10).

    The truth stands in the denominator (the paper's sum starts at 1), so the loss is never
    negative. Samples that happen to equal the truth are kept.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"target"})

    def __call__(self, compared: Compared) -> Tensor:
        return _rank(-need(compared.e_target, "the truth's energy", self), -compared.e)

    def link(self, e: Tensor) -> Tensor:
        return e


@dataclass(frozen=True)
class NCE:
    """-log exp(s_0) / Σ_{k=0..K} exp(s_k) with s = -E - log q   (paper 000, Eq. 8 and 9).

    With candidates drawn from q the minimiser of its expectation is E = -log p(y|x) + const(x)
    for any q that can draw every output (Ma and Collins, 2018). The truth stands in the
    denominator; samples that equal it are kept.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"target", "log_q"})

    def __call__(self, compared: Compared) -> Tensor:
        e_target = need(compared.e_target, "the truth's energy", self)
        log_q = need(compared.log_q, "log q of the candidates", self)
        log_q_target = need(compared.log_q_target, "log q of the truth", self)
        return _rank(-e_target - log_q_target, -compared.e - log_q)

    def link(self, e: Tensor) -> Tensor:
        return e


def _rank(truth: Tensor, others: Tensor) -> Tensor:
    """log Σ exp over the truth and the others, less the truth: ``(B,)``."""
    everything = torch.cat([truth.unsqueeze(0), others])
    return torch.logsumexp(everything, 0) - truth
