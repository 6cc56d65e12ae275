"""Processes that train one model together: on one machine or several, started by ``torchrun``.

Every process holds all nets and takes its share of the rows of each batch. Gradients are averaged
by rows before an optimiser's step, so the nets stay the same everywhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lossnet.errors import DataError, LossnetError, SettingError, TrainingError
from lossnet.gradients.base import Gradient
from lossnet.launch import local_rank, process_count
from lossnet.training.pieces import Piece, cut

T = TypeVar("T")


@dataclass(frozen=True)
class Processes:
    """This process among those that train together.

    Args:
        rank: its number, from 0.
        count: how many there are.
        device: where tensors that are exchanged besides gradients lie.
    """

    rank: int = 0
    count: int = 1
    device: str = "cpu"

    @property
    def first(self) -> bool:
        """Whether this process is the one that writes files and prints."""
        return self.rank == 0

    def piece(
        self, rows: Tensor, unlabelled: Tensor | None, row_weight: Tensor | None = None
    ) -> Piece:
        """This process's rows of a batch: every ``count``-th, so that all have short and long ones.

        Where a batch has fewer rows than there are processes, the others borrow one, which counts
        nothing.
        """
        if self.count == 1:
            return Piece(rows, unlabelled, 1.0)
        count = min(self.count, len(rows))
        dealt = [None if own is None else _dealt(own, count) for own in (unlabelled, row_weight)]
        pieces = list(cut(_dealt(rows, count), dealt[0], count, dealt[1]))
        if self.rank < count:
            return pieces[self.rank]
        return Piece(rows[:1], None if unlabelled is None else unlabelled[:1], 0.0, 0.0)

    def average(self, values: Sequence[Tensor], share: float) -> list[Tensor]:
        """The mean over the processes, each with its share of the rows."""
        if self.count == 1:
            return list(values)
        flat = torch.cat([value.reshape(-1) for value in values]) * share
        with _in_touch():
            dist.all_reduce(flat)
        pieces = flat.split([value.numel() for value in values])
        return [piece.view(value.shape) for piece, value in zip(pieces, values, strict=True)]

    def average_gradient(
        self, found: Gradient, parameters: Sequence[Tensor], share: float
    ) -> Gradient:
        """The gradient of all processes' rows, with its loss and measures, in one exchange."""
        if self.count == 1:
            return found
        # Which parameters have a gradient could depend on the rows, in nets of one's own.
        has = [float(value is not None) for value in found.values]
        head = [float(found.loss), *found.measures.values(), *has]
        values = [
            torch.zeros_like(parameter) if value is None else value.to_dense().to(parameter.dtype)
            for value, parameter in zip(found.values, parameters, strict=True)
        ]
        facts = torch.tensor(head, dtype=values[0].dtype, device=values[0].device)
        measured = 1 + len(found.measures)
        averaged, *values = self.average([facts, *values], share)
        numbers = averaged.tolist()
        measures = dict(zip(found.measures, numbers[1:measured], strict=True))
        pairs = zip(values, numbers[measured:], strict=True)
        kept = [value if flag > 0 else None for value, flag in pairs]
        return Gradient(averaged[0], kept, measures)

    def means(self, measures: Mapping[str, float], share: float) -> dict[str, float]:
        """The means of numbers over the processes, each with its share of the rows."""
        if self.count == 1 or not measures:
            return dict(measures)
        values = torch.tensor([*measures.values()], dtype=torch.float64, device=self.device)
        (averaged,) = self.average([values], share)
        return dict(zip(measures, averaged.tolist(), strict=True))

    def from_first(self, compute: Callable[[], T]) -> T:
        """What the first process computes, in all of them; where it fails, all fail alike."""
        if self.count == 1:
            return compute()
        found: list[Any] = [None, None]
        if self.first:
            try:
                found[0] = compute()
            except Exception as error:
                found[1] = error
        with _in_touch():
            dist.broadcast_object_list(found, src=0, device=torch.device(self.device))
        if found[1] is not None:
            raise _everywhere(found[1])
        value: T = found[0]
        return value

    def check_same(self, facts: Mapping[str, str]) -> None:
        """Raise in all processes where one has another fact than the first.

        Args:
            facts: texts by what they are of: checksums of data by ``"training data"``.
        """
        if self.count == 1:
            return
        found: list[Any] = [None] * self.count
        with _in_touch():
            dist.all_gather_object(found, dict(facts))
        for rank, other in enumerate(found):
            for what in facts:
                one, another = found[0].get(what), other.get(what)
                if one != another:
                    got = f"process 0 has {_short(one)} and process {rank} has {_short(another)}"
                    remedy = "give every process the same files and settings"
                    raise _everywhere(DataError(f"the {what} must be the same: {got}; {remedy}"))

    def synchronise(self, nets: Mapping[str, nn.Module]) -> None:
        """Give every process the first one's weights; refuse nets whose rows depend on others."""
        if self.count == 1:
            return
        for name, net in nets.items():
            for module in net.modules():
                normalises = isinstance(module, nn.modules.batchnorm._BatchNorm)
                if normalises and not isinstance(module, nn.SyncBatchNorm):
                    raise SettingError(
                        f"the net {name!r} normalises by batch, and every process has only a share "
                        "of one; take LayerNorm or GroupNorm, on CUDA torch.nn.SyncBatchNorm, or "
                        "train in one process"
                    )
            with _in_touch():
                for tensor in net.state_dict().values():
                    dist.broadcast(tensor, src=0)


