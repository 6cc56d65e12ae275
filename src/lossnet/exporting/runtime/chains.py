"""Tags of sentences as chains: the best path, marginals, and the probability of every span.

A chain is p(y) ∝ exp(-Σ_t U_t[y_t] - Σ_t P[y_{t-1}, y_t]) in float64. Shapes: ``B`` sentences,
``T`` tokens, ``C`` tags; ``mask`` is true where there is a token, padding on the right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .base import Array

_FORBIDDEN = 1e6
_HIGHEST = 300.0
_TINY = 1e-300

#: Type, first token, and the token after the last.
Span = tuple[str, int, int]
Pool = list[tuple[float, Span]]


class Rules(NamedTuple):
    """Which tag may follow which ``(C, C)``, begin ``(C,)`` and end a sentence ``(C,)``."""

    follows: Array
    begins: Array
    ends: Array

    @classmethod
    def of(cls, arrays: Mapping[str, Array]) -> Rules | None:
        """Those that an exported folder holds."""
        return cls(*(arrays[name] for name in cls._fields)) if "follows" in arrays else None


def last_of(mask: Array) -> Array:
    """True at the last token of each sentence, ``(B, T)``."""
    following = np.concatenate([mask[:, 1:], np.zeros((len(mask), 1), dtype=bool)], 1)
    return mask & ~following


def viterbi(
    unary: Array,
    pairwise: Array,
    mask: Array,
    rules: Rules | None = None,
    never: Array | None = None,
) -> Array:
    """The tags ``(B, T)`` of least energy, 0 under padding."""
    unary = np.where(mask[..., None], unary, 0.0)
    if never is not None:
        unary = np.where(never & mask[..., None], _FORBIDDEN, unary)
    if rules is not None:
        pairwise = pairwise + _FORBIDDEN * ~rules.follows
        unary[:, 0] += _FORBIDDEN * ~rules.begins
        unary += last_of(mask)[..., None] * (_FORBIDDEN * ~rules.ends)
    total, came = unary[:, 0], []
    own = np.arange(unary.shape[2])
    for t in range(1, unary.shape[1]):
        ways = total[:, :, None] + pairwise
        before = ways.argmin(1)
        step = np.take_along_axis(ways, before[:, None], 1)[:, 0] + unary[:, t]
        counts = mask[:, t, None]
        came.append(np.where(counts, before, own))
        total = np.where(counts, step, total)
    tags = [total.argmin(1)]
    for before in reversed(came):
        tags.append(before[np.arange(len(before)), tags[-1]])
    found: Array = np.where(mask, np.stack(tags[::-1], 1), 0)
    return found


class Chain:
    """A distribution of tags.

    Args:
        unary: energies of single tags, ``(B, T, C)``.
        pairwise: of neighbours, ``(C, C)`` [from, to].
        mask: true where there is a token.
        rules: what the scheme allows.
        never: tags that cannot be, ``(B, T, C)``.
    """

    def __init__(
        self,
        unary: Array,
        pairwise: Array,
        mask: Array,
        rules: Rules | None = None,
        never: Array | None = None,
    ) -> None:
        self.mask, self.rules = mask, rules
        low = unary.min(-1, keepdims=True)
        weights = np.exp(np.maximum(low - unary, -_HIGHEST))
        weights = weights if never is None else np.where(never, 0.0, weights)
        self._w = np.exp(np.maximum(pairwise.min() - pairwise, -_HIGHEST))
        if rules is not None:
            self._w = self._w * rules.follows
        self._m, self._n = self._messages(weights)

    def _messages(self, weights: Array) -> tuple[Array, Array]:
        """m and n: p(y_t | y_{t-1}) = W[y_{t-1}, y_t] m_t[y_t] / n_{t-1}[y_{t-1}]."""
        last = np.ones(weights.shape[2]) if self.rules is None else self.rules.ends.astype(float)
        last = np.broadcast_to(last, weights[:, 0].shape)
        found: list[Array] = []
        onward: list[Array] = []
        for t in reversed(range(weights.shape[1])):
            before = last
            if found:
                before = np.where(self.mask[:, t + 1, None], found[-1] @ self._w.T, last)
            onward.append(before)
            message = weights[:, t] * before
            found.append(message / np.maximum(message.max(-1, keepdims=True), _TINY))
        return np.stack(found[::-1], 1), np.stack(onward[::-1], 1)

    def marginals(self) -> Array:
        """p(y_t = c), ``(B, T, C)``; 0 under padding."""
        m, n = self._m, self._n
        begins = 1.0 if self.rules is None else self.rules.begins.astype(float)
        found = [_shares(m[:, 0] * begins)]
        for t in range(1, m.shape[1]):
            step = (found[-1] / np.maximum(n[:, t - 1], _TINY)) @ self._w
            found.append(_shares(step * m[:, t]))
        marginals: Array = np.stack(found, 1) * self.mask[..., None]
        return marginals

    def spans(self, tags: Sequence[str], least: float, given: str | None) -> list[Pool]:
        """The spans of each sentence with a probability above ``least``; all of type ``given``."""
        assert self.rules is not None
        w, m, n = self._w, self._m, self._n
        kinds = sorted({tag[2:] for tag in tags if tag != "O"})
        kind = np.array([kinds.index(tag[2:]) if tag != "O" else -1 for tag in tags])
        is_kind = (kind[:, None] == np.arange(len(kinds))).astype(float)
        within = self.rules.follows & ~self.rules.begins
        inside = w * within
        after = m[:, 1:] * self.mask[:, 1:, None]
        # The share of a tag's paths that go on with its span.
        going = np.zeros_like(m)
        going[:, :-1] = after @ inside.T
        going = going / np.maximum(n, _TINY)
        now = self.marginals() * (self.rules.begins & (kind >= 0))
        pools: list[Pool] = [[] for _ in m]
        for length in range(1, m.shape[1] + 1):
            ended = (now * (1 - going[:, length - 1 :])) @ is_kind
            wanted = ended > least
            if given in kinds:
                wanted[..., kinds.index(given)] |= ended[..., kinds.index(given)] > 0
            for row, start, k in np.argwhere(wanted).tolist():
                span = kinds[k], start, start + length
                pools[row].append((float(ended[row, start, k]), span))
            if length == m.shape[1] or not (now > least).any():
                break
            before = (now / np.maximum(n[:, length - 1 :], _TINY))[:, :-1]
            now = (before @ inside) * after[:, length - 1 :]
        return pools


def _shares(values: Array) -> Array:
    found: Array = values / np.maximum(values.sum(-1, keepdims=True), _TINY)
    return found


def choose_spans(pool: Any, length: int, least: float, given: str | None = None) -> list[Any]:
    """The spans that lie apart with the largest Σ (p - least); one of type ``given`` in any case.

    The expected F1 of all sentences together, 2 Σ correct / Σ (true + predicted), is highest for
    the spans of largest Σ (p - F/2), F being the F1 that is reached: a threshold of at most 1/2.
    """
    ending: dict[int, list[tuple[float, Any]]] = {}
    for p, span in pool:
        score = p - least + (1e3 if span[0] == given else 0.0)
        if score > 0:
            ending.setdefault(span[2], []).append((score, span))
    best: list[tuple[float, Any]] = [(0.0, None)]
    for end in range(1, length + 1):
        found: tuple[float, Any] = (best[-1][0], None)
        for score, span in ending.get(end, ()):
            found = max(found, (best[span[1]][0] + score, span), key=lambda pair: pair[0])
        best.append(found)
    chosen, end = [], length
    while end:
        last = best[end][1]
        chosen += [] if last is None else [last]
        end = end - 1 if last is None else last[1]
    return chosen[::-1]


def tags_of_spans(spans: Sequence[Span], length: int, scheme: str) -> list[str]:
    """The tags of a sentence with these spans, in IOB2 or BIOES."""
    tags = ["O"] * length
    for kind, start, end in spans:
        prefixes = ["B", *"I" * (end - start - 1)]
        if scheme == "BIOES":
            prefixes = ["S"] if end - start == 1 else [*prefixes[:-1], "E"]
        tags[start:end] = [f"{prefix}-{kind}" for prefix in prefixes]
    return tags
