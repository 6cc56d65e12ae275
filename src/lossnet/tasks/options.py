"""Types of command-line options that tasks and commands share."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

PICTURES = (".png", ".pdf", ".svg", ".jpg")


def names(text: str) -> list[str]:
    """Comma-separated names."""
    return [name.strip() for name in text.split(",") if name.strip()]


def count_or_names(text: str) -> int | list[str]:
    """An integer, or comma-separated names."""
    try:
        return int(text)
    except ValueError:
        return names(text)


def non_negative(text: str) -> int:
    """An integer of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 0")
    return int(text)


def at_least_one(text: str) -> int:
    """An integer of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer of at least 1")
    return int(text)


def duration(text: str) -> float:
    """Seconds of a time such as 90s, 30m or 1h30m.

    >>> duration("1h30m"), duration("1.5h"), duration("0.5s")
    (5400.0, 5400.0, 0.5)
    """
    number = r"(\d+(?:\.\d+)?)"
    found = re.fullmatch(rf"(?:{number}h)?(?:{number}m)?(?:{number}s)?", text)
    counts = [float(count or 0) for count in found.groups()] if found else [0.0, 0.0, 0.0]
    seconds = 3600 * counts[0] + 60 * counts[1] + counts[2]
    if not seconds:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 90s, 30m or 1h30m")
    return seconds


def probability(text: str) -> float:
    """A number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return value


def picture(text: str) -> str:
    """The name of a picture to write."""
    if Path(text).suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(PICTURES)}")
    return text


def web_page(text: str) -> str:
    """The name of a page to write."""
    if Path(text).suffix.lower() not in (".html", ".htm"):
        raise argparse.ArgumentTypeError(f"{text!r} does not end in .html")
    return text
