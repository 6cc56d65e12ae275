"""What is called as training proceeds, and how it ends training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from lossnet.errors import SettingError

if TYPE_CHECKING:
    from lossnet.training.loop import Trainer
    from lossnet.training.processes import Processes


class Callback:
    """Called as training proceeds; a subclass implements what it needs.

    What a callback may read: ``trainer.history``, ``trainer.phase``, ``trainer.epoch`` (counted in
    its phase), ``trainer.best``, ``trainer.nets``. To end training it calls
    :meth:`Trainer.stop <lossnet.Trainer.stop>`; to end the fit with nothing changed it raises.

    >>> class Patient(Callback):
    ...     def on_epoch(self, trainer):
    ...         if trainer.history[-1]["seconds"] > 60:
    ...             trainer.stop()
    """

    def on_start(self, trainer: Trainer) -> None:
        """Before the first batch; in a resumed fit ``trainer.history`` has the earlier epochs."""

    def on_batch(self, trainer: Trainer, losses: Mapping[str, float]) -> None:
        """After every batch, with the mean loss of each update's steps on it."""

    def on_epoch(self, trainer: Trainer) -> None:
        """After every epoch; ``trainer.history[-1]`` is its row."""

    def on_end(self, trainer: Trainer) -> None:
        """After the last phase, or when training stops on an error."""

    def state_dict(self) -> dict[str, Any]:
        """What a resumed fit must know, as JSON can hold it; it is part of the checkpoint."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from :meth:`state_dict`; called before :meth:`on_start`."""


class Stoppable:
    """What ends training early. Every phase runs at least until its first callback.

    Attributes:
        phase_ended: whether the phase that runs is to end.
        stopped: whether training is to end.
    """

    phase_ended = stopped = False
    callbacks: list[Callback]
    processes: Processes

    def end_phase(self) -> None:
        """End the phase, with its best weights, as early stopping does; the next one begins.

        In ``on_batch`` the epoch ends with this batch, and is validated.
        """
        self.phase_ended = True

    def stop(self) -> None:
        """End training with the best weights so far.

        The phase ends as by :meth:`end_phase`; later phases have one epoch each, as a method
        needs all of them to predict.
        """
        self.phase_ended = self.stopped = True

    def _call(self, event: str, *given: Any) -> None:
        """Let the callbacks run in the first process; what they end, ends in all."""

        def called() -> tuple[bool, bool]:
            for callback in self.callbacks:
                getattr(callback, event)(self, *given)
            return self.phase_ended, self.stopped

        self.phase_ended, self.stopped = self.processes.from_first(called)


def check_callbacks(callbacks: Any) -> None:
    """Raise where ``callbacks`` is not a collection of callbacks."""
    if not isinstance(callbacks, Iterable):
        came = f"got a {type(callbacks).__name__}"
        raise SettingError(f"callbacks must be a list of lossnet.Callback objects, {came}")
    for callback in callbacks:
        if isinstance(callback, type):
            raise SettingError(f"callbacks must be objects, got the class {callback.__name__}")
        if not isinstance(callback, Callback):
            came = f"got a {type(callback).__name__}; derive its class from lossnet.Callback"
            raise SettingError(f"callbacks must be lossnet.Callback objects, {came}")


def losses_of(measures: Mapping[str, float]) -> dict[str, float]:
    """The losses among an epoch's or a batch's measures, by the update's name."""
    start = "loss/"
    return {k.removeprefix(start): v for k, v in measures.items() if k.startswith(start)}
