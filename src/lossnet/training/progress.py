"""A progress bar for training."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tqdm.auto import tqdm

from lossnet.training.loop import Trainer


class Progress:
    """A callback that shows a bar a phase: batches, the losses and the validation metric."""

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
