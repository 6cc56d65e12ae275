"""Tags of one sentence as a Markov chain: samples, and the probability of every span.

A chain is p(y) ∝ exp(-Σ_t U_t[y_t] - Σ_t P[y_{t-1}, y_t]) over the sequences that a scheme allows.
Shapes: ``B`` sentences, ``T`` tokens, ``C`` tags, ``K`` samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lossnet.energies import chain_inference as chains
from lossnet.tasks.sequence.decoding import TagRules
from lossnet.tasks.sequence.tags import Span

#: What breaking a rule costs, in double precision.
FORBIDDEN = 1e6
#: Energies further above a token's lowest are taken for this, so that products stay above zero.
_HIGHEST = 300.0

#: Spans of one sentence with their probabilities.
Pool = list[tuple[float, Span]]


@dataclass(frozen=True)
class Chain:
    """A distribution of tags, in double precision.

    Attributes:
        unary: energies of single tags, ``(B, T, C)``.
        pairwise: of neighbours, ``(C, C)`` [from, to].
        mask: true where there is a token, ``(B, T)``.
        rules: what the scheme allows, if it has rules.
        never: tags that cannot be, ``(B, T, C)`` bool, if there are any.
    """

    unary: Tensor
    pairwise: Tensor
    mask: Tensor
    rules: TagRules | None = None
    never: Tensor | None = None

    def best(self) -> Tensor:
        """The most probable tags, ``(B, T)``."""
        unary, steps = self.unary, self.pairwise
        if self.never is not None:
            unary = unary.masked_fill(self.never, 0.0) + FORBIDDEN * self.never
        if self.rules is not None:
            start, stop = (FORBIDDEN * ~_like(rule, unary).bool() for rule in self.rules[1:])
            steps = steps + FORBIDDEN * ~_like(self.rules.follows, unary).bool()
            unary = chains.with_ends(unary, self.mask, start=start, stop=stop)
        return chains.viterbi(unary, steps, self.mask)[0]

    def messages(self) -> tuple[Tensor, Tensor, Tensor]:
        """W ``(C, C)``, m ``(B, T, C)`` and n ``(B, T, C)``.

        They give p(y_t | y_{t-1}) = W[y_{t-1}, y_t] m_t[y_t] / n_{t-1}[y_{t-1}].
        """
        w = (self.pairwise.min() - self.pairwise).clamp_min(-_HIGHEST).exp()
        low = self.unary.amin(-1, keepdim=True)
        weights = (low - self.unary).clamp_min(-_HIGHEST).exp()
        ends = torch.ones_like(w[0])
        if self.rules is not None:
            w, ends = w * _like(self.rules.follows, w), _like(self.rules.ends, w)
        if self.never is not None:
            weights = weights.masked_fill(self.never, 0.0)
        last = ends.expand(len(weights), -1)
        found: list[Tensor] = []
        onward: list[Tensor] = []
        for t in reversed(range(weights.shape[1])):
            before = last if not found else torch.where(
                self.mask[:, t + 1, None], found[-1] @ w.T, last
            )  # fmt: skip
            onward.append(before)
            message = weights[:, t] * before
            found.append(message / message.amax(-1, keepdim=True).clamp_min(1e-300))
        return w, torch.stack(found[::-1], 1), torch.stack(onward[::-1], 1)

    def marginals(self) -> Tensor:
        """p(y_t = c), ``(B, T, C)``; 0 under padding."""
        w, m, n = self.messages()
        return self._forward(w, m, n)

    def _forward(self, w: Tensor, m: Tensor, n: Tensor) -> Tensor:
        found = [_shares(m[:, 0] * self._begins(m))]
        for t in range(1, m.shape[1]):
            step = (found[-1] / n[:, t - 1].clamp_min(1e-300)) @ w
            found.append(_shares(step * m[:, t]))
        return torch.stack(found, 1) * self.mask.unsqueeze(-1)

    def _begins(self, like: Tensor) -> Tensor:
        if self.rules is None:
            return torch.ones_like(like[0, 0])
        return _like(self.rules.begins, like)

    def draw(self, uniform: Tensor) -> Tensor:
        """Samples ``(K, B, T)`` for uniform noise ``(K, B or 1, T)``; 0 under padding."""
        w, m, _ = self.messages()
        allowed, drawn = self._begins(m), []
        for t in range(m.shape[1]):
            sums = (allowed * m[:, t]).cumsum(-1)
            sums = sums.expand(len(uniform), -1, -1) if sums.dim() == 2 else sums
            level = uniform[..., t, None] * sums[..., -1:] * (1 - 1e-6)
            drawn.append((sums <= level).sum(-1).clamp_max(m.shape[-1] - 1))
            allowed = w[drawn[-1]]
        return torch.stack(drawn, -1).masked_fill(~self.mask, 0)

    def spans(self, tags: Sequence[str], least: float, given: str | None = None) -> list[Pool]:
        """The spans of each sentence with a probability above ``least``; all of type ``given``."""
        assert self.rules is not None
        w, m, n = self.messages()
        kinds = sorted({tag[2:] for tag in tags if tag != "O"})
        numbers = [kinds.index(tag[2:]) if tag != "O" else -1 for tag in tags]
        kind = torch.tensor(numbers, device=m.device)
        follows, begins = (_like(rule, m).bool() for rule in self.rules[:2])
        source, target = (follows & ~begins).nonzero(as_tuple=True)  # within a span
        steps = w[source, target]
        # The share of a tag's paths that go on with its span.
        going = torch.zeros_like(m)
        after = m[:, 1:] * self.mask[:, 1:, None]
        going[:, :-1].index_add_(2, source, after[..., target] * steps)
        going = going / n.clamp_min(1e-300)
        now = self._forward(w, m, n) * (begins & (kind >= 0))
        pools: list[Pool] = [[] for _ in m]
        for length in range(1, m.shape[1] + 1):
            at = slice(length - 1, None)
            ended = torch.zeros(*now.shape[:2], len(kinds), dtype=m.dtype, device=m.device)
            counted = kind >= 0
            ended.index_add_(2, kind[counted], (now * (1 - going[:, at]))[..., counted])
            wanted = ended > least
            if given in kinds:
                wanted[..., kinds.index(given)] |= ended[..., kinds.index(given)] > 0
            where = wanted.nonzero()
            for (row, start, k), p in zip(where.tolist(), ended[wanted].tolist(), strict=True):
                pools[row].append((p, Span(kinds[k], start, start + length)))
            if length == m.shape[1] or not bool((now > least).any()):
                break
            on = torch.zeros_like(now[:, :-1])
            before = (now / n[:, at].clamp_min(1e-300))[:, :-1]
            now = on.index_add_(2, target, before[..., source] * steps) * after[:, at]
        return pools


def _like(rule: object, like: Tensor) -> Tensor:
    return torch.as_tensor(rule, dtype=like.dtype, device=like.device)


def _shares(values: Tensor) -> Tensor:
    return values / values.sum(-1, keepdim=True).clamp_min(1e-300)
