"""One batch at work: its tensors, the nets, and what has been computed on them so far."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from lossnet.spaces import Space


@dataclass(frozen=True)
class Batch:
    """Inputs, and where there are any, targets ``(B, *S)`` and a mask ``(B, *P)``."""

    x: Any
    target: Tensor | None = None
    mask: Tensor | None = None


class Streams:
    """One random stream a net, so that running one net never moves another's dropout masks.

    ``F.dropout`` draws from torch's global generator; around each pass that generator's state
    is exchanged for the net's own.
    """

    def __init__(self, seed: int, names: Iterable[str]) -> None:
        self.states: dict[str, Tensor] = {}
        for name in names:
            generator = torch.Generator()
            generator.manual_seed(stream_seed(seed, name))
            self.states[name] = generator.get_state()

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Run with the stream of ``name`` as torch's global generator."""
        outside = torch.get_rng_state()
        torch.set_rng_state(self.states[name])
        try:
            yield
        finally:
            self.states[name] = torch.get_rng_state()
            torch.set_rng_state(outside)


def stream_seed(seed: int, name: str) -> int:
    """A seed of its own for every pair (seed, name)."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:6], "little")


class Context:
    """A batch, the nets and their cached passes.

    A net's pass is computed once for each state of its parameters and reused: the samples and
    the task loss share one pass of the task-net, K candidates share one encoding.

    Args:
        nets: the nets by name; the energy answers ``encode`` and ``forward``.
        batch: the batch.
        space: what an output is.
        generator: source of the proposals' randomness.
        training: nets that run in train mode because this phase trains them; the others are
            frozen, in eval mode and without a graph.
        streams: random streams of the nets; without them torch's global generator is used.
        given: logits computed elsewhere, by net name.
    """

    def __init__(
        self,
        nets: Mapping[str, nn.Module],
        batch: Batch,
        space: Space,
        *,
        generator: torch.Generator | None = None,
        training: frozenset[str] = frozenset(),
        streams: Streams | None = None,
        given: Mapping[str, Tensor] | None = None,
    ) -> None:
        self.nets = nets
        self.batch = batch
        self.space = space
        self.generator = generator
        self.training = training
        self.streams = streams
        self._given = dict(given or {})
        self._cache: dict[tuple[str, bool], Any] = {}
        #: The net an update is training now; only then is an energy encoded in train mode.
        self.focus: str | None = None

    @property
    def target(self) -> Tensor:
        """The batch's targets, or an error where there are none."""
        if self.batch.target is None:
            raise TypeError("this step needs targets, and the batch has none")
        return self.batch.target

    def logits(self, name: str = "task") -> Tensor:
        """Logits ``(B, *S)`` of a task-net, with their graph where the phase trains it."""
        if name in self._given:
            return self._given[name]
        train = name in self.training
        key = (name, train)
        if key not in self._cache:
            net = self.nets[name]
            self._cache[key] = self._run(name, train, lambda: net(self.batch.x))
        logits: Tensor = self._cache[key]
        return logits

    def encoded(self, name: str = "energy") -> Any:
        """The energy's encoding of the inputs, with its graph while the energy is trained."""
        train = self.focus == name
        key = (name, train)
        if key not in self._cache:
            net: Any = self.nets[name]
            self._cache[key] = self._run(
                name, train, lambda: net.encode(self.batch.x, self.batch.mask)
            )
        return self._cache[key]

    def energy(self, y: Tensor, name: str = "energy", h: Any = None) -> Tensor:
        """Energies ``(K, B)`` of candidates ``(K, B, *S)``; ``h`` stands in for the encoding."""
        h = self.encoded(name) if h is None else h
        with self._running(name, self.focus == name):
            e: Tensor = self.nets[name](h, y, self.batch.mask)
        return e

    def updated(self, name: str) -> None:
        """Forget what was computed with the net's old parameters."""
        self._given.pop(name, None)
        self._cache = {key: value for key, value in self._cache.items() if key[0] != name}

    def _run(self, name: str, train: bool, call: Callable[[], Any]) -> Any:
        with torch.set_grad_enabled(train and torch.is_grad_enabled()), self._running(name, train):
            return call()

    @contextmanager
    def _running(self, name: str, train: bool) -> Iterator[None]:
        """Hold a net in train or eval mode; in train mode it draws from its own stream."""
        net = self.nets[name]
        if net.training != train:
            net.train(train)
        with self.streams.of(name) if train and self.streams is not None else nullcontext():
            yield
