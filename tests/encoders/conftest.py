"""A tiny random encoder for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

from lossnet.encoders import Pretrained
from lossnet.testing.encoders import write_tiny_encoder


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> Pretrained:
    return Pretrained.load(tiny_folder)
