"""Random streams of the nets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch

from lossnet.devices import generator_on, rng_state, set_rng_state


class Streams:
    """One random stream per net, so that running one net never changes another's dropout masks.

    ``F.dropout`` draws from the global generator of the nets' device; around each pass that
    generator's state is replaced by the net's own.
    """

    def __init__(self, seed: int, names: Iterable[str], device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        seeds = {name: stream_seed(seed, name) for name in names}
        self.states = {n: generator_on(self.device, own).get_state() for n, own in seeds.items()}

    @contextmanager
    def use(self, name: str) -> Iterator[None]:
        """Run with the stream of ``name`` as the device's global generator."""
        outside = rng_state(self.device)
        set_rng_state(self.device, self.states[name])
        try:
            yield
        finally:
            self.states[name] = rng_state(self.device)
            set_rng_state(self.device, outside)


def stream_seed(seed: int, name: str) -> int:
    """A seed of its own for every pair (seed, name)."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:6], "little")
