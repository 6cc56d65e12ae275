"""From relaxed outputs to tags."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lossnet.context import Context
from lossnet.energies import chain_inference as chains
from lossnet.tasks.sequence.tag_rules import TagRules

#: What breaking a rule costs: more than any sentence's tokens can make up for.
_FORBIDDEN = 1e6


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
        torch.as_tensor(~allowed, device="cpu") * _FORBIDDEN
        for allowed in (rules.follows, rules.begins, rules.ends)
    )

    def decode(context: Context) -> Tensor:
        y = output(context)
        energies = -y.clamp_min(torch.finfo(y.dtype).tiny).log()
        steps, start, stop = (penalty.to(y) for penalty in (follows, begins, ends))
        return chains.viterbi(energies, steps, context.batch.mask, start=start, stop=stop)[0]

    return decode


def path_decoder(
    path: Callable[[Context], Tensor], rules: TagRules | None
) -> Callable[[Context], Tensor]:
    """The same of outputs ``(B, steps + 1, T, C)``: a batch's tags ``(B, T, steps + 1)``."""

    def decode(context: Context) -> Tensor:
        outputs = path(context).unbind(1)
        each = iter(outputs)
        tags = decoder(lambda _: next(each), rules)
        return torch.stack([tags(context) for _ in outputs], -1)

    return decode


def marginals(context: Context) -> Tensor:
    """The probability of every tag ``(B, T, C)`` by an energy that is a random field."""
    energy = context.nets["energy"]
    with torch.enable_grad():
        found: Tensor = energy.marginals(context.encoded("energy"), context.batch.mask)
    return found.detach()
