"""One optimiser step, the same in the training loop and in a user's own loop."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lossnet.context import Context
from lossnet.errors import SettingError, TrainingError
from lossnet.method import Optimiser, Update


def trainable(net: nn.Module, name: str) -> list[nn.Parameter]:
    """The parameters of a net that may change: all but those with ``requires_grad`` off."""
    parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
    if not parameters:
        raise SettingError(f"the net {name!r} has no parameter that requires a gradient")
    return parameters


def build_optimiser(parameters: Sequence[Tensor], settings: Optimiser) -> torch.optim.AdamW:
    """AdamW, fused: on small networks a default one costs more than the network."""
    return torch.optim.AdamW(
        parameters, lr=settings.lr, weight_decay=settings.weight_decay, fused=True
    )


def step(
    update: Update,
    context: Context,
    optimiser: torch.optim.Optimizer,
    parameters: Sequence[Tensor],
    *,
    where: str = "",
) -> float:
    """Take one step of an update on the context's batch; return the mean loss.

    A loss that is not finite stops training before the parameters are touched.
    """
    context.focus = update.trains
    rule = update.gradient

    def mean_loss() -> Tensor:
        return update.objective(context, keep_path=rule.keeps_path).mean()

    loss, gradients = rule(mean_loss, parameters)
    context.focus = None
    value = loss.item()
    if not math.isfinite(value):
        raise TrainingError(
            f"the loss of the {update.trains!r} update became {value}{where}; lower its learning "
            "rate or its weight, or set a gradient clip. The last good checkpoint is kept"
        )
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    if update.optimiser.clip is not None:
        torch.nn.utils.clip_grad_norm_(parameters, update.optimiser.clip)
    optimiser.step()
    context.updated(update.trains)
    return value
