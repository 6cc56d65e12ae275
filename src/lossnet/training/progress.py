"""How training goes: a progress bar in a terminal, elsewhere a line now and then."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Mapping

from tqdm.auto import tqdm

from lossnet.training.loop import Callback, Trainer


def show_progress(metric: str) -> Callback:
    """The callback that suits standard error: :class:`Progress` or :class:`ProgressLines`."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return Progress(metric) if terminal or "ipykernel" in sys.modules else ProgressLines(metric)


class ProgressLines:
    """A callback that prints a line after every tenth of a phase's epochs, or every 30 seconds.

    Args:
        metric: what the validation metric is called.
        seconds: time after which the next epoch is reported.
    """

    def __init__(self, metric: str = "metric", *, seconds: float = 30.0) -> None:
        self.metric = metric
        self.seconds = seconds
        self._last = self._began = time.monotonic()

    def on_batch(self, trainer: Trainer, losses: Mapping[str, float]) -> None:
        """Print a line of a long epoch, unless the last one is recent."""
        if time.monotonic() - self._last >= self.seconds:
            self._print(trainer, trainer.epoch + 1, losses)

    def on_epoch(self, trainer: Trainer) -> None:
        """Print a line after every tenth of the epochs."""
        if trainer.epoch % math.ceil(trainer.max_epochs / 10) == 0:
            row = trainer.history[-1]
            losses = {k.removeprefix("loss/"): v for k, v in row.items() if k.startswith("loss/")}
            self._print(trainer, trainer.epoch, losses, row.get("metric"))

    def on_end(self, trainer: Trainer) -> None:
        """Nothing to close."""

    def _print(
        self,
        trainer: Trainer,
        epoch: int,
        losses: Mapping[str, float],
        metric: float | None = None,
    ) -> None:
        self._last = time.monotonic()
        texts = [f"{trainer.phase.name}: epoch {epoch} of at most {trainer.max_epochs}"]
        texts += [f"{name} loss {value:.4g}" for name, value in losses.items()]
        if metric is not None:
            texts.append(f"validation {self.metric} {metric:.4f}")
        texts.append(f"{self._last - self._began:.0f} s")
        # Training goes on where nobody reads its progress any more.
        with contextlib.suppress(OSError, ValueError):
            print(", ".join(texts), file=sys.stderr, flush=True)


class Progress:
    """A callback that shows a bar for each phase: batches, losses and the validation metric."""

    def __init__(self, metric: str = "metric") -> None:
        self.metric = metric
        self._bar: tqdm | None = None
        self._phase = -1
        self._metric_text = ""

    def on_batch(self, trainer: Trainer, losses: Mapping[str, float]) -> None:
        """Advance the bar by one batch."""
        if self._bar is None or self._phase != trainer.phase_index:
            self._close()
            batches = math.ceil(len(trainer.data) / trainer.batch_size)
            self._bar = tqdm(
                total=batches * trainer.max_epochs,
                initial=batches * trainer.epoch,
                desc=trainer.phase.name,
                unit="batch",
            )
            self._phase = trainer.phase_index
        texts = [f"{name} loss {value:.4g}" for name, value in losses.items()]
        self._bar.set_postfix_str(", ".join([*texts, self._metric_text]), refresh=False)
        self._bar.update()

    def on_epoch(self, trainer: Trainer) -> None:
        """Take up the epoch's metric."""
        row = trainer.history[-1]
        if "metric" in row:
            self._metric_text = f"validation {self.metric} {row['metric']:.4f}"

    def on_end(self, trainer: Trainer) -> None:
        """Close the bar."""
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
