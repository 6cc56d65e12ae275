"""Which tags to predict for a metric, from the task-net's probabilities or from the joint.

Where the loss-net is a chain, so is the joint, and everything is exact: the most probable tags by
Viterbi's algorithm, probabilities of tags and of spans by messages. Other loss-nets weigh samples
of the task-net, all of which the scheme allows.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from lossnet.context import Context
from lossnet.contrasts.meaning import Meaning
from lossnet.decisions import (
    Joint,
    Weighted,
    local_search,
    marginals,
    most_probable,
    self_normalised,
)
from lossnet.energies import ChainEnergy
from lossnet.nets import ChainTagger
from lossnet.tasks.decision import Decision
from lossnet.tasks.sequence.chain_marginals import FORBIDDEN, Chain, Pool
from lossnet.tasks.sequence.decoding import TagRules
from lossnet.tasks.sequence.tags import Span, spans

WEIGHTS = (0.5, 1.0)
TEMPERATURES = (0.75, 1.5, 1.0)
#: What the probability of a span must exceed. In theory half the F1 that is reached, at most 1/2;
#: a net that is too sure of O needs less.
THRESHOLDS = (0.5, 0.4, 0.2, 0.1, 0.05, 0.025, 0.3)


def trials(rule: str, samples: int, *, by_spans: bool) -> list[Decision]:
    """What to try of a rule; ``by_spans`` where it takes spans above a threshold."""
    offsets = [float(np.log(1 / t - 1)) for t in THRESHOLDS] if by_spans else [0.0]
    if rule == "expected":
        pairs = itertools.product(TEMPERATURES, offsets)
        return [Decision(rule, temperature=t, offset=offset) for t, offset in pairs]
    pairs = itertools.product(WEIGHTS, offsets if rule == "samples" else [0.0])
    return [Decision(rule, samples=samples, weight=w, offset=offset) for w, offset in pairs]


@dataclass(frozen=True)
class TagJoint:
    """The distribution of tags that a decision is made by.

    Args:
        decision: the rule and its settings.
        meaning: what the energies mean.
        rules: what the scheme allows, if it has rules.
        never: gives a batch's tags that cannot be, ``(B, T, C)`` bool, or None.
        usual: gives the tags of the usual rule, ``(B, T)``.
        net: the net that predicts.
    """

    decision: Decision
    meaning: Meaning
    rules: TagRules | None
    never: Callable[[Context], Tensor | None]
    usual: Callable[[Context], Tensor]
    net: str = "task"

    def chain(self, context: Context) -> Chain | None:
        """The joint as a chain; None where the loss-net is none."""
        weight, net = self.decision.weight, context.nets[self.net]
        if weight:
            energy: Any = context.nets["energy"]
            if type(energy) is not ChainEnergy:
                return None
            share = 1.0 if self.meaning.joint == "ratio" else 1.0 - weight
            unary = weight * context.encoded("energy").double() - share * self._log_q(context)
            return self._chain(context, unary, weight * energy.pairwise.double())
        if not isinstance(net, ChainTagger):
            return self._independent(context)
        scores = context.scores(self.net), net.pairwise
        return self._chain(context, *(-s.double() / self.decision.temperature for s in scores))

    def _independent(self, context: Context) -> Chain:
        """The task-net's tags as if they were independent of each other."""
        log_q = self._log_q(context)
        return self._chain(context, -log_q, log_q.new_zeros((log_q.shape[-1],) * 2))

    def _log_q(self, context: Context) -> Tensor:
        return (context.logits(self.net).double() / self.decision.temperature).log_softmax(-1)

    def _chain(self, context: Context, unary: Tensor, pairwise: Tensor) -> Chain:
        mask = context.batch.mask
        assert mask is not None
        return Chain(unary, pairwise, mask, self.rules, self.never(context))

    def _joint(self, context: Context) -> Joint:
        return Joint(context, self.meaning, self.decision.weight, net=self.net)

    def weighted(self, context: Context) -> Weighted:
        """Samples of the task-net, weighted as the joint demands; one-hot."""
        proposal = self._independent(context)
        # One noise for all sentences: a prediction does not depend on the others.
        noise = context.uniform(self.decision.samples, context.logits(self.net)[..., :1])
        y = self._one_hot(proposal.draw(noise.squeeze(-1).double()), context)
        joint = self._joint(context)
        w, ess = self_normalised(joint.log_p(y).double() - joint.log_q(y).double())
        return Weighted(y, w, ess)

    def _one_hot(self, tags: Tensor, context: Context) -> Tensor:
        mask = context.batch.mask
        assert mask is not None
        return F.one_hot(tags, context.logits(self.net).shape[-1]).bool() & mask.unsqueeze(-1)

    def effective_samples(self, context: Context) -> Tensor:
        """Effective sample sizes, ``(B,)``."""
        found = self.weighted(context).ess
        assert found is not None
        return found

    def marginals(self, context: Context) -> Tensor:
        """The probability of every tag, ``(B, T, C)``."""
        chain = self.chain(context)
        if chain is not None:
            return chain.marginals()
        drawn = self.weighted(context)
        return marginals(drawn.y, drawn.w)

    def mode(self, context: Context) -> Tensor:
        """The most probable tags, ``(B, T)``: exact for chains, else by search from samples."""
        chain = self.chain(context)
        if chain is not None:
            return chain.best()
        usual = self._one_hot(self.usual(context), context).unsqueeze(0)
        y = torch.cat([usual, self.weighted(context).y])
        log_p, mask = self._valid_log_p(context), context.batch.mask
        assert mask is not None
        logits = context.logits(self.net).masked_fill(~mask.unsqueeze(-1), -torch.inf)
        found = local_search(log_p, most_probable(y, log_p(y)), context.space, logits=logits)
        return found.long().argmax(-1)

    def _valid_log_p(self, context: Context) -> Callable[[Tensor], Tensor]:
        """log p of candidates ``(K, B, T, C)``, far lower where they break a rule."""
        joint, never, mask = self._joint(context), self.never(context), context.batch.mask
        assert mask is not None

        def log_p(y: Tensor) -> Tensor:
            found = joint.log_p(y).double()
            if never is not None:
                found = found - FORBIDDEN * (y & never).sum((2, 3))
            return found if self.rules is None else found - FORBIDDEN * _broken(y, self.rules, mask)

        return log_p

    def pools(self, context: Context, tags: Sequence[str], given: str | None) -> list[Pool]:
        """The spans of each sentence that some threshold may take, with their probabilities."""
        chain = self.chain(context)
        if chain is not None:
            return chain.spans(tags, min(THRESHOLDS), given)
        drawn = self.weighted(context)
        found, mask = drawn.y.long().argmax(-1).cpu().numpy(), context.batch.mask
        assert mask is not None
        lengths, weights = mask.sum(1).tolist(), drawn.w.cpu().numpy()
        each = zip(found.swapaxes(0, 1), weights.T, lengths, strict=True)
        return [_sampled_pool(rows[:, :n], w, tags) for rows, w, n in each]


def _sampled_pool(rows: np.ndarray, w: np.ndarray, tags: Sequence[str]) -> Pool:
    """The spans in a sentence's samples ``(K, T)`` with the weight of those that have them."""
    distinct, number = np.unique(rows, axis=0, return_inverse=True)
    total: dict[Span, float] = defaultdict(float)
    for row, share in zip(distinct, np.bincount(number.ravel(), w), strict=True):
        for span in spans([tags[tag] for tag in row]):
            total[span] += float(share)
    return [(p, span) for span, p in total.items()]


def _broken(y: Tensor, rules: TagRules, mask: Tensor) -> Tensor:
    """How often one-hot candidates ``(K, B, T, C)`` break a scheme's rules, ``(K, B)``."""
    tags = y.long().argmax(-1)
    follows, begins, ends = (torch.as_tensor(rule, device=y.device) for rule in rules)
    last = mask.sum(1).sub(1).expand(tags.shape[:2]).unsqueeze(-1)
    pairs = (~follows[tags[..., :-1], tags[..., 1:]] & mask[:, 1:]).sum(-1)
    return pairs + (~begins[tags[..., 0]]).long() + (~ends[tags.gather(2, last).squeeze(-1)]).long()
