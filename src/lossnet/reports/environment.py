"""What a measurement depends on besides its settings: versions, machine, threads."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata

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


def platform_name() -> str:
    """Operating system and machine."""
    return platform.platform()


def threads() -> int:
    """Threads that torch uses, or will use once it is loaded."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() else os.cpu_count() or 1
