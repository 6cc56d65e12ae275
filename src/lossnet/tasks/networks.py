"""The nets of a method, built and tried out before training."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from lossnet.batch import Batch
from lossnet.errors import SettingError
from lossnet.nets import Derivation, SharedFeatures, WithFeatures
from lossnet.nets.base import headed
from lossnet.spaces import Space
from lossnet.streams import stream_seed

NetFactory = Callable[[int, int], nn.Module]


def build_net(name: str, make: Callable[[], Any], *, seed: int = 0) -> nn.Module:
    """A net from a random stream of its own; torch's global generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(stream_seed(seed, f"weights of {name}"))
        net = make()
    if not isinstance(net, nn.Module):
        gave = f"the function for the net {name!r} gave {type(net).__name__}"
        raise SettingError(f"{gave}; expected a torch.nn.Module")
    return net


def build_nets(
    names: Iterable[str],
    make: Callable[..., Any],
    derived: Mapping[str, Derivation],
    outputs: tuple[int, ...],
    space: Space,
    *,
    seed: int = 0,
    shared: str | None = None,
) -> dict[str, nn.Module]:
    """The nets of these names: ``make(name)``, or derived from one of the others.

    Args:
        names: the nets wanted.
        make: builds a net that stands by itself; ``make("energy", features)`` a loss-net that
            reads the features of another.
        derived: which nets are derived, and how.
        outputs: shape of one output.
        space: what an output is.
        seed: of the weights.
        shared: the net whose features the loss-net reads; None where it has its own.
    """
    nets: dict[str, nn.Module] = {}
    for name in sorted(names, key=lambda name: (name in derived, name == "energy", name)):
        builder = partial(make, name)
        if name == "energy" and shared is not None:
            builder = partial(make, name, shared_features(nets, shared))
        if name in derived:
            plan = derived[name]
            builder = partial(plan.kind.build, plan.base, nets[plan.base], outputs, space)
        nets[name] = build_net(name, builder, seed=seed)
    return nets


def shared_features(nets: Mapping[str, nn.Module], name: str) -> SharedFeatures:
    """A feature network that reads those of the net of that name."""
    width = getattr(headed(nets, name).features, "out_features", None)
    if not isinstance(width, int):
        rule = "must have their width as out_features, for the loss-net to read them"
        raise SettingError(f"the features of the net {name!r} {rule}, got {width!r}")
    return SharedFeatures(width, name)


def shapes_of(net: nn.Module) -> dict[str, tuple[int, ...]]:
    """The shapes of a net's weights by name."""
    return {key: tuple(tensor.shape) for key, tensor in net.state_dict().items()}


def copy_features(nets: Mapping[str, nn.Module], name: str) -> None:
    """Give the loss-net's feature network the weights of the named net's."""
    model, own = headed(nets, name).features, getattr(nets["energy"], "features", None)
    if own is None or shapes_of(own) != shapes_of(model):
        kinds = "none" if own is None else type(own).__name__, type(model).__name__
        came = f"got {kinds[0]} for the loss-net and {kinds[1]} for {name!r}"
        rule = f"needs feature networks of the same shapes, {came}"
        raise SettingError(f"energy_features='copy' {rule}; make them alike, or use 'own'")
    own.load_state_dict(model.state_dict())


class _Undrawn(TorchFunctionMode):
    """Leave weights as they are: to draw them on the meta device imports torch's compiler."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init" or func in _DRAWS:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


_DRAWS = (torch.Tensor.normal_, torch.Tensor.uniform_)


@contextmanager
def without_memory() -> Iterator[None]:
    """Nets built inside have sizes, but no weights."""
    with torch.device("meta"), _Undrawn():
        yield


def memory_of_machine() -> int | None:
    """Bytes of memory that this machine has; None where that is not known."""
    if not hasattr(os, "sysconf"):  # not a POSIX system
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(build: Callable[[], Mapping[str, nn.Module]]) -> None:
    """Raise where training the nets takes more memory than there is; none is taken to find out."""
    try:
        with without_memory():
            nets = build()
    except RuntimeError as error:
        raise SettingError(f"the nets are too large ({error}); make them smaller") from error
    weights = sum(weight.numel() for net in nets.values() for weight in net.parameters())
    needed = 16 * weights  # float32: weights, gradients and the two averages of Adam
    have = memory_of_machine()
    if have is not None and needed > have:
        what = f"training {weights:,} weights takes {needed / 2**30:.0f} GB of memory"
        machine = f"and this machine has {have / 2**30:.0f}"
        raise SettingError(f"{what}, {machine}; make the nets smaller")


def try_net(name: str, nets: Mapping[str, Any], batch: Batch) -> None:
    """Raise unless one of the nets runs on the batch.

    A task-net must turn inputs into logits of the targets' shape, an energy must give two
    candidates of each input energies ``(2, B)``.
    """
    assert batch.target is not None
    net, x = nets[name], batch.x
    shape = tuple(batch.target.shape)
    if name != "energy":
        logits = _run(name, net, lambda: net(batch.x))
        _check_shape(f"the net {name!r} gives", logits, shape)
        return
    if not hasattr(net, "encode"):
        what = f"the net {name!r} is a {type(net).__name__} without encode(x)"
        raise SettingError(f"{what}; derive it from lossnet.energies.Energy")
    y = torch.zeros(2, *shape, device=batch.target.device)
    if base := getattr(net, "reads", None):
        x = WithFeatures(x, _run(base, nets[base], lambda: headed(nets, base).features(batch.x)))
    energies = _run(name, net, lambda: net(net.encode(x, batch.mask), y, batch.mask))
    _check_shape(f"the energy {name!r} gives two candidates", energies, (2, shape[0]))


def _run(name: str, net: nn.Module, call: Callable[[], Any]) -> Any:
    net.eval()
    try:
        with torch.no_grad():
            return call()
    except (RuntimeError, TypeError, ValueError) as error:
        raise SettingError(f"the net {name!r} cannot be run on the input: {error}") from error


def _check_shape(what: str, value: Any, expected: tuple[int, ...]) -> None:
    found = tuple(value.shape) if isinstance(value, torch.Tensor) else type(value).__name__
    if found != expected:
        raise SettingError(f"{what} {found}; expected a tensor of shape {expected}")
