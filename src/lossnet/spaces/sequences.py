"""Sequences of classes in which not every class may follow every other."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.spaces.space import Categorical

#: The least log-probability relative to the likeliest class; products of two stay above zero.
_LEAST = -40.0


@dataclass(frozen=True)
class Sequences(Categorical):
    """A class of C at each of T positions; samples keep to rules about neighbours, such as BIO.

    A net with independent positions draws an ``I-X`` after an ``O`` at almost every sample of a
    long sentence, which an energy can tell from the truth without knowing anything else. Here
    samples are drawn from q(y) = Π_t q_t(y_t) / Z over the valid y, by messages from the last
    position to the first. Everything else is as in :class:`Categorical`; ``log_prob`` leaves out
    log Z, which does not depend on y: ranking losses do not change with it.

    Args:
        follows: whether class j may follow class i, ``(C, C)`` bool.
        begins: whether a sequence may begin with a class, ``(C,)`` bool.
        ends: whether it may end with it, ``(C,)`` bool.

    >>> once = torch.tensor([[True, True], [True, False]])  # class 1 never twice in a row
    >>> ones = torch.ones(2).bool()
    >>> space = Sequences(follows=once, begins=ones, ends=ones)
    >>> space.sample(torch.tensor([[[0.0, 9.0], [0.0, 9.0]]]), 4).sum((0, 1, 2))
    tensor([4, 4])
    """

    _: KW_ONLY
    follows: Tensor = field(compare=False)
    begins: Tensor = field(compare=False)
    ends: Tensor = field(compare=False)

    def sample(
        self,
        logits: Tensor,
        k: int,
        generator: torch.Generator | None = None,
        *,
        mask: Tensor | None = None,
    ) -> Tensor:
        follows, weights = self.follows.to(logits), self._messages(logits, mask)
        allowed = self.begins.to(logits).expand(k, len(logits), -1)
        drawn = []
        for weight in weights:
            drawn.append(_draw(allowed * weight, generator))
            allowed = follows[drawn[-1]]
        return F.one_hot(torch.stack(drawn, 2), logits.shape[-1]).bool()

    def _messages(self, logits: Tensor, mask: Tensor | None) -> list[Tensor]:
        """For each position the weight of a class and of all that may follow it, ``(B, C)``."""
        q = (logits - logits.amax(-1, keepdim=True)).clamp_min(_LEAST).exp()
        ends, follows = self.ends.to(q), self.follows.to(q)
        weights: list[Tensor] = []
        for t in reversed(range(q.shape[1])):
            onward = weights[-1] @ follows.T if weights else ends
            if weights and mask is not None:
                onward = torch.where(mask[:, t + 1, None], onward, ends)
            if mask is not None:  # under padding anything goes
                onward = onward.where(mask[:, t, None], 1.0)
            weight = q[:, t] * onward
            weights.append(weight / weight.sum(-1, keepdim=True))
        return weights[::-1]


def _draw(weights: Tensor, generator: torch.Generator | None) -> Tensor:
    """Class numbers ``(K, B)`` with probabilities in proportion to weights ``(K, B, C)``."""
    sums = weights.cumsum(-1)
    total = sums[..., -1:]
    uniform = weights.new_empty(total.shape).uniform_(generator=generator)
    # Slightly below the total, which rounding would otherwise reach.
    return (sums <= uniform * total * (1.0 - 1e-6)).sum(-1)
