"""From relaxed outputs to roles: valid BIO tags, with V at the predicate.

The predicate is given, so its tag is ``B-V`` and no other token's is; ``I-V`` behind it ("pick up")
and ``C-V`` are predicted. Of the tags that keep to this and to BIO, the most probable are chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.energies import chain_inference as chains
from lossnet.tasks.roles.predicates import VERB
from lossnet.tasks.sequence.decoding import tag_rules

#: What breaking a rule costs a chain, in double precision.
_FORBIDDEN = 1e6
Where = Callable[[Context], Tensor]


def role_decoder(
    output: Callable[[Context], Tensor], where: Where, tags: Sequence[str], *, follow: bool
) -> Callable[[Context], Tensor]:
    """The function that gives a batch's tags ``(B, T)`` from relaxed outputs ``(B, T, C)``.

    Args:
        output: gives the outputs.
        where: gives the predicates, ``(B, T)`` bool.
        tags: the names of the C tags.
        follow: keep to BIO; otherwise every token's likeliest tag is taken.
    """
    begins = begin_of(tags)
    verb = tags.index(VERB)

    def decode(context: Context) -> Tensor:
        y = output(context)
        scores = y.clamp_min(torch.finfo(y.dtype).tiny).log()
        scores = scores.masked_fill(forbidden(where(context), len(tags), verb), -math.inf)
        if not follow:
            return scores.argmax(-1)
        mask = context.batch.mask
        assert mask is not None
        return best_tags(scores, begins.to(y.device), mask)

    return decode


def chain_decoder(
    where: Where, tags: Sequence[str], *, follow: bool
) -> Callable[[Context], Tensor]:
    """The same from the chain energy itself: the valid tags of least energy."""
    rules = tag_rules(tags, "IOB2") if follow else None
    verb = tags.index(VERB)

    def decode(context: Context) -> Tensor:
        energy, mask = context.nets["energy"], context.batch.mask
        unary = context.encoded("energy").double()
        wrong = forbidden(where(context), len(tags), verb)
        unary = unary.masked_fill(wrong, 0.0) + _FORBIDDEN * wrong
        steps = energy.pairwise.double()
        if rules is not None:
            follows, begins, ends = (
                _FORBIDDEN * torch.as_tensor(~allowed, device=unary.device) for allowed in rules
            )
            steps = steps + follows
            unary = chains.with_ends(unary, mask, start=begins, stop=ends)
        return chains.viterbi(unary, steps, mask)[0]

    return decode


def forbidden(predicates: Tensor, tags: int, verb: int) -> Tensor:
    """Which tags ``(B, T, C)`` cannot be: at a predicate all but B-V, and elsewhere B-V."""
    is_verb = torch.arange(tags, device=predicates.device) == verb
    return predicates.unsqueeze(-1) != is_verb


def begin_of(tags: Sequence[str]) -> Tensor:
    """For ``I-X`` the number of ``B-X``, or its own where there is none; -1 for other tags.

    >>> begin_of(["B-X", "I-X", "I-Y", "O"])
    tensor([-1,  0,  2, -1])
    """
    number = {tag: k for k, tag in enumerate(tags)}
    found = [
        number.get(f"B-{tag[2:]}", k) if tag.startswith("I-") else -1 for k, tag in enumerate(tags)
    ]
    return torch.tensor(found, device="cpu")


def best_tags(scores: Tensor, begins: Tensor, mask: Tensor) -> Tensor:
    """The tags ``(B, T)`` of largest Σ_t scores_t that are valid BIO, 0 under padding.

    The Viterbi algorithm where only ``I-X`` depends on the tag before it: O(C) a token.

    Args:
        scores: of every tag, ``(B, T, C)``; -inf for one that cannot be.
        begins: see :func:`begin_of`.
        mask: true where there is a token, ``(B, T)``.
    """
    inside, own = begins >= 0, torch.arange(len(begins), device=scores.device)
    begin = begins.clamp_min(0)
    total = scores[:, 0].masked_fill(inside, -math.inf)
    came = []
    for score, counts in zip(scores[:, 1:].unbind(1), mask[:, 1:].T.unsqueeze(-1), strict=True):
        best, last = total.max(1, keepdim=True)
        first = total[:, begin]
        before = torch.where(inside, torch.where(first >= total, begin, own), last)
        step = score + torch.where(inside, torch.maximum(first, total), best)
        came.append(torch.where(counts, before, own))
        total = torch.where(counts, step, total)
    tags = [total.argmax(1)]
    for before in reversed(came):
        tags.append(before.gather(1, tags[-1].unsqueeze(1)).squeeze(1))
    return torch.stack(tags[::-1], 1).masked_fill(~mask, 0)
