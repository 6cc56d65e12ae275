"""Images and their label masks, in memory or on disk."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

import numpy as np

from lossnet.errors import DataError
from lossnet.tasks.image.disk_pictures import DiskPictures, blocks_of, join_pictures
from lossnet.tasks.parts import digest, own_parts

#: Height and width.
Size = tuple[int, int]
Array = np.ndarray[Any, Any]
#: The class of a pixel whose class is not known.
UNKNOWN = 255
#: The remedy for sizes that do not fit.
RESIZE = "with size= of load_images, --size on the command line"
#: The note on masks that an image program saved as black and white.
BLACK_AND_WHITE = "masks hold 0 and 255, taken as the classes 0 and 1"


@dataclass(frozen=True, eq=False, repr=False)
class ImageData:
    """Images of one size, and where known the class of every pixel.

    images (n, H, W, channels) uint8 or float32; masks (n, H, W) int64, classes from 0. Those of
    large folders are :class:`~lossnet.tasks.image.disk_pictures.DiskPictures`: they stay on disk,
    and are decoded when they are needed.

    Args:
        images: an array, or one per picture; grey ones may lack the last axis. uint8 stands for
            0 to 1 in steps of 1/255; other numbers are taken as they are and must be finite.
        masks: integers from 0; None where they are not known. Masks of nothing but 0 and 255 are
            taken as 0 and 1, with a note; otherwise 255 is a pixel whose class is not known, unless
            there are 256 classes.
        names: what each image is called; their numbers where None.
        name: what to call the data set.
        notes: what a reader did that a user should know.
        sizes: height and width that each picture had before it was resized; None where they were
            taken as they are.
        white: the grey value that became 255 where pictures had more than 8 bits; None of others.
    """

    images: Any
    masks: Any = None
    names: list[str] = None  # type: ignore[assignment]  # never None once built
    name: str = "data"
    notes: list[str] = field(default_factory=list)
    sizes: list[Size] | None = None
    white: int | None = None

    def __post_init__(self) -> None:
        count = len(self.images) if hasattr(self.images, "__len__") else 0
        names = [str(n) for n in range(count)] if self.names is None else list(self.names)
        if len(names) != count:
            counts = f"{count} images and {len(names)} names"
            raise DataError(f"{self.name}: {counts}; counts must match")
        self._put(names=names)
        if not isinstance(self.images, DiskPictures):  # which are checked when they are opened
            if self.masks is not None:
                _check_pairs(self.images, self.masks, names, self.name)
            self._put(images=_images(self.images, names, self.name))
            if self.masks is not None:
                self._put(masks=checked_masks(self.masks, names, self.name))
        if self.masks is not None:
            values = self.mask_values
            if values.max() == 255 and bool(((values == 0) | (values == 255)).all()):
                self._put(masks=_two_classes(self.masks), notes=[*self.notes, BLACK_AND_WHITE])

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.images.shape[1:]))
        masks = f"{self.classes} classes" if self.labelled else "without masks"
        return f"ImageData({self.name!r}, {len(self)} images of {shape}, {masks})"

    def _put(self, **values: Any) -> Self:
        for name, value in values.items():
            object.__setattr__(self, name, value)
        return self

    def _with(self, **values: Any) -> Self:
        """A copy with other values; built anew, 256 classes could pass for black and white."""
        return copy.copy(self)._put(**{"notes": list(self.notes), **values})

    def __len__(self) -> int:
        return len(self.images)

    @property
    def size(self) -> Size:
        """Height and width."""
        return int(self.images.shape[1]), int(self.images.shape[2])

    @property
    def channels(self) -> int:
        """1 of grey images, 3 of coloured ones."""
        return int(self.images.shape[3])

    @property
    def classes(self) -> int:
        """How many classes the masks' largest number implies, at least 2.

        255 is not known, and no class, unless 254 is one.
        """
        if self.masks is None:
            return 2
        values = self.mask_values
        largest = int(values.max())
        if largest == UNKNOWN and not (values == UNKNOWN - 1).any():
            largest = int(values.max(where=values != UNKNOWN, initial=0))
        return max(2, largest + 1)

    @property
    def mask_values(self) -> Array:
        """The masks; of those on disk the different values, once each."""
        if isinstance(self.masks, DiskPictures):
            return np.unique(np.concatenate(self.masks.values))
        return np.asarray(self.masks)

    def n_unknown(self, classes: int) -> int:
        """Number of pixels whose class is not known, where there are so many classes."""
        if self.masks is None or classes > UNKNOWN or UNKNOWN not in self.mask_values:
            return 0
        return sum(int((masks == UNKNOWN).sum()) for masks in blocks_of(self.masks))

    @property
    def labelled(self) -> bool:
        """Whether there are masks."""
        return self.masks is not None

    @property
    def groups(self) -> None:
        """No images belong together."""
        return

    def floats(self) -> Array:
        """The images as float32, uint8 divided by 255."""
        if self.images.dtype == np.uint8:
            found: Array = self.images.astype(np.float32) / np.float32(255.0)
            return found
        return np.asarray(self.images)

    def subset(self, rows: Any) -> Self:
        """The given images (indices, a slice or a mask of booleans), in the order given."""
        index = np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows)]
        if not len(index):
            raise DataError(f"{self.name}: a subset must have at least one image")
        return self._with(
            images=self.images[index],
            masks=None if self.masks is None else self.masks[index],
            names=[self.names[k] for k in index],
            sizes=None if self.sizes is None else [self.sizes[k] for k in index],
        )

    def without_labels(self) -> Self:
        """The images without their masks."""
        return self._with(masks=None)

    @classmethod
    def join(cls, parts: Mapping[str, Self]) -> Self:
        """The images of several parts, each named after its part: ``train/a``.

        Training, validation and test come first, in this order, then parts of other names.
        """
        rows = own_parts(parts) | dict(parts)
        members = list(rows.values())
        first = members[0]
        if any((d.size, d.channels) != (first.size, first.channels) for d in members):
            raise DataError(f"the parts of {first.name} have images of different sizes or channels")
        same = len({data.images.dtype for data in members}) == 1
        masks = [data.masks for data in members if data.masks is not None]
        sizes = [data.sizes for data in members if data.sizes is not None]
        return first._with(
            images=join_pictures([d.images if same else d.floats() for d in members]),
            masks=join_pictures(masks) if len(masks) == len(members) else None,
            names=[f"{part}/{name}" for part, data in rows.items() for name in data.names],
            notes=list(dict.fromkeys(note for data in members for note in data.notes)),
            sizes=[one for size in sizes for one in size] if len(sizes) == len(members) else None,
            white=next((data.white for data in members if data.white is not None), None),
        )

    def checksum(self) -> str:
        """SHA-256, in hex, of images and masks."""
        given = [one for one in (self.images, self.masks) if one is not None]
        return digest(*chain.from_iterable(map(blocks_of, given)))


def known_pixels(masks: Array | None, classes: int) -> Array | None:
    """Which pixels' classes are known; None where all are. 255 is no class of fewer than 256."""
    if classes > UNKNOWN or masks is None:
        return None
    known: Array = masks != UNKNOWN
    return None if known.all() else known


