"""A learned loss for anyone's own PyTorch loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from lossnet.batch import Batch
from lossnet.context import Context
from lossnet.devices import device_of, generator_on
from lossnet.energies.energy import Energy
from lossnet.errors import SettingError
from lossnet.method import Method
from lossnet.recipes import build
from lossnet.spaces import Binary, Space, as_target
from lossnet.streams import Streams, stream_seed
from lossnet.training.own_loop import (
    OptimizerFactory,
    check_input,
    check_numbers,
    detached,
    fixed,
    restoring_modes,
    restoring_state,
    split_updates,
    torch_optimizer,
)
from lossnet.training.processes import current
from lossnet.training.step import step as take_step
from lossnet.training.step import trainable


class LearnedLoss(nn.Module):
    """The task loss λ1 link(E(x, F(x))) + λ2 cross-entropy, with a loss-net E that is trained too.

    Calling it computes the loss of the logits F(x) and changes nothing; ``step`` takes the
    loss-net's own optimizer steps. Neither sends a gradient to the other's net.

    >>> from lossnet.energies import LabelEnergy
    >>> criterion = LearnedLoss(LabelEnergy(5, 3, hidden=(8,)), method="seal-nce")
    >>> model = nn.Linear(5, 3)
    >>> x, y = torch.randn(4, 5), torch.ones(4, 3)
    >>> logits = model(x)
    >>> energy_loss = criterion.step(x, logits, y)  # trains the loss-net
    >>> criterion(x, logits, y).backward()  # the gradient of the task-net

    The loss-net can read your model's features in place of x; its gradient does not reach them:

    >>> body, head = nn.Sequential(nn.Linear(5, 8), nn.ReLU()), nn.Linear(8, 3)
    >>> criterion = LearnedLoss(LabelEnergy(8, 3, hidden=()), auto=True)
    >>> features = body(x)
    >>> criterion(features.detach(), head(features), y).backward()

    Targets have the shape of the logits. With a ``Categorical`` space they may be class indices,
    without the logits' last axis, which holds the classes. Positions to ignore are False in
    ``mask``. Logits may be half precision: the loss is computed in the energy's.

    It takes the methods that need only (x, logits, y): cross-entropy and the SEAL-dynamic ones.
    ``state_dict()`` holds the loss-net's weights and its optimizer's and random state, so that a
    resumed loop reaches the same weights.

    Args:
        energy: the loss-net.
        method: a method's name, or a :class:`~lossnet.Method`.
        method_params: parameters of the named method. Its ``task_optimiser`` and ``task_steps``
            have no effect: the task-net belongs to your loop.
        space: what an output is, ``Binary()`` by default.
        optimizer: a function of the energy's parameters that returns their optimizer, such as
            ``functools.partial(torch.optim.SGD, lr=0.1)``; the method's AdamW by default.
        auto: call ``step`` whenever the loss is called.
        frozen: never train the loss-net, which was trained before (SEAL-static).
        seed: source of the loss-net's randomness, separate from torch's global generator.

    Attributes:
        optimizer: the loss-net's optimizer, for schedulers; None where nothing is trained.
        last_energy_loss: what the last ``step`` returned, None before.
    """

    def __init__(
        self,
        energy: Energy,
        method: str | Method = "seal-nce",
        *,
        method_params: Mapping[str, Any] | None = None,
        space: Space | None = None,
        optimizer: OptimizerFactory | None = None,
        auto: bool = False,
        frozen: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not isinstance(method, str) and method_params:
            raise SettingError("method_params go with a method's name, not with a Method")
        if not hasattr(energy, "encode"):
            kind = type(energy).__name__
            raise SettingError(f"energy must be a lossnet.energies.Energy with encode, got {kind}")
        if getattr(energy, "reads", None) is not None:
            raise SettingError(
                f"the energy reads the features of the net {energy.reads!r}, which your loop has; "
                "build it for inputs of their width, and pass the features as x"
            )
        self.method = build(method, method_params) if isinstance(method, str) else method
        self.space = space or Binary()
        self.energy = energy
        self.auto = auto
        self.frozen = frozen
        self._task, self._update = split_updates(self.method)
        if frozen:
            energy.requires_grad_(False)
            self._update = None
        self._seed = seed
        self._start_streams(device_of([energy]))
        self._trained = trainable(energy, "energy") if self._update else []
        self.optimizer: torch.optim.Optimizer | None = None
        if self._update:
            settings = self._update.optimiser
            self.optimizer = torch_optimizer(energy, self._trained, settings, optimizer)
        self.last_energy_loss: float | None = None

    def forward(self, x: Any, logits: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """The task loss, a scalar: inputs, the task-net's logits ``(B, *S)``, targets, mask.

        NaN among the targets is an entry that is not known, which no loss counts.
        """
        if self.auto:
            self.step(x, logits, y, mask)
        with self._computing(logits), restoring_state(self._generator), fixed(self.energy):
            context = self._context(x, logits, y, mask)
            return context.mean(self._task.objective(context, keep_graph=True))

    def step(self, x: Any, logits: Tensor, y: Tensor, mask: Tensor | None = None) -> float | None:
        """Take the method's loss-net steps on a batch; return their mean loss.

        Pass the logits as the task-net returned them. In ``eval()``, without gradients
        (``no_grad``, ``inference_mode``), with logits that need no gradient, or where the method
        trains no loss-net, it does nothing and returns None. It discards the energy's ``.grad``.
        Under ``torch.distributed`` the gradients are averaged over all processes.
        """
        if not (self._update and self.optimizer and self._learning and logits.requires_grad):
            return None
        check_numbers(logits, "logits are", "lower the learning rate of your model")
        total, processes = 0.0, current()
        reduce = partial(processes.average_gradient, share=1 / processes.count)
        with self._computing(logits):
            context = self._context(x, logits.detach(), y, mask)
            for _ in range(self._update.steps):
                found = take_step(
                    self._update, context, self.optimizer, self._trained, reduce=reduce
                )
                total += found["loss/energy"]
        self.energy.zero_grad()
        self.last_energy_loss = total / self._update.steps
        return self.last_energy_loss

    def energy_loss(self, x: Any, logits: Tensor, y: Tensor, mask: Tensor | None = None) -> Tensor:
        """The loss-net's own loss, a scalar to call ``backward()`` on, in place of ``step``.

        For gradient accumulation, an optimizer of yours, or ``DistributedDataParallel``. In
        ``eval()`` or without gradients it is computed without dropout and moves no random state.
        """
        if self._update is None:
            what = f"{self.method.name!r} with frozen={self.frozen}"
            raise SettingError(f"energy_loss needs a trained loss-net, and {what} trains none")
        keep_graph = self._update.gradient.keeps_graph
        with self._computing(logits):
            context = self._context(x, logits.detach(), y, mask)
            if self._learning:
                with context.updating(["energy"]):
                    return context.mean(self._update.objective(context, keep_graph=keep_graph))
            with torch.no_grad(), restoring_state(self._generator), fixed(self.energy):
                return context.mean(self._update.objective(context, keep_graph=keep_graph))

    def get_extra_state(self) -> dict[str, Any]:
        """What a resumed loop needs besides the weights: optimizer and random streams."""
        return {
            "optimizer": self.optimizer and self.optimizer.state_dict(),
            "device": str(self._streams.device),
            "streams": dict(self._streams.states),
            "proposals": self._generator.get_state(),
        }

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Continue from :meth:`get_extra_state`; a frozen loss-net needs no optimizer."""
        if self.optimizer and state["optimizer"] is None:
            raise SettingError(
                f"the state has no optimizer, and {self.method.name!r} trains its loss-net; load "
                "it into a LearnedLoss of the same method, or load the energy's weights alone"
            )
        if self.optimizer:
            self.optimizer.load_state_dict(state["optimizer"])
        # Other devices have other generators: there, new streams start.
        if torch.device(state["device"]).type == self._streams.device.type:
            self._streams.states = {key: value.cpu() for key, value in state["streams"].items()}
            self._generator.set_state(state["proposals"].cpu())

    def _start_streams(self, device: torch.device) -> None:
        """The loss-net's own stream (its dropout), and the generator of its candidates."""
        self._streams = Streams(self._seed, ["energy"], device)
        self._generator = generator_on(device, stream_seed(self._seed, "proposals"))

    @contextmanager
    def _computing(self, logits: Tensor) -> Iterator[None]:
        """In the energy's own precision, whatever autocast says; its modes are restored."""
        if logits.device != self._streams.device:
            self._start_streams(logits.device)
        with torch.autocast(logits.device.type, enabled=False), restoring_modes(self.energy):
            yield

    @property
    def _learning(self) -> bool:
        return self.training and torch.is_grad_enabled()

    def _context(self, x: Any, logits: Tensor, y: Tensor, mask: Tensor | None) -> Context:
        """The batch in the energy's precision, targets as the space has them."""
        dtype = next((p.dtype for p in self.energy.parameters()), torch.float32)
        mask = None if mask is None else mask.bool()
        missing = y.isnan() if y.is_floating_point() and y.shape == logits.shape else None
        known = None
        if missing is not None and missing.any():
            known = ~(missing.any(-1) if self.space.coupled else missing)
            y = y.nan_to_num(0.0)
        target = as_target(self.space, logits, y, mask).to(dtype)
        check_input(x, logits)
        return Context(
            {"energy": self.energy},
            Batch(detached(x, dtype), target, mask, known=known),
            self.space,
            generator=self._generator,
            training=frozenset({"energy"}),
            streams=self._streams,
            given={"task": logits.to(dtype)},
        )