def join() -> Processes:
    """Join the other processes that ``torchrun`` started; without it, this one is alone.

    They exchange by NCCL on CUDA, where ``"cuda"`` then means a device for each process, and by
    Gloo otherwise.
    """
    if process_count() > 1 and not dist.is_initialized():
        backend = "gloo"
        if torch.cuda.is_available() and local_rank() < torch.cuda.device_count():
            torch.cuda.set_device(local_rank())
            backend = "cpu:gloo,cuda:nccl"
        try:
            dist.init_process_group(backend)
        except (RuntimeError, ValueError) as error:
            remedy = "start them with torchrun, see docs/distributed.md"
            raise SettingError(f"cannot join the other processes ({error}); {remedy}") from error
    return current()


def leave() -> None:
    """Part from the others, where this process joined any."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()


def current() -> Processes:
    """The processes that ``torch.distributed`` was initialised with, or this one alone."""
    if not (dist.is_available() and dist.is_initialized()):
        return Processes()
    gloo = "gloo" in str(dist.get_backend_config())
    device = "cpu" if gloo else f"cuda:{torch.cuda.current_device()}"
    return Processes(dist.get_rank(), dist.get_world_size(), device)


def warn_if_alone(processes: Processes) -> None:
    """Warn where ``torchrun`` started several processes and they have not joined."""
    if processes.count == 1 < process_count():
        warnings.warn(
            f"each of the {process_count()} processes that torchrun started trains by itself; call "
            "lossnet.training.join() before fit to train one model together",
            stacklevel=2,
        )


def _everywhere(error: Exception) -> Exception:
    if isinstance(error, LossnetError):
        error.raised_everywhere = True
    return error


@contextmanager
def _in_touch() -> Iterator[None]:
    """Say in one line that another process is gone."""
    try:
        yield
    except RuntimeError as error:
        raise TrainingError(
            "another process of this training stopped or cannot be reached, so this one stops too; "
            "see that one's own error, then resume from the last good checkpoint"
        ) from error


def _dealt(rows: Tensor, count: int) -> Tensor:
    """Rows reordered so that ``count`` equal cuts each have every ``count``-th of them."""
    return torch.cat([rows[first::count] for first in range(count)])


def _short(fact: str | None) -> str:
    return "none" if fact is None else fact if len(fact) <= 40 else f"{fact[:12]}..."
