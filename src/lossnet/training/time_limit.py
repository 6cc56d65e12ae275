"""Training that ends in time."""

from __future__ import annotations

import time

from lossnet.training.callback import Callback
from lossnet.training.loop import Trainer


class TimeLimit(Callback):
    """A callback that ends training after about ``seconds``, with the best weights so far.

    Every phase has at least one epoch. Phases share what is left: the last of two gets all that
    the first did not use. Time before the first epoch, and that of earlier sessions of a fit which
    was resumed, counts.

    Attributes:
        cut: whether a phase was ended early.

    Args:
        seconds: from now on.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds, self.cut = seconds, False
        self._began = time.perf_counter()
        self._phase, self._phase_end = -1, 0.0
        self._earlier: float | None = None

    def on_epoch(self, trainer: Trainer) -> None:
        """End the phase where its time is used up."""
        row = trainer.history[-1]
        if self._earlier is None:
            self._earlier = sum(one["seconds"] for one in trainer.history[:-1])
        used = self._earlier + time.perf_counter() - self._began
        if self._phase != trainer.phase_index:
            self._phase, begun = trainer.phase_index, used - row["seconds"]
            left = len(trainer.method.phases) - trainer.phase_index
            self._phase_end = begun + max(0.0, self.seconds - begun) / left
        if used >= self._phase_end and not trainer._phase_over():
            self.cut, trainer.phase_epochs = True, trainer.epoch