def known_rows(masks: Any, classes: int, *, every: bool) -> Array | None:
    """Which masks have some known pixel, or with ``every`` nothing else; None where all do.

    Of masks on disk the values are known.
    """
    if isinstance(masks, DiskPictures) and classes <= UNKNOWN:
        unknown = [values == UNKNOWN for values in masks.values]
        if not any(one.any() for one in unknown):
            return None
        return np.array([not (one.any() if every else one.all()) for one in unknown])
    known = known_pixels(masks, classes)
    if known is None:
        return None
    return np.asarray(known.all((1, 2)) if every else known.any((1, 2)))


def _two_classes(masks: Any) -> Any:
    """Masks of 0 and 255 as masks of 0 and 1."""
    if isinstance(masks, DiskPictures):
        return masks.replaced([*map(_as_bits, masks.values)], _as_bits)
    return _as_bits(masks)


def _as_bits(values: Array) -> Array:
    return (values == 255).astype(np.int64)


def _check_pairs(images: Any, masks: Any, names: list[str], name: str) -> None:
    """Raise unless every image has a mask of its own size."""
    if len(images) != len(masks):
        raise DataError(f"{name}: {len(images)} images and {len(masks)} masks; counts must match")
    for label, image, mask in zip(names, images, masks, strict=True):
        sizes = np.shape(image)[:2], np.shape(mask)[:2]
        if sizes[0] != sizes[1]:
            own, other = (" x ".join(map(str, size)) or "a single number" for size in sizes)
            what = f"{name}: image {label!r} is {own} and its mask {other} (height x width)"
            raise DataError(f"{what}; masks must have their images' size")


def _stack(values: Any, names: list[str], what: str, name: str) -> Any:
    """One array of pictures, or an error that names the first of another size."""
    if not isinstance(values, np.ndarray):
        pictures = [np.asarray(value) for value in values]
        check_one_size([picture.shape for picture in pictures], names, what, name)
        values = np.stack(pictures) if pictures else np.empty(0)
    if values.dtype.kind not in "biuf":
        raise DataError(f"{name}: {what}s have dtype {values.dtype}; expected numbers")
    return values


def check_one_size(shapes: Sequence[Any], names: list[str], what: str, name: str) -> None:
    """Raise for the first picture of another shape than the first one."""
    for label, shape in zip(names, shapes, strict=True):
        if shape != shapes[0]:
            found = f"{label!r} has shape {shape} and {names[0]!r} {shapes[0]}"
            rule = f"{what}s must have one size: resize pictures when they are read, {RESIZE}"
            raise DataError(f"{name}: {what} {found}; {rule}")


def _images(given: Any, names: list[str], name: str) -> Array:
    images = _stack(given, names, "image", name)
    images = images[..., None] if images.ndim == 3 else images
    if images.ndim != 4 or 0 in images.shape:
        expected = "expected (n, H, W) or (n, H, W, channels) with at least one of each"
        raise DataError(f"{name}: images have shape {np.shape(given)}; {expected}")
    if images.dtype == np.uint8:
        return np.asarray(images)
    images = images.astype(np.float32)
    finite = np.isfinite(images).all((1, 2, 3))
    if not finite.all():
        label = names[int(np.argmin(finite))]
        raise DataError(f"{name}: image {label!r} holds NaN or infinity; expected finite numbers")
    return np.asarray(images)


def checked_masks(given: Any, names: list[str], name: str) -> Array:
    """Masks as an array of int64; an error where one holds anything but numbers of classes."""
    masks = _stack(given, names, "mask", name)
    if masks.ndim != 3:
        raise DataError(f"{name}: masks have shape {masks.shape}; expected (n, H, W)")
    classes = masks.astype(np.int64)
    good = (classes == masks) & (classes >= 0)
    if not good.all():
        row, down, right = np.argwhere(~good)[0]
        what = f"has {masks[row, down, right]} at row {down}, column {right}"
        rule = "expected the number of a class, an integer from 0"
        raise DataError(f"{name}: mask {names[row]!r} {what}; {rule}")
    return np.asarray(classes)
