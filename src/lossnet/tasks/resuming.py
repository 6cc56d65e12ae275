"""Checkpoints of a fit, and fits that continue from one."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any

from sklearn.utils import check_random_state

from lossnet.checks import describe
from lossnet.errors import LossnetError, SettingError
from lossnet.tasks.parts import Parts
from lossnet.training import (
    Callback,
    Checkpoint,
    Trainer,
    check_callbacks,
    reporters,
    resume,
    save_checkpoint,
)
from lossnet.training.processes import current


class Resumes:
    """The seed of a fit, and what an estimator does during training besides training."""

    def _seed(self: Any) -> int:
        """The seed of a fit: the ``random_state`` itself, or a number drawn from it."""
        drawn = int(check_random_state(self.random_state).randint(2**31 - 1))
        seed = int(self.random_state) if isinstance(self.random_state, Integral) else drawn
        return current().from_first(lambda: seed)

    def _check_course(self: Any, checkpoint: Any, wanted: bool, callbacks: Any) -> None:
        """Raise where training cannot resume as ``wanted``, or call these."""
        check_callbacks(callbacks)
        if wanted and checkpoint is None:
            raise SettingError("resume_from_checkpoint needs the file: pass checkpoint= as well")
        if wanted and not isinstance(self.random_state, Integral):
            rule = "random_state must be the integer that training was started with to resume"
            raise SettingError(f"{rule}, got {self.random_state!r}")

    def _check_processes(self: Any, train: Any, validation: Any, unlabelled: Any) -> None:
        """Raise where another process that trains with this one has other settings or data."""
        if current().count == 1:
            return
        given = {"training": train, "validation": validation, "unlabelled": unlabelled}
        facts = {f"parameter {name}": str(value) for name, value in self._lasting().items()}
        facts |= {f"{what} data": own.checksum() for what, own in given.items() if own is not None}
        current().check_same(facts)

    def _lasting(self: Any) -> dict[str, Any]:
        """The parameters that a fit must keep to."""
        free = {"device", "random_state", "refine", "verbose", "decode", "decode_samples", "joint"}
        return {k: describe(v) for k, v in self.resolved_params().items() if k not in free}

    def _run(self, trainer: Trainer, data: Any, callbacks: Sequence[Callback]) -> Any:
        """Train the nets on the data, with the user's callbacks; gives the history."""
        return trainer.run()

    def _add_callbacks(
        self: Any, trainer: Trainer, checkpoint: Any, resuming: bool, given: tuple[Any, ...]
    ) -> None:
        """Convergence, progress, checkpoints; to resume, put the trainer where it stopped.

        A checkpoint belongs to the data ``given``, of which some may be None.
        """
        trainer.callbacks += reporters(self._metric_name(), verbose=bool(self.verbose))
        if checkpoint is None:
            return
        digest = " ".join(data.checksum() for data in given if data is not None)
        settings = self._lasting() | {"seed": trainer.seed, "data": digest}
        if resuming:
            resume(checkpoint, trainer, settings)
        else:
            # Now rather than after an epoch: a file that cannot be written is found first.
            trainer.processes.from_first(lambda: save_checkpoint(checkpoint, trainer, settings))
        trainer.callbacks.append(Checkpoint(checkpoint, settings))


def fit_or_continue(
    model: Any, parts: Parts[Any], checkpoint: Path, callbacks: Sequence[Callback] = ()
) -> None:
    """Fit an estimator, from its checkpoint if there is one; a damaged one is removed."""
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {"validation_data": parts.validation, "checkpoint": checkpoint}
    given["callbacks"] = callbacks
    if checkpoint.exists():
        try:
            model.fit(parts.train, **given, resume_from_checkpoint=True)
        except LossnetError:
            checkpoint.unlink()
    if not hasattr(model, "nets_"):
        model.fit(parts.train, **given)
