"""Images, their size, and the shares of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lossnet.plain_text import aligned, counted
from lossnet.tasks.image.folders import joined_images
from lossnet.tasks.image.images import ImageData
from lossnet.tasks.image.parts import names_of, shares
from lossnet.tasks.parts import PARTS


def describe(parts: Mapping[str, ImageData], *, classes: Any, top: int) -> str:
    """The description of a data set: all its images, and its parts where it has such."""
    whole = joined_images(parts)
    told = ", ".join(f"{len(parts[part]):,} {part}" for part in PARTS if part in parts)
    names = names_of(classes, whole)
    lines = [
        ["images", f"{len(whole):,} ({told})" if told else f"{len(whole):,}"],
        ["size", f"{whole.size[0]} x {whole.size[1]} (height x width)"],
        ["channels", f"{whole.channels}"],
        *(_foreground(whole) if whole.masks is not None else [["masks", "none"]]),
        *([["classes", f"{len(names):,}"]] if whole.masks is not None else []),
        ["checksum", whole.checksum()[:16]],
    ]
    blocks = ["\n".join([whole.name, aligned(lines), *(f"note: {n}" for n in whole.notes)])]
    if whole.masks is not None:
        blocks.append(f"commonest classes\n{_classes(whole, names, top)}")
    return "\n\n".join(blocks)


def _foreground(data: ImageData) -> list[list[str]]:
    """The share of pixels that are no background, over images, and images that have none."""
    share = (np.asarray(data.masks) > 0).mean((1, 2))
    low, mean, high = 100 * share.min(), 100 * share.mean(), 100 * share.max()
    return [
        ["foreground", f"{mean:.1f} % of an image's pixels, from {low:.1f} to {high:.1f} %"],
        ["without foreground", counted(int((share == 0).sum()), "image")],
    ]


def _classes(data: ImageData, names: list[str], top: int) -> str:
    found = shares(data, len(names))
    lines = [["class", "pixels", "images"]]
    for number in np.argsort(-found, kind="stable")[:top]:
        images = int((np.asarray(data.masks) == number).any((1, 2)).sum())
        lines.append([names[number], f"{100 * found[number]:.1f} %", f"{images:,}"])
    return aligned(lines, right=(1, 2))
