"""Images in words: how many, their size, and the shares of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lossnet.plain_text import counted, some
from lossnet.tasks.description import Description, Listing
from lossnet.tasks.image.disk_pictures import blocks_of
from lossnet.tasks.image.images import ImageData, known_pixels
from lossnet.tasks.parts import PARTS

#: More classes than these are not listed in one line.
LISTED = 8


def class_shares(data: ImageData, classes: int | list[str] | None) -> list[tuple[str, float]]:
    """Share of known pixels by class.

    Names are as declared, else numbers, as many as declared or masked.
    """
    assert data.masks is not None
    named = classes if isinstance(classes, list) else []
    count = max(classes if isinstance(classes, int) else len(named), data.classes)
    names = [*named, *(str(number) for number in range(len(named), count))]
    pixels = np.zeros(count, dtype=np.int64)
    for masks in blocks_of(data.masks):
        known = known_pixels(masks, count)
        pixels += np.bincount(masks.reshape(-1) if known is None else masks[known], minlength=count)
    return list(zip(names, (pixels / max(pixels.sum(), 1)).tolist(), strict=True))


def size_and_classes(data: ImageData, classes: int | list[str] | None) -> str:
    """The images' size and channels, and the shares of their classes, for one line."""
    shares = class_shares(data, classes)
    size, classes_text = (
        f"{data.size[0]} x {data.size[1]}",
        counted(len(shares), "class", "classes"),
    )
    text = f"of {size}, {counted(data.channels, 'channel')}, {classes_text}"
    if len(shares) > LISTED:
        return text
    listed = ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares)
    return f"{text} ({listed} of the training pixels)"


def absent_classes(data: ImageData, classes: int | list[str] | None) -> list[str]:
    """A note on classes that no training mask has."""
    absent = [name for name, share in class_shares(data, classes) if not share]
    several = "es" if len(absent) > 1 else ""
    return [f"no training mask has the class{several} {some(absent)}"] if absent else []


def describe(data: ImageData, parts: Mapping[str, Any], *, classes: Any, top: int) -> Description:
    """The description of all images of a data set, and of its parts where it has any."""
    counts = ", ".join(f"{len(parts[part]):,} {part}" for part in PARTS if part in parts)
    lines = [["images", f"{len(data):,} ({counts})" if counts else f"{len(data):,}"]]
    lines.append(["size", f"{data.size[0]} x {data.size[1]} (height x width)"])
    lines.append(["channels", f"{data.channels}"])
    listings, shares = [], []
    if data.masks is None:
        lines.append(["masks", "none"])
    else:
        shares = class_shares(data, classes)
        masks = np.asarray(data.masks)
        known = known_pixels(masks, len(shares))
        front = 100 * ((masks > 0) & (True if known is None else known)).mean((1, 2))
        share = f"{front.mean():.1f} % of an image's pixels"
        lines.append(["foreground", f"{share}, from {front.min():.1f} to {front.max():.1f} %"])
        lines.append(["without foreground", counted(int((front == 0).sum()), "image")])
        lines.append(["classes", f"{len(shares):,}"])
        if known is not None:
            lines.append(["not known", f"{100 * (1 - known.mean()):.1f} % of the pixels"])
        rows = [["class", "pixels", "images"]]
        for number in sorted(range(len(shares)), key=lambda k: -shares[k][1])[:top]:
            images = int((masks == number).any((1, 2)).sum())
            rows.append([shares[number][0], f"{100 * shares[number][1]:.1f} %", f"{images:,}"])
        listings.append(Listing("commonest classes", rows, (1, 2)))
    lines.append(["checksum", data.checksum()[:16]])
    frequencies = {"classes": {name: 100 * share for name, share in shares}} if shares else {}
    return Description(data.name, lines, data.notes, listings, frequencies)
