"""Checkpoints of a fit, and fits that continue from one."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from sklearn.utils import check_random_state

from lossnet.checks import describe
from lossnet.errors import SettingError
from lossnet.training import (
    Checkpoint,
    Trainer,
    check_callbacks,
    reporters,
    resume,
    save_checkpoint,
)


class Resumes:
    """The seed of a fit, and what an estimator does during training besides training."""

    def _seed(self: Any) -> int:
        """The seed of a fit: the ``random_state`` itself, or a number drawn from it."""
        drawn = int(check_random_state(self.random_state).randint(2**31 - 1))
        return int(self.random_state) if isinstance(self.random_state, Integral) else drawn

    def _check_course(self: Any, checkpoint: Any, wanted: bool, callbacks: Any) -> None:
        """Raise where training cannot resume as ``wanted``, or call these."""
        check_callbacks(callbacks)
        if wanted and checkpoint is None:
            raise SettingError("resume_from_checkpoint needs the file: pass checkpoint= as well")
        if wanted and not isinstance(self.random_state, Integral):
            rule = "random_state must be the integer that training was started with to resume"
            raise SettingError(f"{rule}, got {self.random_state!r}")

    def _add_callbacks(
        self: Any, trainer: Trainer, checkpoint: Any, resuming: bool, given: tuple[Any, ...]
    ) -> None:
        """Convergence, progress, checkpoints; to resume, put the trainer where it stopped.

        A checkpoint belongs to the data ``given``, of which some may be None.
        """
        trainer.callbacks += reporters(self._metric_name(), verbose=bool(self.verbose))
        if checkpoint is None:
            return
        free = {"device", "random_state", "refine", "verbose", "decode", "decode_samples"}
        params = {k: describe(v) for k, v in self.resolved_params().items() if k not in free}
        digest = " ".join(data.checksum() for data in given if data is not None)
        settings = params | {"seed": trainer.seed, "data": digest}
        if resuming:
            resume(checkpoint, trainer, settings)
        else:
            # Now rather than after an epoch: a file that cannot be written is found first.
            save_checkpoint(checkpoint, trainer, settings)
        trainer.callbacks.append(Checkpoint(checkpoint, settings))
