"""What is called as training proceeds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lossnet.training.loop import Trainer


class Callback:
    """Called as training proceeds; a subclass implements what it needs."""

    def on_batch(self, trainer: Trainer, losses: Mapping[str, float]) -> None:
        """After every batch, with the mean loss of each update's steps on it."""

    def on_epoch(self, trainer: Trainer) -> None:
        """After every epoch; ``trainer.history[-1]`` is its row."""

    def on_end(self, trainer: Trainer) -> None:
        """After the last phase, or when training stops on an error."""


def losses_of(measures: Mapping[str, float]) -> dict[str, float]:
    """The losses among an epoch's or a batch's measures, by the update's name."""
    start = "loss/"
    return {k.removeprefix(start): v for k, v in measures.items() if k.startswith(start)}
