"""Errors a user can act on: what came, what was expected, what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_MOST = 1000
_LONG = re.compile(r"(\S{80})\S{100,}|(\s{3})\s{30,}")


class LossnetError(Exception):
    """Base of every error this package raises on purpose; its message is one line, not too long.

    ``raised_everywhere`` is true where all processes of a training raise it, so that the first
    alone should report it.
    """

    raised_everywhere = False

    def __init__(self, message: object = "") -> None:
        # A damaged file can have names and values of any length.
        text = _LONG.sub(r"\1\2...", " ".join(str(message).splitlines()))
        if len(text) > _MOST:
            text = f"{text[: _MOST // 2]} ... {text[-_MOST // 2 :]}"
        super().__init__(text)


class DataError(LossnetError, ValueError):
    """Data that cannot be used: a bad file, a wrong shape, values out of range."""


class FolderInUseError(DataError):
    """A folder that another process is writing to."""


class SettingError(LossnetError, ValueError):
    """A setting that does not exist or does not fit the others."""


class TrainingError(LossnetError, RuntimeError):
    """Training had to stop, for instance on a non-finite loss."""


def unknown(kind: str, name: str, options: Iterable[str]) -> SettingError:
    """The error for a name that is not among ``options``, with the nearest one suggested.

    >>> str(unknown("method", "seal-nec", ["seal-nce", "dvn"]))
    "unknown method 'seal-nec': did you mean 'seal-nce'? (known: dvn, seal-nce)"
    """
    known = sorted(options)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f": did you mean {near[0]!r}?" if near else ""
    listed = ", ".join(known) if known else "none"
    return SettingError(f"unknown {kind} {name!r}{hint} (known: {listed})")


@contextmanager
def errors_name(what: str) -> Iterator[None]:
    """Have errors of data name what it was: ``validation_data``, for instance."""
    try:
        yield
    except SettingError:
        raise
    except ValueError as error:
        prefix = "" if what in str(error) else f"{what}: "
        raise DataError(f"{prefix}{error}") from error
