"""The history of training in TensorBoard, with the extra ``lossnet[track]``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lossnet.errors import DataError, SettingError
from lossnet.training.callback import Callback
from lossnet.training.loop import Trainer


class TensorBoard(Callback):
    """A callback that writes every number of the history to a folder for TensorBoard.

    Its steps are epochs, counted through all phases. A resumed fit continues the curves: what was
    written after its checkpoint is hidden.

    Args:
        folder: the folder; TensorBoard shows those below one folder as runs to compare.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._kind = _need_writer()
        self._writer: Any = None

    def on_start(self, trainer: Trainer) -> None:
        """Open the folder."""
        try:
            self._writer = self._kind(str(self.folder), purge_step=len(trainer.history) + 1)
        except OSError as error:
            why = f"cannot write to {self.folder} for TensorBoard: {error.strerror or error}"
            raise DataError(f"{why}; choose a folder you may write to") from error

    def on_epoch(self, trainer: Trainer) -> None:
        """Write the epoch's numbers."""
        for name, value in trainer.history[-1].items():
            if name != "epoch" and isinstance(value, int | float):
                self._writer.add_scalar(name, value, len(trainer.history))
        self._writer.flush()

    def on_end(self, trainer: Trainer) -> None:
        """Close the folder."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _need_writer() -> Any:
    """The class that writes; where it cannot be imported, an error that says what to install."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        missing = f"TensorBoard needs the track extra, which cannot be imported ({error})"
        raise SettingError(f"{missing}; run pip install 'lossnet[track]'") from error
    return SummaryWriter
