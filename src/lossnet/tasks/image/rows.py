"""Images for a trained model."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from lossnet.errors import DataError
from lossnet.tasks.image.folders import joined_images, split_images
from lossnet.tasks.image.images import ImageData
from lossnet.tasks.image.parts import read
from lossnet.tasks.image.picture_files import is_picture
from lossnet.tasks.task import Rows, once, part_of, same_source, trained_on


@dataclass(frozen=True)
class Known:
    """What a model knows of the data it was trained on.

    Args:
        size: what pictures were resized to; None where they were taken as they are.
        train_checksum: of the training part; None where the model was saved without.
        source: the data that training was given; None where the model was saved without.
        white: the grey value that became 255 in training; None of pictures of 8 bits.
    """

    size: tuple[int, int] | None = None
    train_checksum: str | None = None
    source: str | None = None
    white: int | None = None


def load_labelled(args: argparse.Namespace, known: Known) -> Rows:
    """The images to evaluate a model on.

    Without ``--split``: the test part of a source that has parts, or that the model's own training
    part was cut from; else all images.
    """
    parts = _read(args, known)
    split = args.split or _own_split(parts, known)
    data = _chosen(parts, split, args.data)
    if data.masks is None:
        raise DataError(f"{args.data} has no masks, which evaluation needs; see lossnet predict")
    notes = trained_on(
        "images",
        split,
        same=data.checksum() == known.train_checksum,
        given=same_source(known.source, args.data),
        part=_is_own(parts, known),
        divided="" in parts,
    )
    return Rows(data, len(data), split, [*data.notes, *notes])


def load_unlabelled(args: argparse.Namespace, known: Known) -> Rows:
    """The images to predict, whether or not there are masks."""
    # A damaged mask is no reason to leave its picture out, save where a part is to be cut just as
    # training cut it.
    parts = _read(args, known, with_masks=args.split != "all")
    data = _chosen(parts, args.split, args.data)
    return Rows(data, len(data), args.split, data.notes)


def _read(
    args: argparse.Namespace, known: Known, *, with_masks: bool = True
) -> dict[str, ImageData]:
    """The parts, pictures resized as the options tell or as in training; arrays as they are."""
    size = args.size
    path = Path(args.data).expanduser()
    if size is None and (is_picture(path) or path.is_dir()):
        size = known.size
    return once(
        args,
        (size, known.white),
        lambda: read(args.data, size, with_masks=with_masks, white=known.white),
    )


def _own_split(parts: dict[str, ImageData], known: Known) -> str:
    if "" not in parts:
        return "test" if "test" in parts else "all"
    return "test" if _is_own(parts, known) else "all"


def _is_own(parts: dict[str, ImageData], known: Known) -> bool:
    """Whether the model was trained on the training part of these."""
    if known.train_checksum is None or ("" in parts and len(parts[""]) < 3):
        return False
    train = split_images(parts[""]).train if "" in parts else parts.get("train")
    return train is not None and train.checksum() == known.train_checksum


def _chosen(parts: dict[str, ImageData], split: str, source: str) -> ImageData:
    if split == "all":
        return joined_images(parts)
    found = split_images(parts[""]).parts() if "" in parts else parts.items()
    return part_of(found, split, source, "images")
