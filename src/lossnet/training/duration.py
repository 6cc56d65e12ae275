"""How long training may take, said when its first batches are done."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Mapping

from tqdm.auto import tqdm

from lossnet.training.loop import Trainer

#: Batches that are timed, after the first, which is slower than the others.
TIMED = 3
#: Seconds below which nothing is said.
LONG = 60.0


class Duration:
    """A callback that says, after a few batches, how long a phase takes at most.

    It times batches and nothing else: random streams and weights are as without it. What
    validation adds is said after the first epoch.

    Args:
        long: seconds below which nothing is said.
    """

    def __init__(self, *, long: float = LONG) -> None:
        self.long = long
        self._phase = -1
        self._batches = 0
        self._began = 0.0

    def on_batch(self, trainer: Trainer, losses: Mapping[str, float]) -> None:
        """Time the first batches of a phase."""
        if self._phase != trainer.phase_index:
            self._phase, self._batches = trainer.phase_index, 0
        self._batches += 1
        if self._batches == 1:
            self._began = time.perf_counter()
        elif self._batches == 1 + TIMED:
            each = (time.perf_counter() - self._began) / TIMED
            self._say(trainer, each * _batches(trainer), "without validation")

    def on_epoch(self, trainer: Trainer) -> None:
        """Say the time of all epochs once the first is done, where batches alone did not tell."""
        timed, self._batches = self._batches > TIMED, 1 + TIMED
        first = sum(row["phase"] == trainer.phase.name for row in trainer.history) == 1
        if first and not (timed and trainer.score is None):
            what = "without validation" if trainer.score is None else "with validation"
            self._say(trainer, trainer.history[-1]["seconds"], what)

    def on_end(self, trainer: Trainer) -> None:
        """Nothing to do."""

    def _say(self, trainer: Trainer, seconds: float, what: str) -> None:
        """Report the rest of a phase whose epochs take so many seconds each."""
        rest = seconds * (trainer.max_epochs - trainer.epoch)
        if rest < self.long:
            return
        sooner = "" if trainer.score is None else "; early stopping may end it sooner"
        epochs = f"{trainer.max_epochs} epochs"
        text = f"{trainer.phase.name}: up to {format_duration(rest)} for {epochs}, {what}"
        # Training goes on where nobody reads what it says.
        with contextlib.suppress(OSError, ValueError):
            tqdm.write(text + sooner, file=sys.stderr)


def _batches(trainer: Trainer) -> int:
    """Batches of an epoch."""
    rows = [len(trainer.data)]
    if trainer.phase.uses_unlabelled and (spare := trainer.sources["unlabelled"]) is not None:
        rows.append(len(spare))
    return math.ceil(max(rows) / trainer.batch_size)


def format_duration(seconds: float) -> str:
    """A duration to one unit.

    >>> [format_duration(s) for s in (70, 1000, 9000, 200000)]
    ['70 seconds', '17 minutes', '2.5 hours', '2.3 days']
    """
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours" if seconds < 172800 else f"{seconds / 86400:.1f} days"
