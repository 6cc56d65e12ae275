"""Picture files of images and masks; Pillow is loaded only to read or write them."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lossnet.errors import DataError, LossnetError
from lossnet.files import atomic_write
from lossnet.tasks.image.images import Array, Size

#: The commonest of the suffixes that Pillow reads.
COMMON_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff"})
#: Largest grey values of 8, 12 and 16 bits.
WHITES = (255, 4095, 65535)
#: How the name of a mask ends where it lies next to its image.
MASK_SUFFIX = "_mask"
#: Colours of the first classes; :func:`palette` has those of all.
COLOURS = ((0, 0, 0), (255, 255, 255), (198, 40, 40), (21, 101, 192), (46, 125, 50), (249, 168, 37))


class DamagedImageWarning(UserWarning):
    """A picture could not be read; its pair is left out."""


class MissingPillowError(LossnetError, ImportError):
    """A picture file was to be read or written where Pillow is not installed."""


@cache
def palette() -> Array:
    """The colours of 256 classes, (256, 3) uint8: each as far as can be from all before it."""
    levels = np.linspace(0, 255, 8).round()
    grid = np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), -1).reshape(-1, 3)
    colours = [np.array(colour, dtype=float) for colour in COLOURS]
    nearest = np.min([np.linalg.norm(grid - colour, axis=1) for colour in colours], 0)
    while len(colours) < 256:
        colours.append(grid[nearest.argmax()])
        nearest = np.minimum(nearest, np.linalg.norm(grid - colours[-1], axis=1))
    return np.array(colours, dtype=np.uint8)


def is_picture(path: Path) -> bool:
    """Whether a file's name is that of a picture that Pillow reads."""
    suffix = path.suffix.lower()
    return path.name[0] != "." and (suffix in COMMON_SUFFIXES or suffix in _suffixes())


@cache
def _suffixes() -> frozenset[str]:
    """Every suffix that Pillow reads; the commonest where Pillow is not installed."""
    try:
        image = _pillow()
    except MissingPillowError:
        return COMMON_SUFFIXES
    kinds = image.registered_extensions()
    return frozenset(suffix for suffix, kind in kinds.items() if kind in _kinds())


@cache
def _kinds() -> tuple[str, ...]:
    """What Pillow reads, except EPS: Ghostscript would run the program in it."""
    image = _pillow()
    image.init()
    return tuple(kind for kind in image.OPEN if kind != "EPS")


class DamagedError(Exception):
    """A picture that cannot be read."""

    def __init__(self, path: Path, reason: Exception | str) -> None:
        super().__init__(f"{path} cannot be read ({reason})")
        self.path = path


class Picture(NamedTuple):
    """Pixels (H, W) or (H, W, 3) of a file, which may have been resized.

    ``depth`` has the least and the largest value of grey pixels of more than 8 bits, which are yet
    to be scaled; None of others.
    """

    path: Path
    pixels: Array
    own_size: Size
    depth: tuple[int, int] | None = None


def open_picture(path: Path, size: Size | None, *, mask: bool = False) -> Picture:
    """The pixels of a picture; those of a mask are classes, and are resized as such."""
    image = _pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", image.DecompressionBombWarning)
            with image.open(path, formats=_kinds()) as picture:
                picture.load()
    except (image.DecompressionBombWarning, image.DecompressionBombError) as error:
        most = f"it has more than {image.MAX_IMAGE_PIXELS:,} pixels; make it smaller"
        raise DamagedError(path, most) from error
    except Exception as error:  # Pillow raises what the decoder raises
        raise DamagedError(path, error) from error
    own, depth = (picture.height, picture.width), None
    if mask:
        picture = _as_mask(picture, path)
    elif picture.mode.startswith("I"):
        values = np.asarray(picture)
        depth = (int(values.min()), int(values.max()))
        # Resized as floating-point numbers, which lose nothing.
        picture = picture if size is None else image.fromarray(values.astype(np.float32))
    else:
        picture = _as_bytes(picture, path)
    if size is not None:
        way = image.Resampling.NEAREST if mask else image.Resampling.BILINEAR
        picture = picture.resize((size[1], size[0]), way)
    return Picture(path, np.asarray(picture), own, depth)


def white_of(pictures: Iterable[Picture]) -> int | None:
    """What counts as white: the least of :data:`WHITES` that no value exceeds; None of 8 bits."""
    highest = [picture.depth[1] for picture in pictures if picture.depth is not None]
    if not highest:
        return None
    return next((white for white in WHITES if max(highest) <= white), WHITES[-1])


def as_bytes(picture: Picture, white: int | None) -> Array:
    """The pixels from 0 to 255; grey values of more than 8 bits are scaled from 0 to ``white``."""
    if picture.depth is None or white is None:
        return picture.pixels
    low, high = picture.depth
    if low < 0 or high > white:
        raise _out_of_range(picture.path, low, high, f"0 to {white} of integers")
    return np.rint(picture.pixels / (white / 255.0)).astype(np.uint8)


