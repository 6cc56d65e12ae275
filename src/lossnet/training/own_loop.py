"""What LearnedLoss needs in a user's own loop: context managers, its optimizer, its updates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from lossnet.errors import DataError, SettingError
from lossnet.method import Method, Optimiser, Update
from lossnet.objectives import Judge
from lossnet.training.schedule import groups_of

OptimizerFactory = Callable[[Sequence[Tensor]], torch.optim.Optimizer]


def torch_optimizer(
    net: nn.Module,
    parameters: Sequence[Tensor],
    settings: Optimiser,
    factory: OptimizerFactory | None = None,
) -> torch.optim.Optimizer:
    """What ``factory`` builds, or AdamW, fused: one of torch's own, for schedulers."""
    if factory is not None:
        built = factory(parameters) if callable(factory) else factory
        if not callable(factory) or not isinstance(built, torch.optim.Optimizer):
            raise SettingError(
                "optimizer must be a function of parameters that returns a torch optimizer, such "
                f"as functools.partial(torch.optim.SGD, lr=0.1), got {type(built).__name__}"
            )
        return built
    groups = groups_of(parameters, [net], settings)
    own = [{"params": group.parameters, "lr": group.lr} for group in groups]
    return torch.optim.AdamW(own, fused=True, **settings.for_adamw)


@contextmanager
def restoring_modes(net: nn.Module) -> Iterator[None]:
    """Restore the train or eval mode of every module of the net afterwards."""
    modes = [(module, module.training) for module in net.modules()]
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def restoring_state(generator: torch.Generator) -> Iterator[None]:
    """Restore the generator's state afterwards, so that the next call draws the same."""
    state = generator.get_state()
    try:
        yield
    finally:
        generator.set_state(state)


@contextmanager
def fixed(net: nn.Module) -> Iterator[None]:
    """Hold a net in eval mode and its parameters fixed, so that a backward pass leaves them out."""
    learning = [parameter for parameter in net.parameters() if parameter.requires_grad]
    net.eval()
    for parameter in learning:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in learning:
            parameter.requires_grad_(True)


def detached(x: Any, dtype: torch.dtype) -> Any:
    """Inputs without a graph, floats as ``dtype``; in lists, tuples and dicts too."""
    if isinstance(x, Tensor):
        return x.detach().to(dtype) if x.is_floating_point() else x
    if type(x) in (list, tuple):
        return type(x)(detached(part, dtype) for part in x)
    if type(x) is dict:
        return {key: detached(part, dtype) for key, part in x.items()}
    return x


def check_input(x: Any, logits: Tensor) -> None:
    """Inputs must have as many rows as the logits, and no NaN; in lists, tuples and dicts too."""
    if isinstance(x, Tensor) and x.shape[:1] != logits.shape[:1]:
        raise DataError(
            f"x has shape {tuple(x.shape)} and logits have {tuple(logits.shape)}; they must have "
            "the same number of rows"
        )
    check_numbers(x, "x is", "replace missing values")


def check_numbers(x: Any, name: str, remedy: str) -> None:
    """Raise an error for NaN in a tensor, or in the tensors of a list, tuple or dict."""
    if isinstance(x, (list, tuple, dict)):
        for part in x.values() if isinstance(x, dict) else x:
            check_numbers(part, name, remedy)
    elif isinstance(x, Tensor) and x.is_floating_point() and (missing := x.isnan()).any():
        row = int(missing.nonzero()[0, 0]) if x.dim() else 0
        raise DataError(f"{name} NaN in row {row} of the batch; {remedy}")


def split_updates(method: Method) -> tuple[Update, Update | None]:
    """The task-net's update, and the loss-net's if any; an error for methods that need more."""
    updates = method.phases[0].updates
    others = [update for update in updates if update.trained != ("task",)]
    task = [update for update in updates if update.trained == ("task",)]
    fits = (
        len(method.phases) == 1
        and len(task) == 1
        and isinstance(task[0].objective, Judge)
        and method.task_net_predicts
        and all(update.trained == ("energy",) for update in others)
        and not any(update.gradient.nets for update in updates)
        and method.nets <= {"task", "energy"}
    )
    if not fits:
        raise SettingError(
            f"LearnedLoss takes cross-entropy and seal-*, and {method.name!r} needs more than (x, "
            "logits, y): use an estimator, a Trainer, or frozen=True with a trained loss-net"
        )
    if (repeats := method.phases[0].repeats) > 1:
        raise SettingError(
            f"rounds must be 1 in LearnedLoss, got {repeats}: your loop repeats its two calls, "
            "step and the loss, on a batch"
        )
    return task[0], others[0] if others else None
