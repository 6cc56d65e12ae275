"""A fit that is rehearsed: everything is prepared and a few batches are timed, nothing is kept."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from lossnet.training.rehearsal import PhaseTime, Rehearsal, RehearsalOverError


@dataclass(frozen=True)
class FitTime:
    """What a fit takes.

    Args:
        preparation: seconds before the first batch: scales, vocabularies, trees, nets.
        phases: what each phase takes.
        nets: the number of weights of each net.
        trained: the names of the nets that are trained.
        threads: how many threads the arithmetic uses.
    """

    preparation: float
    phases: list[PhaseTime]
    nets: dict[str, int]
    trained: set[str]
    threads: int

    @property
    def longest(self) -> float:
        """Seconds of a fit that early stopping does not shorten."""
        return self.preparation + sum(phase.epochs * phase.epoch for phase in self.phases)

    @property
    def shortest(self) -> float:
        """Seconds of a fit whose first epochs are its best, so that patience ends each phase."""
        return self.preparation + sum(phase.fewest * phase.epoch for phase in self.phases)


def rehearse(model: Any, data: Any, **given: Any) -> FitTime:
    """Prepare ``model.fit(data, **given)`` on a copy, time a few batches of every phase, and stop.

    Args:
        model: an estimator, which is not changed.
        data: the task's data to train on.
        given: further arguments of ``fit``, such as ``validation_data``.
    """
    rehearsal = Rehearsal()
    copy = clone(model).set_params(verbose=0)
    began, spent = time.perf_counter(), 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            copy.fit(data, **given, callbacks=[rehearsal])
        except RehearsalOverError:
            spent = rehearsal.seconds
    preparation = max(0.0, time.perf_counter() - began - spent)
    known = rehearsal.phases, rehearsal.nets, rehearsal.trained, rehearsal.threads
    return FitTime(preparation, *known)
