"""One trial of a search."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from lossnet.errors import DataError, LossnetError, SettingError, TrainingError
from lossnet.searching.study import EPOCHS, ERROR, SECONDS, Study
from lossnet.training import Callback, Trainer

#: Epochs of a phase before a trial may be pruned in it.
WARMUP = 3


class BudgetOverError(Exception):
    """Ends a trial at the end of the time budget; a later search runs it again."""


class Trial(Callback):
    """Draws values, trains, reports each epoch, and ends early where it is not promising.

    Args:
        try_values: trains with some values and a callback; the validation metric.
        study: whose trial it is.
        claimed: called once the trial is this worker's and has its values.
        ends: when the time budget ends, by ``time.monotonic``.
        first: whether it has the settings before the search.

    Attributes:
        unusable: the error, if data or settings of the first trial cannot be used at all.
    """

    def __init__(
        self,
        try_values: Callable[[Mapping[str, Any], Callback], float],
        study: Study,
        claimed: Callable[[], None],
        ends: float,
        *,
        first: bool,
    ) -> None:
        self._try_values, self._study = try_values, study
        self._claimed, self._ends, self._first = claimed, ends, first
        self._trial: Any = None
        self._epochs = 0
        self.unusable: LossnetError | None = None

    def __call__(self, trial: Any) -> float:
        """Run the trial, which Optuna has claimed; its value."""
        values = self._study.draw(trial)
        self._claimed()
        self._trial, began = trial, time.perf_counter()
        try:
            value = self._try_values(values, self)
            if not math.isfinite(value):
                raise TrainingError(f"the validation metric is {value}")
            return value
        except (self._study.Pruned, BudgetOverError):
            raise
        except Exception as error:
            if self._first and isinstance(error, SettingError | DataError):
                self.unusable = error
            else:
                trial.set_user_attr(ERROR, f"{type(error).__name__}: {error}"[:500])
            raise
        finally:
            trial.set_user_attr(EPOCHS, self._epochs)
            trial.set_user_attr(SECONDS, time.perf_counter() - began)

    def on_epoch(self, trainer: Trainer) -> None:
        """Report the best metric of the phase so far, and stop where it is below the median."""
        self._epochs = len(trainer.history)
        if time.monotonic() >= self._ends:
            raise BudgetOverError
        if trainer.phase.monitor != "metric" or trainer.best is None:
            return
        # A step means the same epoch of the same phase in every trial.
        step = trainer.phase_index * trainer.max_epochs + trainer.epoch
        self._trial.report(trainer.best, step)
        if trainer.epoch > WARMUP and self._trial.should_prune():
            raise self._study.Pruned
