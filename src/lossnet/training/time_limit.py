"""How long a fit has taken, and fits that end in time."""

from __future__ import annotations

import time

from lossnet.training.callback import Callback
from lossnet.training.loop import Trainer


class Stopwatch(Callback):
    """A callback that knows how long a fit has taken so far, its earlier sessions included.

    Of sessions before one that was resumed, the epochs count.
    """

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._earlier: float | None = None

    @property
    def total(self) -> float:
        """Seconds since it was made, and those of epochs in earlier sessions."""
        return (self._earlier or 0.0) + time.perf_counter() - self._began

    def on_epoch(self, trainer: Trainer) -> None:
        """Note what earlier sessions took."""
        if self._earlier is None:
            self._earlier = sum(row["seconds"] for row in trainer.history[:-1])

    def on_end(self, trainer: Trainer) -> None:
        """The same, where earlier sessions had all epochs."""
        if self._earlier is None:
            self._earlier = sum(row["seconds"] for row in trainer.history)


class TimeLimit(Stopwatch):
    """A callback that ends training after about ``seconds``, with the best weights so far.

    Every phase has at least one epoch. Phases share what is left: the last of two gets all that
    the first did not use. Time before the first epoch counts.

    Attributes:
        cut: whether a phase was ended early.

    Args:
        seconds: from now on, earlier sessions included.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds, self.cut = seconds, False
        self._phase, self._phase_end = -1, 0.0

    def share(self, fits: int) -> TimeLimit:
        """A limit for the next of so many fits, which have what is left in equal parts."""
        return TimeLimit(max(0.0, self.seconds - self.total) / fits)

    def on_epoch(self, trainer: Trainer) -> None:
        """End the phase where its time is used up."""
        super().on_epoch(trainer)
        used = self.total
        if self._phase != trainer.phase_index:
            self._phase, begun = trainer.phase_index, used - trainer.history[-1]["seconds"]
            left = len(trainer.method.phases) - trainer.phase_index
            self._phase_end = begun + max(0.0, self.seconds - begun) / left
        if used >= self._phase_end and not trainer._phase_over():
            self.cut = True
            trainer.end_phase()
