"""What the nets know of a batch's outputs together, as a distribution to decide by."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.contrasts.meaning import Meaning
from lossnet.decisions.search import LogJoint, OfRows, enumerated
from lossnet.decisions.weights import self_normalised
from lossnet.proposals.samples import Samples
from lossnet.spaces import log_count, sparse

#: Outputs are enumerated where there are at most so many.
MOST_ENUMERATED = 1024


@dataclass(frozen=True)
class Weighted:
    """Candidates of a batch with probabilities that sum to 1.

    Attributes:
        y: the candidates, ``(K, B, *S)``.
        w: their weights, ``(K, B)``.
        ess: effective sample size ``(B,)``; None where every output is a candidate.
    """

    y: Tensor
    w: Tensor
    ess: Tensor | None = None


@dataclass(frozen=True)
class Joint:
    """log p(y|x) up to a constant: weight log p_E(y) + (1 - weight) log q(y) + offset |y|.

    p_E is the loss-net's joint, as its energies' meaning says, and q the task-net with independent
    positions. With weight 0 only the task-net counts: the offset -logit(t) then makes a threshold
    t of the most probable output.

    Args:
        context: the batch and the nets.
        meaning: what the energies mean; one with a joint, unless the weight is 0.
        weight: what the loss-net counts against the task-net, from 0.
        offset: what a label that is on adds; for binary outputs.
        net: the task-net.
        energy: the loss-net.
    """

    context: Context
    meaning: Meaning
    weight: float = 1.0
    offset: float = 0.0
    net: str = "task"
    energy: str = "energy"

    @property
    def of_rows(self) -> OfRows | None:
        """:meth:`log_p` of some rows by their numbers; None where inputs are not one tensor."""
        context, mask = self.context, self.context.batch.mask
        if not isinstance(x := context.batch.x, Tensor):
            return None

        def of(rows: Tensor) -> LogJoint:
            batch = Batch(x.index_select(0, rows), mask=None if mask is None else mask[rows])
            given = {self.net: context.logits(self.net)[rows]}
            how: dict[str, Any] = {"given": given, "precision": context.precision}
            return replace(self, context=Context(context.nets, batch, context.space, **how)).log_p

        return of

    def log_q(self, y: Tensor) -> Tensor:
        """log q of candidates, ``(K, B)``."""
        context = self.context
        return context.space.log_prob(context.logits(self.net), y, context.batch.mask)

    def log_p(self, y: Tensor) -> Tensor:
        """log p of candidates ``(K, B, *S)`` up to a constant of the row, ``(K, B)``."""
        y = sparse.compact(y, self.context.logits(self.net).dtype)
        log_q = self.log_q(y)
        found = log_q
        if self.weight:
            joint = self.meaning.log_joint(self.context.energy(y, self.energy), log_q)
            found = self.weight * joint + (1.0 - self.weight) * log_q
        if self.offset:
            logits = self.context.logits(self.net)
            found = found + self.offset * sparse.dot(y, torch.ones_like(logits))
        return found

    def candidates(self, samples: int, *, enumerate_at_most: int = MOST_ENUMERATED) -> Weighted:
        """All outputs where they are few, else samples of q, weighted as p demands."""
        logits, space = self.context.logits(self.net), self.context.space
        few = log_count(space, logits.shape[1:]) <= math.log(enumerate_at_most) + 1e-9
        if self.context.batch.mask is None and few:
            y, log_p = enumerated(space, logits.shape, self.log_p, device=logits.device)
            return Weighted(y, log_p.exp())
        y = Samples(samples, self.net)(self.context).y
        w, ess = self_normalised(self.log_p(y) - self.log_q(y))
        return Weighted(y, w, ess)

    def rounded(self) -> Tensor:
        """The most probable output of the task-net alone, ``(B, *S)``."""
        logits, space = self.context.logits(self.net), self.context.space
        return space.decode(space.relax(logits + self.offset))
