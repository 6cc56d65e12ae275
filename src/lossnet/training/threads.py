"""How many threads a fit or a prediction uses, and how it treats denormal numbers.

Threads that share the operations of a small net wait for each other longer than they work, and on
a busy machine many times longer: a small net gets one thread. The rule goes by the size of an
operation, never by a measured time, so that the same fit gives the same numbers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from lossnet.batch import Batch
from lossnet.nets.wide import RowParameter
from lossnet.nets.words import WordTable

#: Multiplications by weights in one pass below which one thread is best.
SMALL = 10**8
_AT_IMPORT = torch.get_num_threads()


@contextmanager
def suitable_threads(nets: Iterable[nn.Module], batch: Batch) -> Iterator[None]:
    """One thread where a pass over the batch is small, else torch's own number.

    A number that the user chose stays: ``OMP_NUM_THREADS`` or ``MKL_NUM_THREADS`` in the
    environment, or ``torch.set_num_threads``. The caller's number is restored afterwards.
    """
    before = torch.get_num_threads()
    if not (before > 1 and not _chosen_by_user() and work(nets, batch) < SMALL):
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Treat denormal numbers as 0, which is several times faster; restore the setting after."""
    before = flushes_denormals()
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def flushes_denormals() -> bool:
    """Whether denormal numbers count as 0 in this thread; torch has a setter, but no getter."""
    return sys.float_info.min * 0.5 == 0.0


def work(nets: Iterable[nn.Module], batch: Batch) -> int:
    """About how many multiplications by weights one pass of all nets over the batch takes.

    A weight counts once per row, and once per pixel of an image. It counts once for all tokens of
    a sentence, as recurrent nets process them in sequence. Looking up a word's vector is free, and
    so are the first layers of sparse rows, which read few of their weights.
    """
    sparse = isinstance(batch.x, Tensor) and batch.x.is_sparse
    weights = sum(
        parameter.numel()
        for net in nets
        for module in net.modules()
        if not isinstance(module, nn.Embedding | WordTable)
        for parameter in module.parameters(recurse=False)
        if not (sparse and isinstance(parameter, RowParameter))
    )
    return weights * _places(batch)


def _places(batch: Batch) -> int:
    """Rows, or pixels of all images."""
    if isinstance(batch.x, Tensor) and batch.x.dim() > 1:
        return batch.x.numel() // max(batch.x.shape[1], 1)
    known = batch.mask if batch.mask is not None else batch.target
    return 1 if known is None else len(known)


def _chosen_by_user() -> bool:
    if any(name in os.environ for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")):
        return True
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    # torch takes every core, or with hyperthreads every second.
    usual = {cores, (cores or 1) // 2}
    return torch.get_num_threads() != _AT_IMPORT or _AT_IMPORT not in usual
