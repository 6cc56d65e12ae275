"""Whether the epochs of a phase were enough."""

from __future__ import annotations

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

from lossnet.training.callback import Callback
from lossnet.training.loop import Trainer

#: Fewer epochs than this are a trial, of which nobody expects convergence.
_LEAST = 10
#: The best epoch is the last or the one before.
_RECENT = 1


def still_improving(trainer: Trainer) -> bool:
    """Whether ``max_epochs`` ended the phase while its validation metric was still improving.

    A learning rate that falls to 0 makes the last epochs the best ones, and a metric that never
    left 0 did not improve.
    """
    ended = trainer.epoch >= trainer.phase_epochs >= _LEAST and trainer.score is not None
    recent = trainer.epochs_since_best <= min(_RECENT, trainer.phase_patience - 1)
    decays = any(optimiser.schedule.falls for optimiser in trainer.optimisers)
    return ended and recent and not decays and trainer.best != 0.0


class Convergence(Callback):
    """A callback that warns where ``max_epochs`` ended a phase too early.

    Args:
        metric: name of the validation metric.
    """

    def __init__(self, metric: str = "metric") -> None:
        self.metric = metric

    def on_epoch(self, trainer: Trainer) -> None:
        """Warn after the last epoch, if the best is among the last."""
        if still_improving(trainer):
            watched = self.metric if trainer.phase.monitor == "metric" else "loss"
            ended = f"max_epochs={trainer.max_epochs} ended the phase {trainer.phase.name!r}"
            # The same text for every fit with these settings: Python shows it once.
            what = f"{ended} while the validation {watched} was still improving"
            level = frames_to_user()
            warnings.warn(f"{what}; raise max_epochs", ConvergenceWarning, stacklevel=level)


def frames_to_user() -> int:
    """The ``stacklevel`` of a warning by the caller that names the line which called lossnet."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("lossnet."):
        frame, level = frame.f_back, level + 1
    return level
