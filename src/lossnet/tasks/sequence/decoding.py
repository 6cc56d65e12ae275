"""From relaxed outputs to tags that keep to the rules of a scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.energies import chain_inference as chains
from lossnet.needs import EXACT
from lossnet.proposals import Proposal
from lossnet.tasks.sequence.tags import parse_tags
from lossnet.training.predict import Nets, best_output

#: What breaking a rule costs: more than any sentence's tokens can make up for.
_FORBIDDEN = 1e6

#: Which prefixes may follow a prefix in one span, by scheme; between spans, see :func:`tag_rules`.
_WITHIN = {"IOB2": {"B": "I", "I": "I"}, "BIOES": {"B": "IE", "I": "IE"}}
#: Prefixes that a span may begin and end with.
_FIRST = {"IOB2": "B", "BIOES": "BS"}
_LAST = {"IOB2": "BI", "BIOES": "ES"}


class TagRules(NamedTuple):
    """What a scheme allows of C tags.

    Attributes:
        follows: whether tag j may follow tag i, ``(C, C)``.
        begins: whether a sentence may begin with a tag, ``(C,)``.
        ends: whether it may end with it, ``(C,)``.
    """

    follows: np.ndarray
    begins: np.ndarray
    ends: np.ndarray


def tag_rules(tags: Sequence[str], scheme: str | None) -> TagRules | None:
    """The rules of IOB2 or BIOES on these tags; None for any other scheme, which has none.

    >>> tag_rules(["B-PER", "I-PER", "O"], "IOB2").follows.astype(int)
    array([[1, 1, 1],
           [1, 1, 1],
           [1, 0, 1]])
    """
    if scheme is None or scheme not in _WITHIN:
        return None
    parsed = parse_tags(tags, scheme)
    begins = np.array([prefix in "O" + _FIRST[scheme] for prefix, _ in parsed])
    ends = np.array([prefix in "O" + _LAST[scheme] for prefix, _ in parsed])
    within = np.array(
        [
            [kind == other and after in _WITHIN[scheme].get(prefix, "") for after, other in parsed]
            for prefix, kind in parsed
        ]
    )
    return TagRules(within | (ends[:, None] & begins[None, :]), begins, ends)


def decoder(
    output: Callable[[Context], Tensor], rules: TagRules | None
) -> Callable[[Context], Tensor]:
    """The function that gives a batch's tags ``(B, T)``.

    Without rules that is the likeliest tag of every token. With rules it is the sequence of
    largest Π_t P(y_t | x) among those that keep to them.
    """
    if rules is None:
        return lambda context: output(context).argmax(-1)
    follows, begins, ends = (
        torch.as_tensor(~allowed, device="cpu") * _FORBIDDEN for allowed in rules
    )

    def decode(context: Context) -> Tensor:
        y = output(context)
        energies = -y.clamp_min(torch.finfo(y.dtype).tiny).log()
        steps, start, stop = (penalty.to(y) for penalty in (follows, begins, ends))
        energies = chains.with_ends(energies, context.batch.mask, start=start, stop=stop)
        return chains.viterbi(energies, steps, context.batch.mask)[0]

    return decode


def path_decoder(
    path: Callable[[Context], Tensor], rules: TagRules | None
) -> Callable[[Context], Tensor]:
    """The same of outputs ``(B, steps + 1, T, C)``: a batch's tags ``(B, T, steps + 1)``."""
    return each_step(path, lambda output: decoder(output, rules))


def each_step(
    path: Callable[[Context], Tensor],
    make: Callable[[Callable[[Context], Tensor]], Callable[[Context], Tensor]],
) -> Callable[[Context], Tensor]:
    """The decoder that ``make`` makes of an output, for every output of a path."""

    def decode(context: Context) -> Tensor:
        outputs = path(context).unbind(1)
        each = iter(outputs)
        tags = make(lambda _: next(each))
        return torch.stack([tags(context) for _ in outputs], -1)

    return decode


def probabilities(by: Proposal, nets: Nets) -> Callable[[Context], Tensor]:
    """The function that gives the probabilities of a batch's tags ``(B, T, C)``."""
    return marginals if by.needs >= EXACT else best_output(by, nets)


def marginals(context: Context) -> Tensor:
    """The probability of every tag ``(B, T, C)`` by an energy that is a random field."""
    energy = context.nets["energy"]
    with torch.enable_grad():
        found: Tensor = energy.marginals(context.encoded("energy"), context.batch.mask)
    return found.detach()


def known_tokens(
    proba: Sequence[np.ndarray], true: Sequence[Sequence[str]], tags: Sequence[str]
) -> tuple[Tensor, Tensor, Tensor]:
    """Probabilities ``(N, C)`` of all tokens, the numbers of their tags, and which are known."""
    # A tag absent from training has no number.
    number = {tag: i for i, tag in enumerate(tags)}
    numbers = torch.tensor([number.get(tag, -1) for row in true for tag in row])
    return torch.as_tensor(np.concatenate(proba)), numbers, numbers >= 0
