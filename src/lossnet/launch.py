"""What ``torchrun`` says of the processes it started, read without importing torch."""

from __future__ import annotations

import os


def process_count() -> int:
    """How many processes were started together; 1 without a launcher."""
    return _number("WORLD_SIZE", 1)


def process_rank() -> int:
    """The number of this one among them, from 0."""
    return _number("RANK", 0)


def local_rank() -> int:
    """Its number among those of this machine."""
    return _number("LOCAL_RANK", 0)


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else default