def _as_bytes(picture: Any, path: Path) -> Any:
    """The picture in grey or colours of 8 bits."""
    if picture.mode in ("L", "RGB"):
        return picture
    if picture.mode != "F":
        return picture.convert("L" if picture.mode in ("1", "LA") else "RGB")
    values = np.asarray(picture)
    low, high = values.min(), values.max()
    if not (low >= 0 and high <= 1):
        raise _out_of_range(path, low, high, "0 to 1 of floating-point numbers")
    return _pillow().fromarray(np.rint(values * 255.0).astype(np.uint8))


def _out_of_range(path: Path, low: Any, high: Any, expected: str) -> DataError:
    remedy = "scale them, or put the images in an .npz file as arrays, which are taken as they are"
    return DataError(f"{path} has values from {low} to {high}; expected {expected}: {remedy}")


def _as_mask(picture: Any, path: Path) -> Any:
    """The picture whose values are the classes; colours that are shades of grey count as grey."""
    if picture.format in ("JPEG", "MPO"):
        what = f"{path} is a mask in a JPEG file"
        raise DataError(f"{what}, which keeps values only roughly; save masks as PNG")
    if picture.mode in ("1", "L", "P", "I") or picture.mode.startswith("I;16"):
        return picture
    if picture.mode in ("LA", "PA"):
        return picture.getchannel(0)
    if picture.mode in ("RGB", "RGBA"):
        red, green, blue = (np.asarray(picture.getchannel(name)) for name in "RGB")
        if np.array_equal(red, green) and np.array_equal(red, blue):
            return picture.getchannel("R")
    kind = "of floating-point numbers" if picture.mode == "F" else "in colours"
    rule = "expected a grey or palette picture whose values are the classes"
    raise DataError(f"{path} is a mask {kind} (mode {picture.mode}); {rule}")


def write_masks(
    folder: str | Path,
    masks: Array,
    names: Sequence[str] | None = None,
    *,
    sizes: Sequence[Size] | None = None,
) -> list[Path]:
    """Write masks ``(n, H, W)`` as PNG pictures whose palette index is the class.

    Args:
        folder: made where it does not exist.
        masks: classes from 0 to 255.
        names: of the pictures, without a suffix, ``part/name`` in a folder of its own; their
            numbers where None.
        sizes: height and width to write each mask at, as ``data.sizes`` has them of pictures that
            were resized; a pixel takes the class of the one it falls on. None writes them as they
            are.
    """
    image = _pillow()
    names = [str(number) for number in range(len(masks))] if names is None else list(names)
    sizes = [np.shape(mask) for mask in masks] if sizes is None else list(sizes)
    _check_names(names, sizes, len(masks), Path(folder))
    checked = [_as_indices(mask, name) for mask, name in zip(masks, names, strict=True)]
    colours = palette().reshape(-1).tolist()
    written = []
    for name, mask, (height, width) in zip(names, checked, sizes, strict=True):
        picture = image.fromarray(mask).resize((width, height), image.Resampling.NEAREST)
        # All 256: with a shorter palette Pillow would save fewer bits per pixel.
        picture.putpalette(colours)
        path = Path(folder) / f"{name}.png"
        written.append(atomic_write(path, partial(picture.save, format="PNG")))
    return written


def _check_names(names: Sequence[str], sizes: Sequence[Any], count: int, folder: Path) -> None:
    """Raise unless every mask has a file of its own in the folder, and a size."""
    for given, what in ((names, "names"), (sizes, "sizes")):
        if len(given) != count:
            raise DataError(f"{count} masks and {len(given)} {what}; counts must match")
    for name, times in Counter(map(Path, names)).items():
        if name.is_absolute() or ".." in name.parts:
            raise DataError(f"mask '{name}' would not lie in {folder}; use a name without a path")
        if times > 1:
            raise DataError(f"two masks are named '{name}'; names must differ")


def _as_indices(mask: Any, name: str) -> Array:
    """A mask as uint8, or an error where that would change it."""
    given = np.asarray(mask)
    if given.ndim != 2 or given.dtype.kind not in "biuf":
        what = f"mask {name!r} has shape {given.shape} and dtype {given.dtype}"
        raise DataError(f"{what}; expected (H, W) numbers")
    wrong = given[~((given >= 0) & (given <= 255) & (given == np.floor(given)))]
    if wrong.size:
        what = f"mask {name!r} has {wrong[0]}; a PNG mask holds classes, integers from 0 to 255"
        raise DataError(f"{what}: pass what predict gives, keep anything else in an .npz file")
    return given.astype(np.uint8)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        remedy = "picture files need Pillow, which is not installed: pip install 'lossnet[image]'"
        raise MissingPillowError(remedy) from error
    return Image
