"""Errors a user can act on: what came, what was expected, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LossnetError(Exception):
    """Base of every error this package raises on purpose."""


class DataError(LossnetError, ValueError):
    """Data that cannot be used: a bad file, a wrong shape, values out of range."""


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
    hint = f"did you mean {near[0]!r}? " if near else ""
    listed = ", ".join(known) if known else "none"
    return SettingError(f"unknown {kind} {name!r}: {hint}(known: {listed})")
