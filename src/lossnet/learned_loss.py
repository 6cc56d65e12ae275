"""A learned loss for anyone's own PyTorch loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from lossnet.context import Batch, Context, Streams, stream_seed
from lossnet.energies.base import Energy
from lossnet.errors import SettingError
from lossnet.method import Method, Update
from lossnet.objectives import Judge
from lossnet.recipes import build
from lossnet.spaces import Binary, Space
from lossnet.training.step import build_optimiser, step, trainable


class LearnedLoss(nn.Module):
    """A criterion that trains its own loss-net: ``loss = criterion(x, logits, y)``.

    In ``train()`` mode each call takes the method's loss-net steps on the batch, then returns
    the task loss λ1 link(E(x, F(x))) + λ2 cross-entropy of the logits, to call ``backward()``
    on. In ``eval()`` mode it never updates anything.

    It takes the methods that need only (x, logits, y): cross-entropy and the SEAL-dynamic ones.
    With ``frozen=True`` the loss-net is taken as it is, trained before, and never updated
    (SEAL-static).

    ``state_dict()`` holds the loss-net's weights and its optimiser's and random state, so that a
    loop goes on from it as if it had not stopped; ``criterion.energy.state_dict()`` holds the
    weights alone.

    Args:
        energy: the loss-net.
        method: a method's name, or a :class:`~lossnet.Method`.
        method_params: parameters of the named method. Its ``task_lr`` and ``task_steps`` are
            yours to choose: the task-net belongs to your loop.
        space: what an output is.
        frozen: never update the loss-net.
        seed: source of the loss-net's randomness, kept apart from torch's global generator.

    >>> from lossnet.energies import LabelEnergy
    >>> criterion = LearnedLoss(LabelEnergy(5, 3, hidden=(8,)), method="seal-nce")
    >>> x, y = torch.randn(4, 5), torch.ones(4, 3)
    >>> logits = torch.zeros(4, 3, requires_grad=True)
    >>> criterion(x, logits, y).backward()
    >>> logits.grad.shape
    torch.Size([4, 3])
    """

    def __init__(
        self,
        energy: Energy,
        method: str | Method = "seal-nce",
        *,
        method_params: Mapping[str, Any] | None = None,
        space: Space | None = None,
        frozen: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not isinstance(method, str) and method_params:
            raise SettingError("method_params go with a method's name, not with a Method")
        self.method = build(method, method_params) if isinstance(method, str) else method
        self.space = space or Binary()
        self.energy = energy
        self.frozen = frozen
        self._task, self._updates = _split_updates(self.method)
        if frozen:
            energy.requires_grad_(False)
            self._updates = []
        self._streams = Streams(seed, ["energy"])
        self._generator = torch.Generator().manual_seed(stream_seed(seed, "proposals"))
        self._parameters_of_energy = trainable(energy, "energy") if self._updates else []
        self._optimisers = [
            build_optimiser(self._parameters_of_energy, update.optimiser)
            for update in self._updates
        ]
        #: Mean loss of the loss-net's steps on the last training batch, None before.
        self.energy_loss: float | None = None

    def forward(self, x: Any, logits: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """The task loss, a scalar: inputs, the task-net's logits ``(B, *S)``, targets, mask."""
        if logits.shape != y.shape:
            raise SettingError(
                f"logits have shape {tuple(logits.shape)} and y has {tuple(y.shape)}; "
                "they must be the same"
            )
        target = y.to(logits.dtype)
        if self.training and self._updates:
            self._learn(Batch(x, target, mask), logits.detach())
        context = self._context(Batch(x, target, mask), logits)
        with _fixed(self.energy):
            return self._task.objective(context, keep_path=True).mean()

    def get_extra_state(self) -> dict[str, Any]:
        """What a resumed loop needs besides the weights: optimisers and random streams."""
        return {
            "optimisers": [optimiser.state_dict() for optimiser in self._optimisers],
            "streams": dict(self._streams.states),
            "proposals": self._generator.get_state(),
        }

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Go on where :meth:`get_extra_state` left off; a frozen loss-net needs no optimiser."""
        if not self.frozen:
            if len(state["optimisers"]) != len(self._optimisers):
                raise SettingError(
                    f"the state holds {len(state['optimisers'])} optimisers of a loss-net and "
                    f"{self.method.name!r} has {len(self._optimisers)}; load it into a "
                    "LearnedLoss of the same method, or load its weights into the energy alone"
                )
            for optimiser, saved in zip(self._optimisers, state["optimisers"], strict=True):
                optimiser.load_state_dict(saved)
        self._streams.states = {key: value.cpu() for key, value in state["streams"].items()}
        self._generator.set_state(state["proposals"].cpu())

    def _learn(self, batch: Batch, logits: Tensor) -> None:
        total, steps = 0.0, 0
        with torch.enable_grad():
            for update, optimiser in zip(self._updates, self._optimisers, strict=True):
                context = self._context(batch, logits)
                for _ in range(update.steps):
                    measured = step(update, context, optimiser, self._parameters_of_energy)
                    total += measured[f"loss/{update.name}"]
                    steps += 1
        for parameter in self._parameters_of_energy:
            parameter.grad = None
        self.energy_loss = total / steps

    def _context(self, batch: Batch, logits: Tensor) -> Context:
        return Context(
            {"energy": self.energy},
            batch,
            self.space,
            generator=self._generator,
            training=frozenset({"energy"}),
            streams=self._streams,
            given={"task": logits},
        )


@contextmanager
def _fixed(net: nn.Module) -> Iterator[None]:
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


def _split_updates(method: Method) -> tuple[Update, list[Update]]:
    """The task-net's update, and the loss-net's; an error for methods that need more."""
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
            f"LearnedLoss needs only (x, logits, y), and {method.name!r} needs more: take "
            "MultiLabelClassifier, or a Method with its Trainer. It takes cross-entropy, seal-*, "
            "and with frozen=True a loss-net trained before"
        )
    return task[0], others
