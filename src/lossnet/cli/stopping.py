"""How a command that several processes run together ends when one of them fails."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from lossnet.errors import TrainingError


@contextmanager
def stopping_with_others(count: int) -> Iterator[None]:
    """Let ``torchrun`` end this process with one line when another of ``count`` has failed.

    It sends SIGTERM, by which Python would end without a word.
    """
    if count == 1:
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
        raise TrainingError(
            "stopped by torchrun: another of its processes failed, or the job was cancelled; "
            "resume from the last good checkpoint"
        )

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except BaseException:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # this process is about to end by itself
        raise
    signal.signal(signal.SIGTERM, before)
