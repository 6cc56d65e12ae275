"""First layers for wide sparse inputs: a batch reads, and changes, the rows of its own features.

Shapes: ``B`` rows, ``d`` features, ``H`` units, ``M`` nets. Sparse inputs are COO tensors
``(B, d)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

#: Inputs with at least so many features stay sparse, if they are, up to the first layer.
WIDE = 5000


class WaitingRows(Protocol):
    """What an optimiser knows of a weight whose rows it does not change at every step."""

    def open(self, rows: Tensor) -> Tensor | None:
        """The values of these rows ``(R, H)`` as of now; None where all rows are as of now."""

    def settle(self) -> None:
        """Bring all rows up to date."""


class RowParameter(nn.Parameter):
    """A weight ``(d, H)`` or ``(M, d, H)`` of which a batch reads few rows.

    Attributes:
        waiting: what tells the optimiser's :class:`WaitingRows` of it, if there are any.
    """

    waiting: Callable[[], WaitingRows | None] | None = None


def waiting_rows(weight: Tensor) -> WaitingRows | None:
    """What an optimiser knows of a weight's rows, or None."""
    ask = getattr(weight, "waiting", None)
    return None if ask is None else ask()


def settle_rows(module: nn.Module, *_: Any) -> None:
    """Bring a module's own weights up to date, before they are read as a whole."""
    for parameter in module.parameters():
        if (waiting := waiting_rows(parameter)) is not None:
            waiting.settle()


class WideLinear(nn.Module):
    """``nn.Linear`` for inputs with many features, dense or sparse: x W' + b.

    The weights of a feature lie next to each other in memory. ``state_dict`` holds ``weight``
    as ``nn.Linear`` does, ``(H, d)``.

    Args:
        weight: ``(H, d)``.
        bias: ``(H,)``.

    >>> layer = WideLinear.of(nn.Linear(4, 2))
    >>> layer(torch.eye(4).to_sparse()).shape
    torch.Size([4, 2])
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.weight = RowParameter(weight.detach().T.contiguous())
        self.bias = nn.Parameter(bias.detach())
        self.register_state_dict_pre_hook(settle_rows)

    @classmethod
    def of(cls, linear: nn.Linear) -> Self:
        """The layer with the weights of another."""
        return cls(linear.weight, linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """``(B, H)`` of inputs ``(B, d)``."""
        if x.is_sparse:
            return times_rows(x, self.weight) + self.bias
        return F.linear(x, all_rows(self.weight).T, self.bias)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}weight"] = destination[f"{prefix}weight"].T

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *others: Any) -> None:
        key = f"{prefix}weight"
        if key in state_dict:
            settle_rows(self)
            state_dict = {**state_dict, key: state_dict[key].T}
        super()._load_from_state_dict(state_dict, prefix, *others)

    def extra_repr(self) -> str:
        return f"in_features={self.weight.shape[0]}, out_features={self.weight.shape[1]}"


def all_rows(weight: Tensor) -> Tensor:
    """A weight, all of it as of now."""
    if (waiting := waiting_rows(weight)) is not None:
        waiting.settle()
    return weight


def times_rows(x: Tensor, weight: Tensor, values: Tensor | None = None) -> Tensor:
    """Products ``(B, H)`` of sparse ``x`` ``(B, d)`` and a weight ``(d, H)``.

    With a weight ``(M, d, H)`` they are ``(M, B, H)``, and ``values`` ``(M, n)`` may stand in for
    the n values of ``x``, different ones for each net.
    """
    x = x.coalesce()
    row, feature = x.indices()
    values = x.values() if values is None else values
    product: Tensor = _TimesRows.apply(weight, row, feature, values, x.shape[0])
    return product


_sparse_wanted = False


@contextmanager
def sparse_gradients() -> Iterator[None]:
    """Give gradients of :func:`times_rows` as sparse tensors of the rows that were read.

    Elsewhere they are ordinary tensors, which can be differentiated again.
    """
    global _sparse_wanted
    before, _sparse_wanted = _sparse_wanted, True
    try:
        yield
    finally:
        _sparse_wanted = before


class _TimesRows(torch.autograd.Function):
    """embedding_bag, whose backward pass also is one: sums of rows of the gradient by feature."""

    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, row: Tensor, feature: Tensor, values: Tensor, batch: int
    ) -> Tensor:
        features, place = torch.unique(feature, return_inverse=True)
        nets, (d, width) = _nets(weight.shape), weight.shape[-2:]
        ctx.save_for_backward(row, features, place, values)
        ctx.shape = weight.shape
        rows = _in_every_net(features, nets, d)
        waiting = waiting_rows(weight)
        table = None if waiting is None else waiting.open(rows)
        if table is None:
            table, at, step = weight.detach().view(-1, width), feature, d
        else:
            at, step = place, len(features)
        counts = torch.bincount(row, minlength=batch).repeat(nets)
        weights = values.expand(nets, -1).reshape(-1).to(table.dtype)
        offsets = counts.cumsum(0) - counts
        index = _in_every_net(at, nets, step)
        found = F.embedding_bag(index, table, offsets, mode="sum", per_sample_weights=weights)
        return found.view(*weight.shape[:-2], batch, width)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        row, features, place, values = ctx.saved_tensors
        nothing = (None, None, None, None)
        if not ctx.needs_input_grad[0]:
            return (None, *nothing)
        nets, (d, width), batch = _nets(ctx.shape), ctx.shape[-2:], grad.shape[-2]
        grad = grad.reshape(-1, batch, width)
        values = values.expand(nets, -1).to(grad.dtype)
        if not _sparse_wanted:
            shape, at = (d, batch), torch.stack([features[place], row])
            each = [
                torch.sparse_coo_tensor(at, own, shape, check_invariants=False) for own in values
            ]
            dense = torch.stack([torch.mm(own, g) for own, g in zip(each, grad, strict=True)])
            return (dense.view(ctx.shape), *nothing)
        order = place.argsort(stable=True)
        counts = torch.bincount(place, minlength=len(features)).repeat(nets)
        found = F.embedding_bag(
            _in_every_net(row[order], nets, batch),
            grad.reshape(-1, width),
            counts.cumsum(0) - counts,
            mode="sum",
            per_sample_weights=values[:, order].reshape(-1),
        )
        at = features.repeat(nets).unsqueeze(0)
        if len(ctx.shape) == 3:
            net = torch.arange(nets, device=at.device).repeat_interleave(len(features))
            at = torch.cat([net.unsqueeze(0), at])
        rows = torch.sparse_coo_tensor(
            at, found, ctx.shape, is_coalesced=True, check_invariants=False
        )
        return (rows, *nothing)


def _product(at: Tensor, values: Tensor, features: int, grad: Tensor) -> Tensor:
    """x'g ``(d, H)`` of the entries of x' and a gradient ``(B, H)``, differentiable."""
    shape = (features, len(grad))
    return torch.mm(torch.sparse_coo_tensor(at, values, shape, check_invariants=False), grad)


def _nets(shape: torch.Size) -> int:
    return shape[0] if len(shape) == 3 else 1


def _in_every_net(index: Tensor, nets: int, step: int) -> Tensor:
    """Indices of one net repeated for all, those of each ``step`` further on."""
    if nets == 1:
        return index
    first = torch.arange(nets, device=index.device) * step
    return (index + first.unsqueeze(1)).flatten()
