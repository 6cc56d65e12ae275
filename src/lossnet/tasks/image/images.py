"""Images and their label masks in memory."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lossnet.errors import DataError

#: The note on masks that an image program saved as black and white.
BLACK_AND_WHITE = "masks hold 0 and 255, taken as the classes 0 and 1"


@dataclass(frozen=True, eq=False)
class ImageData:
    """Images of one size, and where known the class of every pixel.

    images (n, H, W, channels) uint8 or float32; masks (n, H, W) int64, classes from 0.

    Args:
        images: an array, or one a picture; grey ones may lack the last axis. uint8 stands for
            0 to 1 in steps of 1/255; other numbers are taken as they are and must be finite.
        masks: whole numbers from 0; None where they are not known. Masks of nothing but 0 and 255
            are taken as 0 and 1, with a note.
        names: what each image is called; their numbers where None.
        name: what to call the data set.
        notes: what a reader did that a user should know.
        sizes: height and width that each picture had before it was resized; None where they were
            taken as they are.
        white: the grey value that became 255 where pictures had more than 8 bits; None of others.
    """

    images: np.ndarray[Any, Any]
    masks: np.ndarray[Any, Any] | None = None
    names: list[str] = None  # type: ignore[assignment]  # never None once built
    name: str = "data"
    notes: list[str] = field(default_factory=list)
    sizes: list[tuple[int, int]] | None = None
    white: int | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        count = len(self.images) if hasattr(self.images, "__len__") else 0
        names = [str(n) for n in range(count)] if self.names is None else list(self.names)
        if len(names) != count:
            raise DataError(f"{self.name}: {count} images and {len(names)} names; give one each")
        put(self, "names", names)
        if self.masks is not None:
            _check_pairs(self.images, self.masks, names, self.name)
        put(self, "images", _images(self.images, names, self.name))
        if self.masks is not None:
            masks = _masks(self.masks, names, self.name)
            if _is_black_and_white(masks):
                masks = (masks == 255).astype(np.int64)
                put(self, "notes", [*self.notes, BLACK_AND_WHITE])
            put(self, "masks", masks)

    def __len__(self) -> int:
        return len(self.images)

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return int(self.images.shape[1]), int(self.images.shape[2])

    @property
    def channels(self) -> int:
        """1 of grey images, 3 of coloured ones."""
        return int(self.images.shape[3])

    @property
    def classes(self) -> int:
        """How many classes the masks' largest number asks for, 2 or more."""
        return 2 if self.masks is None else max(2, int(self.masks.max()) + 1)

    def floats(self) -> np.ndarray[Any, Any]:
        """The images as float32, uint8 divided by 255."""
        if self.images.dtype == np.uint8:
            return self.images.astype(np.float32) / np.float32(255.0)
        return self.images

    def subset(self, rows: Sequence[int] | np.ndarray[Any, Any]) -> ImageData:
        """The given images (indices or a mask of booleans), in the order given."""
        index = np.arange(len(self))[np.asarray(rows)]
        if not len(index):
            raise DataError(f"{self.name}: a subset of no images; give one at least")
        # A copy: built anew, some images of 256 classes could pass for black and white ones.
        part, put = copy.copy(self), object.__setattr__
        put(part, "images", self.images[index])
        put(part, "masks", None if self.masks is None else self.masks[index])
        put(part, "names", [self.names[k] for k in index])
        put(part, "notes", list(self.notes))
        put(part, "sizes", None if self.sizes is None else [self.sizes[k] for k in index])
        return part

    def checksum(self) -> str:
        """SHA-256, in hex, of images and masks."""
        digest = hashlib.sha256(np.ascontiguousarray(self.images).tobytes())
        if self.masks is not None:
            digest.update(np.ascontiguousarray(self.masks).tobytes())
        return digest.hexdigest()


def _check_pairs(images: Any, masks: Any, names: list[str], name: str) -> None:
    """Raise unless every image has a mask of its own size."""
    if len(images) != len(masks):
        raise DataError(f"{name}: {len(images)} images and {len(masks)} masks; give one for each")
    for label, image, mask in zip(names, images, masks, strict=True):
        sizes = np.shape(image)[:2], np.shape(mask)[:2]
        if sizes[0] != sizes[1]:
            raise DataError(
                f"{name}: image {label!r} is {_by(sizes[0])} and its mask {_by(sizes[1])} (height "
                "x width); give masks of their images' size"
            )


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape)) or "a single number"


def _stack(values: Any, names: list[str], what: str, name: str) -> Any:
    """One array of pictures, or an error that names the first of another size."""
    if not isinstance(values, np.ndarray):
        pictures = [np.asarray(value) for value in values]
        for label, picture in zip(names, pictures, strict=True):
            if picture.shape != pictures[0].shape:
                raise DataError(
                    f"{name}: {what} {label!r} has shape {picture.shape} and {names[0]!r} "
                    f"{pictures[0].shape}; give {what}s of one size, or resize pictures when they "
                    "are read: size= of load_images, --size on the command line"
                )
        values = np.stack(pictures) if pictures else np.empty(0)
    if values.dtype.kind not in "biuf":
        raise DataError(f"{name}: {what}s have dtype {values.dtype}; expected numbers")
    return values


def _images(given: Any, names: list[str], name: str) -> np.ndarray[Any, Any]:
    images = _stack(given, names, "image", name)
    images = images[..., None] if images.ndim == 3 else images
    if images.ndim != 4 or 0 in images.shape:
        raise DataError(
            f"{name}: images have shape {np.shape(given)}; expected (n, H, W) or (n, H, W, "
            "channels) with at least one of each"
        )
    if images.dtype == np.uint8:
        return np.asarray(images)
    images = images.astype(np.float32)
    finite = np.isfinite(images).all((1, 2, 3))
    if not finite.all():
        raise DataError(
            f"{name}: image {names[int(np.argmin(finite))]!r} holds NaN or infinity; expected "
            "finite numbers"
        )
    return np.asarray(images)


def _masks(given: Any, names: list[str], name: str) -> np.ndarray[Any, Any]:
    masks = _stack(given, names, "mask", name)
    if masks.ndim != 3:
        raise DataError(f"{name}: masks have shape {masks.shape}; expected (n, H, W)")
    whole = masks.astype(np.int64)
    good = (whole == masks) & (whole >= 0)
    if not good.all():
        row, *place = np.argwhere(~good)[0]
        raise DataError(
            f"{name}: mask {names[row]!r} has {masks[row][tuple(place)]} at row {place[0]}, column "
            f"{place[1]}; expected the number of a class, a whole number from 0"
        )
    return np.asarray(whole)


def _is_black_and_white(masks: np.ndarray[Any, Any]) -> bool:
    return masks.size > 0 and masks.max() == 255 and bool(((masks == 0) | (masks == 255)).all())
