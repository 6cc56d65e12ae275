"""What a measurement depends on besides its settings: versions, machine, threads."""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

PACKAGES = ("lossnet", "torch", "numpy", "scipy", "scikit-learn")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            # A package on the path but not installed still knows its own version.
            module = sys.modules.get(package)
            found[package] = str(getattr(module, "__version__", "not installed"))
    return found


def environment() -> dict[str, Any]:
    """The fields of a recorded run that no caller gives: see :class:`~lossnet.reports.Run`."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    machine = {"platform": platform.platform(), "threads": threads()}
    return {"versions": versions(), **machine, "date": now}


def threads() -> int:
    """Threads that torch uses, or will use once it is loaded."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() else os.cpu_count() or 1
