"""A device that is not there: finds tensors, generators and indices left on the CPU.

A CPU build of torch has no second device to run on. Within :func:`pretend_device`, tensors on the
device ``"meta"`` hold values all the same: they are computed on the CPU and kept apart from CPU
tensors. As on CUDA, what mixes the two is an error, random numbers are drawn from a generator of
the same device, and the device's global generator is another than the CPU's. Beyond that, code of
lossnet must name the device of every tensor and generator it makes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, ClassVar
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

import lossnet
from lossnet.tasks.networks import build_net

DEVICE = torch.device("meta")
_SOURCE = str(Path(lossnet.__file__).parent)
_RealGenerator, _real_module = torch.Generator, torch.get_device_module
_real_autocast = torch.autocast
_TRANSFERS = {"aten::_to_copy", "aten::copy_"}


class MixedDevicesError(AssertionError):
    """What a GPU would refuse, or what happens to work on the CPU alone."""


class Generator(torch.Generator):
    """A generator on the pretended device.

    A kernel is given another Python object than the one that was made; both have one address.
    """

    made: ClassVar[dict[int, Generator]] = {}

    def __init__(self) -> None:
        self.made[self._cdata] = self

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return DEVICE


class _MadeGenerator(torch.Generator):
    """Stands in for ``torch.Generator``: makes one on either device."""

    def __new__(cls, device: Any = None) -> Any:
        _check_named("Generator", device)
        on_device = device is not None and torch.device(device) == DEVICE
        return Generator() if on_device else _RealGenerator()


class Pretended(Tensor):
    """A tensor on the pretended device; ``held`` has its values."""

    held: Tensor
    is_meta = property(lambda self: False)  # type: ignore[assignment]
    is_sparse = property(lambda self: self.held.is_sparse)  # type: ignore[assignment]
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls: Any, held: Tensor) -> Any:
        strides = {} if held.is_sparse else {"strides": held.stride()}
        made = Tensor._make_wrapper_subclass(
            cls, held.size(), dtype=held.dtype, device=DEVICE, **strides
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise MixedDevicesError(f"{func} of a tensor on the device, outside pretend_device")


class _Kernels(TorchDispatchMode):
    """Runs what is on the pretended device on the CPU, and refuses mixtures."""

    def __init__(self) -> None:
        super().__init__()
        self.default = Generator()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = func._schema.name
        leaves = list(_leaves((args, kwargs)))
        there = any(isinstance(leaf, Pretended) for leaf in leaves)
        here = any(type(leaf) is not Pretended and _has_axes(leaf) for leaf in leaves)
        device = kwargs.get("device")
        wrap = there if device is None else torch.device(device) == DEVICE
        if there and here and name not in _TRANSFERS:
            raise MixedDevicesError(f"{name} of tensors on the device and on the CPU")
        generators = [leaf for leaf in leaves if isinstance(leaf, _RealGenerator)]
        for generator in generators:
            if (generator._cdata in Generator.made) != wrap:
                raise MixedDevicesError(f"{name} draws from a generator on another device")
        if device is not None:
            kwargs["device"] = torch.device("cpu")
        run = func
        if wrap and not generators and torch.Tag.nondeterministic_seeded in func.tags:
            run = self._drawn_here(func)
        found = run(*_map(_held, args), **_map(_held, kwargs))
        if found is None or not wrap:
            return found
        if torch.Tag.inplace_view in func.tags:  # such as unsqueeze_: the shape changes in place
            with no_dispatch():
                func(*args, **kwargs)
        if name.endswith("_") or "out" in kwargs:
            return kwargs.get("out", args[0])
        return _map(lambda leaf: Pretended(leaf) if isinstance(leaf, Tensor) else leaf, found)

    def _drawn_here(self, func: Any) -> Any:
        def run(*args: Any, **kwargs: Any) -> Any:
            outside = torch.get_rng_state()
            torch.set_rng_state(self.default.get_state())
            try:
                return func(*args, **kwargs)
            finally:
                self.default.set_state(torch.get_rng_state())
                torch.set_rng_state(outside)

        return run


class _ExplicitDevices(TorchFunctionMode):
    """Refuses tensors that lossnet makes without saying where."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func in _device_constructors():
            _check_named(func.__name__, kwargs.get("device"))
        if func in (torch.tensor, torch.as_tensor) and kwargs.get("device") is not None:
            # Of the device "meta" torch would make empty ones.
            device = kwargs.pop("device")
            return func(*args, **kwargs, device="cpu").to(device)
        return func(*args, **kwargs)


def _check_named(name: str, device: Any) -> None:
    # 0 is this function, 1 the one that intercepts, 2 the caller of torch.
    caller = sys._getframe(2)
    if device is None and caller.f_code.co_filename.startswith(_SOURCE) and not _builds(caller):
        raise MixedDevicesError(f"torch.{name} without a device")


def _builds(frame: FrameType | None) -> bool:
    """Whether nets are being built: that happens on the CPU, and then they are moved."""
    while frame is not None:
        if frame.f_code is build_net.__code__:
            return True
        frame = frame.f_back
    return False


def _leaves(value: Any) -> Iterator[Any]:
    """What lists, tuples and dicts hold. torch's own function takes several times as long."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        yield value
        return
    for part in value:
        yield from _leaves(part)


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    """The same structure with every leaf changed."""
    if isinstance(value, dict):
        return {key: _map(function, part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_map(function, part) for part in value])
    return function(value)


def _has_axes(leaf: Any) -> bool:
    return isinstance(leaf, Tensor) and leaf.dim() > 0


def _held(leaf: Any) -> Any:
    return leaf.held if isinstance(leaf, Pretended) else leaf


@contextmanager
def pretend_device() -> Iterator[torch.device]:
    """The device; inside, nets and data can be moved to it."""
    kernels = _Kernels()

    def from_numpy(array: Any) -> Tensor:
        _check_named("from_numpy", None)
        return torch.as_tensor(array, device="cpu")

    module = SimpleNamespace(
        get_rng_state=lambda device: kernels.default.get_state(),
        set_rng_state=lambda state, device: kernels.default.set_state(state),
    )

    def device_module(device: Any) -> Any:
        return module if torch.device(device) == DEVICE else _real_module(device)

    def autocast(device_type: str, **options: Any) -> Any:
        return _real_autocast("cpu" if device_type == DEVICE.type else device_type, **options)

    with (
        mock.patch.object(torch, "autocast", autocast),
        mock.patch.object(torch, "Generator", _MadeGenerator),
        mock.patch.object(torch, "from_numpy", from_numpy),
        mock.patch.object(torch, "get_device_module", device_module),
        kernels,
        _ExplicitDevices(),
    ):
        # Else Module.double() would write the new values' shape and type alone.
        torch.__future__.set_overwrite_module_params_on_conversion(True)
        try:
            yield DEVICE
        finally:
            torch.__future__.set_overwrite_module_params_on_conversion(False)
            Generator.made.clear()
