"""Predictions of a trained method, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lossnet.context import Context
from lossnet.devices import device_of, generator_on
from lossnet.errors import SettingError
from lossnet.precision import Precision, check_precision
from lossnet.proposals.gbi import GBI
from lossnet.proposals.proposal import Proposal
from lossnet.spaces import Space
from lossnet.spaces.sparse import dense
from lossnet.training.source import Source
from lossnet.training.threads import suitable_threads

Nets = Mapping[str, nn.Module]
Output = Callable[[Context], Tensor]


def predict(
    proposal: Proposal,
    nets: Nets,
    space: Space,
    source: Source,
    batch_size: int = 512,
    seed: int = 0,
    precision: Precision = "float32",
) -> Tensor:
    """Relaxed outputs ``(n, *S)``; of several candidates the one of lowest energy.

    Of several descents it is the one that ends lowest on what they descend on.
    """
    output = best_output(proposal, nets)
    return over_batches(output, nets, space, source, batch_size, seed, precision)


def best_output(proposal: Proposal, nets: Nets) -> Output:
    """The function that gives a batch's relaxed outputs ``(B, *S)``."""
    energy: str = getattr(proposal, "energy", "energy")

    def output(context: Context) -> Tensor:
        y = proposal(context).y
        y = dense(y, y.dtype if y.is_floating_point() else torch.get_default_dtype())
        if y.shape[0] == 1:
            return y[0]
        if energy not in nets:
            raise SettingError(
                f"{type(proposal).__name__} gives {y.shape[0]} candidates and there is no net "
                f"{energy!r} to choose by; predict with a proposal of one, such as NetOutput"
            )
        if isinstance(proposal, GBI):
            return _lowest(y, proposal.judge(context, y))
        return _lowest(y, context.energy(y, energy))

    return output


def _lowest(y: Tensor, e: Tensor) -> Tensor:
    """Of candidates ``(K, B, *S)`` with energies ``(K, B)`` the lowest ones, ``(B, *S)``."""
    best = e.argmin(0)
    return y[best, torch.arange(y.shape[1], device=y.device)]


def predict_path(
    descent: GBI,
    nets: Nets,
    space: Space,
    source: Source,
    batch_size: int = 512,
    seed: int = 0,
    precision: Precision = "float32",
) -> Tensor:
    """What :func:`predict` gives after 0, 1, ... steps of a descent, ``(steps + 1, n, *S)``."""
    path = path_output(descent)
    found = over_batches(path, nets, space, source, batch_size, seed, precision)
    return found.transpose(0, 1)


def path_output(descent: GBI) -> Output:
    """The function that gives a batch's outputs after each step, ``(B, steps + 1, *S)``."""

    def path(context: Context) -> Tensor:
        y = descent.path(context)
        if y.shape[1] == 1:
            return y[:, 0].transpose(0, 1)
        return torch.stack([_lowest(at, descent.judge(context, at)) for at in y], 1)

    return path


def over_batches(
    output: Output,
    nets: Nets,
    space: Space,
    source: Source,
    batch_size: int = 512,
    seed: int = 0,
    precision: Precision = "float32",
) -> Tensor:
    """``output`` of all rows, with frozen nets, joined along the first axis in their order.

    Sentences of one batch may be longer than those of another; the shorter are padded with zeros.
    """
    found = list(each_batch(output, nets, space, source, batch_size, seed, precision))
    pieces = [piece for _, piece in found]
    joined = pieces[0] if len(pieces) == 1 else torch.cat(_same_length(pieces))
    moved = [rows for rows, _ in found if isinstance(rows, Tensor)]
    return joined[torch.cat(moved).argsort().to(joined.device)] if moved else joined


def each_batch(
    output: Output,
    nets: Nets,
    space: Space,
    source: Source,
    batch_size: int = 512,
    seed: int = 0,
    precision: Precision = "float32",
) -> Iterator[tuple[Tensor | slice, Tensor]]:
    """The rows of every batch and ``output`` of it, with frozen nets."""
    device = device_of(nets.values())
    check_precision(precision, device)
    with torch.no_grad():
        for rows in source.in_order(batch_size):
            # The same noise for all rows of all batches: no prediction depends on other rows.
            generator = generator_on(device, seed)
            batch = source.batch(rows)
            context = Context(
                nets, batch, space, generator=generator, shared_noise=True, precision=precision
            )
            with suitable_threads(nets.values(), batch):
                found = output(context)
            yield rows, found


def _same_length(pieces: list[Tensor]) -> list[Tensor]:
    longest = max((piece.shape[1] for piece in pieces if piece.dim() > 1), default=0)

    def padded(piece: Tensor) -> Tensor:
        short = longest - piece.shape[1] if piece.dim() > 1 else 0
        more = [0, 0] * (piece.dim() - 2) + [0, short]
        return F.pad(piece, more) if short else piece

    return [padded(piece) for piece in pieces]
