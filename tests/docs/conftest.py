"""The packages that the docs show can be imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import install_packages


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder where the packages of the docs are installed, on ``sys.path``."""
    folder = tmp_path_factory.mktemp("packages")
    install_packages(folder)
    sys.path.append(str(folder))
    yield folder
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.startswith("lossnet_")]:
        del sys.modules[name]
