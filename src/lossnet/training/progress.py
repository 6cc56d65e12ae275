"""Progress of training: a bar in a terminal, elsewhere a line now and then; and how long it takes.

Training continues where nobody reads these messages any more.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from tqdm.auto import tqdm

from lossnet.training.callback import Callback, losses_of
from lossnet.training.convergence import Convergence, still_improving
from lossnet.training.loop import Trainer

#: Batches that are timed, after the first, which is slower than the others.
TIMED = 3


def reporters(metric: str, *, verbose: bool) -> list[Callback]:
    """What tells a user of training: warnings, and with ``verbose`` progress and duration."""
    shown = [show_progress(metric), Duration()] if verbose else []
    return [Convergence(metric), *shown]


def show_progress(metric: str) -> Callback:
    """The callback that suits standard error: :class:`Progress` or :class:`ProgressLines`."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return Progress(metric) if terminal or "ipykernel" in sys.modules else ProgressLines(metric)


def _print(text: str) -> None:
    """Print a line to standard error, above a progress bar if there is one."""
    with contextlib.suppress(OSError, ValueError):
        tqdm.write(text, file=sys.stderr)
        sys.stderr.flush()


def _print_end(trainer: Trainer) -> None:
    """Print a line where ``max_epochs`` ended the phase too early."""
    if still_improving(trainer):
        best = trainer.epoch - trainer.epochs_since_best
        where = f"epoch {best} of at most {trainer.phase_epochs} was the best so far"
        _print(f"{trainer.phase.name}: {where}; more epochs may improve the model")


def _texts(losses: Mapping[str, float]) -> list[str]:
    return [f"{name} loss {value:.4g}" for name, value in losses.items()]


@dataclass
class ProgressLines(Callback):
    """A callback that prints a line after every tenth of a phase's epochs, or every 30 seconds.

    Args:
        metric: name of the validation metric.
        seconds: time after which the next epoch is reported.
    """

    metric: str = "metric"
    seconds: float = field(default=30.0, kw_only=True)

    def __post_init__(self) -> None:
        self._last = self._began = time.monotonic()

    def on_batch(self, trainer: Trainer, losses: Mapping[str, float]) -> None:
        """Print a line of a long epoch, unless the last one is recent."""
        if time.monotonic() - self._last >= self.seconds:
            self._report(trainer, trainer.epoch + 1, losses)

    def on_epoch(self, trainer: Trainer) -> None:
        """Print a line after every tenth of the epochs, and one where they were too few."""
        if trainer.epoch % math.ceil(trainer.phase_epochs / 10) == 0:
            row = trainer.history[-1]
            self._report(trainer, trainer.epoch, losses_of(row), row.get("metric"))
        _print_end(trainer)

    def _report(
        self, trainer: Trainer, epoch: int, losses: Mapping[str, float], metric: float | None = None
    ) -> None:
        self._last = time.monotonic()
        texts = [f"{trainer.phase.name}: epoch {epoch} of at most {trainer.phase_epochs}"]
        texts += _texts(losses)
        if metric is not None:
            texts.append(f"validation {self.metric} {metric:.4f}")
        _print(", ".join([*texts, f"{self._last - self._began:.0f} s"]))


@dataclass
class Progress(Callback):
    """A callback that shows a bar for each phase: batches, losses and the validation metric."""

    metric: str = "metric"
    _bar: tqdm | None = field(default=None, init=False)
    _phase: int = field(default=-1, init=False)
    _metric_text: str = field(default="", init=False)

    def on_batch(self, trainer: Trainer, losses: Mapping[str, float]) -> None:
        """Advance the bar by one batch."""
        if self._bar is None or self._phase != trainer.phase_index:
            self.on_end(trainer)
            each, name = trainer.batches_per_epoch, trainer.phase.name
            done, total = each * trainer.epoch, each * trainer.phase_epochs
            self._bar = tqdm(total=total, initial=done, desc=name, unit="batch")
            self._phase = trainer.phase_index
        self._bar.set_postfix_str(", ".join([*_texts(losses), self._metric_text]), refresh=False)
        self._bar.update()

    def on_epoch(self, trainer: Trainer) -> None:
        """Show the epoch's metric from now on; print a line where the epochs were too few."""
        row = trainer.history[-1]
        if "metric" in row:
            self._metric_text = f"validation {self.metric} {row['metric']:.4f}"
        _print_end(trainer)

    def on_end(self, trainer: Trainer) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class Duration(Callback):
    """A callback that says, after a few batches, how long a phase takes at most.

    It only measures time: random streams and weights are as without it. What validation adds is
    reported after the first epoch.

    Args:
        long: seconds below which nothing is reported.
    """

    def __init__(self, *, long: float = 60.0) -> None:
        self.long = long
        self._phase, self._batches, self._began = -1, 0, 0.0

    def on_batch(self, trainer: Trainer, losses: Mapping[str, float]) -> None:
        """Time the first batches of a phase."""
        if self._phase != trainer.phase_index:
            self._phase, self._batches = trainer.phase_index, 0
        self._batches += 1
        if self._batches == 1:
            self._began = time.perf_counter()
        elif self._batches == 1 + TIMED:
            each = (time.perf_counter() - self._began) / TIMED
            self._report(trainer, each * trainer.batches_per_epoch, "without validation")

    def on_epoch(self, trainer: Trainer) -> None:
        """Report the time of all epochs after the first, if the batches were not enough."""
        timed, self._batches = self._batches > TIMED, 1 + TIMED
        first = sum(row["phase"] == trainer.phase.name for row in trainer.history) == 1
        if first and not (timed and trainer.score is None):
            what = "without validation" if trainer.score is None else "with validation"
            self._report(trainer, trainer.history[-1]["seconds"], what)

    def _report(self, trainer: Trainer, seconds: float, what: str) -> None:
        """Report the rest of a phase whose epochs take ``seconds`` each."""
        rest = seconds * (trainer.phase_epochs - trainer.epoch)
        if rest < self.long:
            return
        sooner = "" if trainer.score is None else "; early stopping may end it sooner"
        epochs = f"{trainer.phase_epochs} epochs"
        _print(f"{trainer.phase.name}: up to {format_duration(rest)} for {epochs}, {what}{sooner}")


def format_duration(seconds: float) -> str:
    """A duration in one unit.

    >>> [format_duration(s) for s in (1.2, 70, 1000, 9000, 200000)]
    ['1 second', '70 seconds', '17 minutes', '2.5 hours', '2.3 days']
    """
    if seconds < 100:
        return f"{seconds:.0f} second{'' if round(seconds) == 1 else 's'}"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.1f} hours" if seconds < 172800 else f"{seconds / 86400:.1f} days"
