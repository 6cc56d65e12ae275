"""Folders of pictures and masks, and single pictures."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.errors import DataError
from lossnet.tasks.image import disk_pictures, picture_files
from lossnet.tasks.image.disk_pictures import DiskPictures, PictureFiles
from lossnet.tasks.image.images import (
    RESIZE,
    Array,
    ImageData,
    Size,
    check_one_size,
    checked_masks,
)
from lossnet.tasks.image.picture_files import MASK_SUFFIX, DamagedError, Picture, open_picture
from lossnet.tasks.parts import left_out, listed


@dataclass
class _Opened:
    """The pictures of a folder, not yet scaled.

    Where they stay on disk, pixels and masks have their shapes and no memory, and the values of
    the masks are kept.
    """

    pictures: list[Picture] = field(default_factory=list)
    masks: list[Array] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    on_disk: bool = False
    mask_files: list[Path] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)


def read_picture(path: Path, size: Size | None, white: int | None) -> ImageData:
    """One picture, without a mask; an error where it cannot be read."""
    try:
        picture = open_picture(path, size)
    except DamagedError as error:
        raise DataError(f"{error}; choose another picture") from error
    return _assembled(_Opened([picture], names=[path.stem]), size, path.name, white)


def read_folders(
    folders: Mapping[str, Path],
    size: Size | None,
    name: str,
    *,
    with_masks: bool,
    white: int | None,
) -> dict[str, ImageData]:
    """The pictures of each folder of one data set, and their masks where there are any.

    Args:
        folders: the folder of each part, with ``images/`` and ``masks/``, or with pictures.
        size: height and width to resize to.
        name: what to call the data set.
        with_masks: False leaves masks unread, and pictures need none.
        white: what counts as white in grey pictures of more than 8 bits; where None, all folders
            together decide.
    """
    pairs = {part: _pairs(folder, with_masks=with_masks) for part, folder in folders.items()}
    total = sum(len(images) for images, _, _ in pairs.values())
    opened = {part: _open(folders[part], *pairs[part], size, total) for part in folders}
    if white is None:
        pictures = (picture for one in opened.values() for picture in one.pictures)
        white = picture_files.white_of(pictures)
    return {part: _assembled(one, size, name, white) for part, one in opened.items()}


def _open(
    folder: Path,
    images: Mapping[str, Path],
    masks: Mapping[str, Path],
    unused: Sequence[str],
    size: Size | None,
    total: int,
) -> _Opened:
    """The pictures of a folder; the size of the first decides whether the ``total`` is large."""
    opened = _Opened(notes=left_out(folder, unused))
    damaged: list[DamagedError] = []
    for label, file in images.items():
        try:
            picture = open_picture(file, size)
            mask = open_picture(masks[label], size, mask=True).pixels if masks else None
        except DamagedError as error:
            damaged.append(error)
            opened.notes.append(f"{error}; {'the pair' if masks else 'it'} is left out")
            warnings.warn(opened.notes[-1], picture_files.DamagedImageWarning, stacklevel=6)
            continue
        if not opened.pictures:
            pixels = total * prod(picture.pixels.shape[:2])
            opened.on_disk = 3 * pixels >= disk_pictures.ON_DISK
        if mask is not None:
            _check_size(picture, masks[label], mask)
            if opened.on_disk:
                mask = checked_masks([mask], [label], folder.name)[0]
                opened.values.append(np.unique(mask))
                opened.mask_files.append(masks[label])
            opened.masks.append(_hollow(mask) if opened.on_disk else mask)
        if opened.on_disk:
            picture = picture._replace(pixels=_hollow(picture.pixels))
        opened.pictures.append(picture)
        opened.names.append(label)
    if not opened.pictures:
        raise DataError(f"no picture of {folder} can be read: {_reasons(damaged)}")
    return opened


def _check_size(picture: Picture, file: Path, mask: Array) -> None:
    sizes = picture.pixels.shape[:2], mask.shape[:2]
    if sizes[0] != sizes[1]:
        own, other = (f"{height} x {width}" for height, width in sizes)
        what = f"{picture.path} is {own} and {file} {other} (height x width)"
        raise DataError(f"{what}; masks must have their images' size: resize both, {RESIZE}")


def _assembled(opened: _Opened, size: Size | None, name: str, white: int | None) -> ImageData:
    """The data of a folder, scaled; a note has ``white`` where a picture has more than 8 bits."""
    notes = list(opened.notes)
    own = picture_files.white_of(opened.pictures)
    white = own if white is None or own is None else white
    if white is not None:
        notes.append(f"grey values of more than 8 bits are scaled from 0 to {white}")
    keep = _hollow if opened.on_disk else np.asarray
    pixels = [keep(picture_files.as_bytes(picture, white)) for picture in opened.pictures]
    channels = 3 if any(one.ndim == 3 for one in pixels) else 1
    if len({one.ndim for one in pixels}) > 1:
        notes.append("grey pictures among coloured ones are taken as coloured")
        pixels = [keep(_with_channels(one, channels)) for one in pixels]
    images: Any = pixels
    masks: Any = opened.masks or None
    if opened.on_disk:
        check_one_size([one.shape for one in pixels], opened.names, "image", name)
        images, masks = _on_disk(opened, size, white, channels)
    sizes = None if size is None else [picture.own_size for picture in opened.pictures]
    return ImageData(images, masks, opened.names, name, notes, sizes, white)


def _on_disk(
    opened: _Opened, size: Size | None, white: int | None, channels: int
) -> tuple[DiskPictures, DiskPictures | None]:
    """The pictures and the masks of a folder, decoded when they are needed."""

    def decode(path: Path) -> Array:
        pixels = picture_files.as_bytes(_opened_again(path, size), white)
        return _with_channels(pixels, channels)

    def decode_mask(path: Path) -> Array:
        pixels: Array = _opened_again(path, size, mask=True).pixels.astype(np.int64)
        return pixels

    shape = opened.pictures[0].pixels.shape[:2]
    files = PictureFiles([picture.path for picture in opened.pictures], decode)
    images = DiskPictures(files, (*shape, channels))
    if not opened.masks:
        return images, None
    files = PictureFiles(opened.mask_files, decode_mask)
    return images, DiskPictures(files, shape, np.int64, opened.values)


def _opened_again(path: Path, size: Size | None, *, mask: bool = False) -> Picture:
    try:
        return open_picture(path, size, mask=mask)
    except DamagedError as error:
        raise DataError(f"{error}, which it could before; keep it in place while in use") from error


def _with_channels(pixels: Array, channels: int) -> Array:
    """Pixels ``(H, W, channels)``; grey ones are repeated."""
    return pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], channels, 2)


def _hollow(pixels: Array) -> Array:
    """An array of that shape that takes no memory."""
    return np.broadcast_to(np.zeros((), dtype=pixels.dtype), pixels.shape)


def _pairs(folder: Path, *, with_masks: bool) -> tuple[dict[str, Path], dict[str, Path], list[str]]:
    """Pictures and masks by name, and files that are neither.

    No masks where there are none at all, or none are asked for.
    """
    apart = (folder / "images").is_dir()
    files, unused = _pictures(folder / "images" if apart else folder)
    masks: dict[str, Path] = {}
    if apart:
        unused = [f"images/{name}" for name in unused]
        unused += [p.name for p in folder.iterdir() if p.name not in ("images", "masks")]
        if (folder / "masks").is_dir():
            masks, others = _pictures(folder / "masks")
            unused += [f"masks/{name}" for name in others]
    else:
        ends = [name for name in files if name.endswith(MASK_SUFFIX)]
        masks = {name.removesuffix(MASK_SUFFIX): files.pop(name) for name in ends}
    if not files:
        found = f" (it has {listed(unused)})" if listed(unused) else ""
        expected = f"expected images/ and masks/, or a.png next to a{MASK_SUFFIX}.png"
        raise DataError(f"{folder} holds no picture that Pillow reads{found}; {expected}")
    bare = set(files) - set(masks) if masks and with_masks else set()
    if alone := bare | (set(masks) - set(files)):
        name = min(alone)
        missing = "mask" if name in files else "image"
        raise DataError(f"{folder}: {name!r} has no {missing}; add it, or remove {name!r}")
    return files, masks if with_masks else {}, unused


def _pictures(folder: Path) -> tuple[dict[str, Path], list[str]]:
    """The pictures by name without suffix, and the names of all else."""
    files: dict[str, Path] = {}
    others: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.is_dir() or not picture_files.is_picture(path):
            others.append(path.name)
        elif path.stem in files:
            raise DataError(f"{folder} has {files[path.stem].name} and {path.name}; keep one")
        else:
            files[path.stem] = path
    return files, others


def _reasons(damaged: Sequence[DamagedError], most: int = 3) -> str:
    """The first reason, then the other files, of which there may be thousands."""
    others = [error.path.name for error in damaged[1:most]]
    if len(damaged) > most:
        others.append(f"{len(damaged) - most} more")
    return f"{damaged[0]}; nor can {', '.join(others)}" if others else str(damaged[0])
