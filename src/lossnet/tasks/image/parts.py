"""Images to train on: their parts, and what is told of them."""

from __future__ import annotations

import argparse
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lossnet.errors import DataError
from lossnet.plain_text import counted, some
from lossnet.tasks.image.folders import ImageSplits, joined_images, load_image_parts, split_images
from lossnet.tasks.image.images import ImageData
from lossnet.tasks.image.picture_files import DamagedImageWarning

#: More classes than these are not listed in one line.
LISTED = 8


@dataclass(frozen=True)
class SegmentedParts(ImageSplits):
    """The parts, and the classes that ``--classes`` tells."""

    classes: int | list[str] | None = None

    @property
    def class_names(self) -> list[str]:
        """The names told, else the numbers of the classes that training has."""
        return names_of(self.classes, self.train)


def read(
    source: str,
    size: tuple[int, int] | None,
    *,
    with_masks: bool = True,
    white: int | None = None,
) -> dict[str, ImageData]:
    """The parts by name, or all data under the empty one; damaged pictures are in the notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedImageWarning)
        return load_image_parts(source, size=size, with_masks=with_masks, white=white)


def load_parts(args: argparse.Namespace) -> SegmentedParts:
    """The parts to train, validate and test on, all with masks.

    Data without parts is divided 60/20/20, always the same way; where validation or test data
    are given, all of it is for training.
    """
    given = {part: getattr(args, part, None) for part in ("validation", "test")}
    parts = read(args.data, args.size)
    if "" in parts:
        _check_masks(parts[""], args.data)
        parts = (
            {"train": parts[""]} if any(given.values()) else dict(split_images(parts[""]).parts())
        )
    if "train" not in parts:
        raise DataError(f"{args.data} has no training part; it has {', '.join(sorted(parts))}")
    for part, other in given.items():
        if other is not None:
            parts[part] = joined_images(read(other, args.size, white=parts["train"].white))
            _check_masks(parts[part], other)
    if "test" in parts and parts["test"].masks is None:
        # Where the parts are folders, test/ often holds what is to be predicted.
        left = f"the test part of {args.data} has no masks and is left out; see lossnet predict"
        parts["train"] = replace(parts["train"], notes=[*parts["train"].notes, left])
        del parts["test"]
    for part, data in parts.items():
        _check_masks(data, f"the {part} part of {args.data}")
    return SegmentedParts(**parts, classes=args.classes)


def _check_masks(data: ImageData, what: str) -> None:
    if data.masks is None:
        raise DataError(
            f"{what} has no masks; give images/ and masks/ with the same names, a.png beside "
            "a_mask.png, or in an .npz file images and masks"
        )


def check_parts(model: Any, splits: ImageSplits) -> None:
    """Raise where the model to be trained could not take one of the parts."""
    from lossnet.tasks.image.pixels import check_fits, crop_of, named_classes

    train = splits.train
    classes, crop = named_classes(model.classes, train), crop_of(model.crop, train.size)
    for part, data in splits.parts():
        what = f"the {part} part ({data.name})"
        check_fits(data, channels=train.channels, crop=crop, classes=classes, what=what)


def names_of(classes: int | list[str] | None, data: ImageData) -> list[str]:
    """The classes' names, or their numbers; as many as are told or the masks have."""
    named = classes if isinstance(classes, list) else []
    count = max(classes if isinstance(classes, int) else len(named), data.classes)
    return [*named, *(str(number) for number in range(len(named), count))]


def shares(data: ImageData, classes: int) -> Any:
    """The share of pixels of each class, ``(classes,)``."""
    assert data.masks is not None
    return np.bincount(data.masks.reshape(-1), minlength=classes) / data.masks.size


def sizes(splits: SegmentedParts) -> str:
    """Counts of a data set, for one line."""
    train, names = splits.train, splits.class_names
    told = ", ".join(f"{len(data):,} {part}" for part, data in splits.parts())
    text = (
        f"{told} images of {train.size[0]} x {train.size[1]}, "
        f"{counted(train.channels, 'channel')}, {counted(len(names), 'class', 'classes')}"
    )
    if len(names) > LISTED:
        return text
    found = shares(train, len(names))
    listed = (f"{name} {100 * share:.1f} %" for name, share in zip(names, found, strict=True))
    return f"{text} ({', '.join(listed)} of the training pixels)"


def notes_on(splits: SegmentedParts) -> list[str]:
    """The reader's notes, each once, and classes that no training mask has."""
    notes = list(dict.fromkeys(note for _, data in splits.parts() for note in data.notes))
    names = splits.class_names
    absent = [
        n for n, share in zip(names, shares(splits.train, len(names)), strict=True) if not share
    ]
    if absent:
        notes.append(
            f"no training mask has the class{'' if len(absent) == 1 else 'es'} {some(absent)}"
        )
    return notes
