"""Workers of one machine that share a study: who is alive, and whose turn it is.

A worker holds a lock on a file of its own for as long as its process lives, however it ends. So
others see at once that a killed worker is gone; of workers on other machines only the heartbeats
in the study's storage tell.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lossnet.errors import DataError

try:
    import fcntl
except ImportError:  # not a POSIX system: heartbeats alone tell
    fcntl = None  # type: ignore[assignment]

_FILES = ".worker-{}.lock"


class Worker:
    """One process that runs trials of the study in a folder; None: of a study in memory.

    Used as a context: its file is removed in the end.
    """

    def __init__(self, folder: Path | None) -> None:
        self.name = uuid.uuid4().hex
        self._folder = folder
        self._file: Any = None

    def __enter__(self) -> Worker:
        if self._folder is not None:
            try:
                self._file = self._path(self.name).open("w")
            except OSError as error:
                raise DataError(f"cannot write to {self._folder}: {error}") from error
            _lock(self._file.fileno(), wait=False)
        return self

    def __exit__(self, *error: object) -> None:
        if self._folder is not None:
            self.forget(self.name)
            self._file.close()

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Keep other workers of this folder waiting."""
        if self._folder is None:
            yield
            return
        handle = os.open(self._folder, os.O_RDONLY)
        try:
            _lock(handle, wait=True)
            yield
        finally:
            os.close(handle)

    def dead(self) -> list[str]:
        """Names of workers of this folder whose processes have ended without a goodbye."""
        found = []
        for path in sorted(self._folder.glob(_FILES.format("*"))) if self._folder else ():
            name = path.stem.removeprefix(".worker-")
            if name == self.name:
                continue
            with contextlib.suppress(OSError), path.open("r+") as file:
                if _lock(file.fileno(), wait=False):
                    found.append(name)
        return found

    def forget(self, name: str) -> None:
        """Remove the file of a worker."""
        self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / _FILES.format(name)


def _lock(handle: int, *, wait: bool) -> bool:
    """Lock until the handle is closed; False where another process has the lock.

    A file system without locks keeps no one waiting, and no worker there is found dead.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True
