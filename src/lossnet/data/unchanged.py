"""Files that are read while training runs, and must not change meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

from lossnet.errors import DataError


class Unchanged:
    """A file as it was when it was opened.

    Reading memory that is mapped to a file which has become shorter ends the process, so
    :meth:`check` comes first.

    Args:
        path: the file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._size, self._time = self._now()

    def check(self) -> None:
        """Raise where the file has another size or time of change than when it was opened."""
        size, time = self._now()
        if (size, time) != (self._size, self._time):
            came = f"{self.path} changed while it was in use: it had {self._size:,} bytes"
            now = f"and has {size:,}" if size != self._size else "and was written again"
            raise DataError(f"{came} {now}; leave the file alone, and start again")

    def _now(self) -> tuple[int, int]:
        try:
            found = os.stat(self.path)
        except OSError as error:
            why = error.strerror or error
            raise DataError(
                f"{self.path} cannot be read ({why}); keep it in place while it is in use"
            ) from error
        return found.st_size, found.st_mtime_ns
