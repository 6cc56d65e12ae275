"""The history of training as a file for other programs, complete after every epoch."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lossnet.errors import SettingError
from lossnet.files import write_text
from lossnet.training.callback import Callback
from lossnet.training.loop import Trainer

#: The suffixes a file may have.
FORMATS = (".csv", ".jsonl")


class HistoryFile(Callback):
    """A callback that keeps the history in a file: a table, or a line of JSON for each epoch.

    The file is replaced after every epoch, so a reader never sees half a row, and a resumed fit
    has every epoch once.

    Args:
        path: the file; ``.csv`` or ``.jsonl`` is its format.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if self.path.suffix not in FORMATS:
            rule = f"the name of a history file must end in {' or '.join(FORMATS)}"
            raise SettingError(f"{rule}, got {str(path)!r}")

    def on_start(self, trainer: Trainer) -> None:
        """Write the epochs before this session, or no row: where it fails, it does so now."""
        write_history(trainer.history, self.path)

    def on_epoch(self, trainer: Trainer) -> None:
        """Write all epochs so far."""
        write_history(trainer.history, self.path)


def write_history(history: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Write a history, one row per epoch, in the format that the path's suffix says.

    In a table, a column that a phase does not have is empty in its rows.
    """
    if path.suffix == ".csv":
        return write_text(path, _table(history))
    return write_text(path, "".join(json.dumps(dict(row)) + "\n" for row in history))


def _table(history: Sequence[Mapping[str, Any]]) -> str:
    names = dict.fromkeys(name for row in history for name in row)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names), lineterminator="\n")
    if names:
        writer.writeheader()
        writer.writerows(history)
    return text.getvalue()
