"""One optimiser step, the same in the training loop and in a user's own loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from lossnet.context import Context
from lossnet.errors import SettingError, TrainingError
from lossnet.gradients.base import Gradient
from lossnet.gradients.solvers import SolverError
from lossnet.method import Update
from lossnet.training.adamw import AdamW, match_layout
from lossnet.training.pieces import accumulated
from lossnet.training.schedule import groups_of, schedule_of


def trainable(net: nn.Module, name: str) -> list[nn.Parameter]:
    """The parameters of a net that require a gradient."""
    parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
    if not parameters:
        raise SettingError(f"the net {name!r} has no parameter that requires a gradient")
    return parameters


def parameters_of(update: Update, nets: Mapping[str, nn.Module]) -> list[nn.Parameter]:
    """The trainable parameters of an update's nets."""
    return [p for name in update.trained for p in trainable(nets[name], name)]


def build_optimiser(update: Update, nets: Mapping[str, nn.Module]) -> AdamW:
    """AdamW with the update's settings, for the trainable parameters of its nets."""
    settings, trained = update.optimiser, [nets[name] for name in update.trained]
    groups = groups_of(parameters_of(update, nets), trained, settings)
    schedule = schedule_of(settings, pretrained=any(group.pretrained for group in groups))
    return AdamW(groups, schedule=schedule, **settings.for_adamw)


def step(
    update: Update,
    context: Context | Iterable[tuple[float, Context]],
    optimiser: AdamW | torch.optim.Optimizer,
    parameters: Sequence[Tensor],
    *,
    where: str = "",
    reduce: Callable[[Gradient, Sequence[Tensor]], Gradient] | None = None,
) -> dict[str, float]:
    """Take one step of an update on the context's batch; return its loss and what it measured.

    The batch may come in pieces, each a context and its share of the rows. A loss that is not
    finite stops training before the parameters are touched, and so does a solver that diverges.
    ``reduce`` makes the gradient of the parameters that of all processes.
    """
    found = _gradient(update, context, parameters, where)
    found = found if reduce is None else reduce(found, parameters)
    value = found.loss.item()
    if not math.isfinite(value):
        raise TrainingError(
            f"the loss of the {update.name!r} update became {value}{where}; lower its learning "
            "rate or its weight, or set a gradient clip. The last good checkpoint is kept"
        )
    measures = {f"loss/{update.name}": value}
    measures |= {f"{key}/{update.name}": number for key, number in found.measures.items()}
    rows = isinstance(optimiser, AdamW)  # torch's own do not take sparse gradients
    for parameter, gradient in zip(parameters, found.values, strict=True):
        parameter.grad = None if gradient is None else _as_grad(gradient, parameter, rows)
    if update.record_gradient_norm:
        norm = torch.nn.utils.get_total_norm(_entries(parameters))
        measures[f"gradient norm/{update.name}"] = norm.item()
    if update.optimiser.clip is not None:
        _clip(_entries(parameters), update.optimiser.clip)
    optimiser.step()
    if isinstance(context, Context):
        context.invalidate(update.trained)
    return measures


def _as_grad(gradient: Tensor, parameter: Tensor, rows: bool) -> Tensor:
    """A gradient as its optimiser takes it; where it takes ``rows``, sparse ones stay so."""
    if gradient.is_sparse and rows:
        return gradient.coalesce()
    return match_layout(gradient.to_dense() if gradient.is_sparse else gradient, parameter)


def _entries(parameters: Sequence[Tensor]) -> list[Tensor]:
    """The parameters' gradients; of sparse ones what they hold."""
    found = [parameter.grad for parameter in parameters if parameter.grad is not None]
    return [gradient.values() if gradient.is_sparse else gradient for gradient in found]


def _clip(gradients: list[Tensor], most: float) -> None:
    """``torch.nn.utils.clip_grad_norm_`` of gradients."""
    norm = torch.nn.utils.get_total_norm(gradients)
    torch._foreach_mul_(gradients, torch.clamp(most / (norm + 1e-6), max=1.0))


def _gradient(
    update: Update,
    context: Context | Iterable[tuple[float, Context]],
    parameters: Sequence[Tensor],
    where: str,
) -> Gradient:
    try:
        if not isinstance(context, Context):
            return accumulated(update, context, parameters)
        return update.gradient(update.objective, context, update.trained, parameters)
    except SolverError as error:
        raise TrainingError(
            f"the gradient of the {update.name!r} update could not be found{where}: {error}"
        ) from error
