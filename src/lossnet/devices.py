"""Devices: where a method's nets are, and random states there.

Candidates and dropout are drawn where the nets are. The order of rows is drawn on the CPU, so that
it is the same on every device, and goes to the device with the batch.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def device_of(nets: Iterable[nn.Module]) -> torch.device:
    """The device of the first parameter; the CPU for nets without any."""
    for net in nets:
        for parameter in net.parameters():
            return parameter.device
    return torch.device("cpu")


def generator_on(device: torch.device | str, seed: int) -> torch.Generator:
    """A generator that draws on this device."""
    return torch.Generator(device=device).manual_seed(seed)


def rng_state(device: torch.device) -> Tensor:
    """The state of the device's global generator, which ``F.dropout`` draws from."""
    if device.type == "cpu":
        return torch.get_rng_state()
    return torch.get_device_module(device).get_rng_state(device)


def set_rng_state(device: torch.device, state: Tensor) -> None:
    """Put the device's global generator into this state."""
    if device.type == "cpu":
        torch.set_rng_state(state)
    else:
        torch.get_device_module(device).set_rng_state(state, device)
