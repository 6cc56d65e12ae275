"""Regression of the energy on the quality of the output (DVN)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.contrasts.contrast import Compared, need
from lossnet.contrasts.meaning import VALUE, Meaning


@dataclass(frozen=True)
class Regression:
    """Σ_k -s_k log σ(-E_k) - (1 - s_k) log(1 - σ(-E_k)), with s_k = 1 - cost_k.

    Paper 000, Eq. 7, whose ``1 + σ`` is a misprint for ``1 - σ``. The cost must lie in [0, 1].
    A task-net minimises -σ(-E), the negative of the predicted quality.
    """

    requires: ClassVar[frozenset[str]] = frozenset({"cost"})
    meaning: ClassVar[Meaning] = VALUE

    def __call__(self, compared: Compared) -> Tensor:
        quality = 1.0 - need(compared.cost, "costs", self)
        return F.binary_cross_entropy_with_logits(-compared.e, quality, reduction="none").sum(0)

    def link(self, e: Tensor) -> Tensor:
        return -torch.sigmoid(-e)
