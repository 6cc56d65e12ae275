"""Files and folders of images and masks, whole or in parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.archive import array_names, read_arrays
from lossnet.errors import DataError, SettingError
from lossnet.tasks.image.images import ImageData
from lossnet.tasks.image.picture_files import WHITES, Size, is_picture, mask_of
from lossnet.tasks.image.picture_folders import read_folders, read_picture
from lossnet.tasks.parts import PART_WORDS, PARTS, Parts, cut_rows, left_out


@dataclass(frozen=True)
class ImageSplits(Parts[ImageData]):
    """Three parts of one data set; ``validation`` and ``test`` may be None."""


def load_images(
    path: str | Path, *, size: int | Size | None = None, white: int | None = None
) -> ImageData:
    """Read all images of a file or a folder, and their masks where there are any.

    An ``.npz`` file has ``images`` and ``masks`` (or ``labels``), or those of its parts
    (``train_images``, ``val_images``, ...). A folder has one such file; or pictures in
    ``images/`` and masks of the same names in ``masks/``; or masks beside their images, ``a.png``
    and ``a_mask.png``; or parts, ``train/``, ``test/``, each such a folder. A mask's pixel is the
    number of its class, in a picture with a palette its index; masks of nothing but 0 and 255 are
    taken as 0 and 1. Grey values of more than 8 bits are scaled alike in all pictures, see
    ``white``; floating-point ones from 0 to 1 to 0 to 255. A picture that cannot be read is named
    in a :class:`DamagedImageWarning` and left out with its pair; files that were not read are in
    the notes.

    Args:
        path: the file or the folder.
        size: height and width to resize pictures to, or one side of a square; without it they
            must have one size.
        white: the grey value of pictures of more than 8 bits that becomes 255: 255, 4095 or 65535;
            None takes the least that no value of all pictures exceeds. A model's ``white_`` reads
            pictures as its training did.
    """
    return joined_images(load_image_parts(path, size=size, white=white))


def load_image_splits(
    path: str | Path, *, size: int | Size | None = None, seed: int = 0
) -> ImageSplits:
    """Read the training, validation and test parts of a data set.

    As :func:`load_images`; data without parts is divided at random, 60/20/20.

    Args:
        path: the file or the folder.
        size: height and width to resize pictures to, or one side of a square.
        seed: of the division at random.
    """
    parts = load_image_parts(path, size=size)
    if "" in parts:
        return split_images(parts[""], seed=seed)
    if "train" not in parts:
        raise DataError(f"{path} has no training part; it has {', '.join(sorted(parts))}")
    return ImageSplits(**parts)


def split_images(data: ImageData, *, seed: int = 0) -> ImageSplits:
    """Divide images at random: three fifths for training, a fifth for each of the others."""
    if len(data) < 3:
        raise DataError(
            f"{data.name}: {len(data)} images cannot be split in three; give more, or validation "
            "and test data besides"
        )
    return ImageSplits(*(data.subset(rows) for rows in cut_rows(len(data), [0.2, 0.2], seed)))


def load_image_parts(
    path: str | Path,
    *,
    size: int | Size | None = None,
    with_masks: bool = True,
    white: int | None = None,
) -> dict[str, ImageData]:
    """The parts of a data set by name; data without parts under the empty name.

    As :func:`load_images`; a single picture is data without parts.

    Args:
        path: the file or the folder.
        size: height and width to resize pictures to, or one side of a square.
        with_masks: False leaves the masks of folders unread, whatever state they are in.
        white: as in :func:`load_images`.
    """
    path, size = Path(path).expanduser(), _height_and_width(size)
    if white is not None and white not in WHITES:
        raise SettingError(f"white must be one of {', '.join(map(str, WHITES))}, got {white!r}")
    if not path.exists():
        raise DataError(f"{path} does not exist")
    if path.is_file():
        return {"": read_picture(path, size, white)} if is_picture(path) else _npz_parts(path, size)
    named = _part_folders(path)
    archives = sorted(path.glob("*.npz"))
    if not named and len(archives) == 1 and not _has_pictures(path):
        return _with_note(_npz_parts(archives[0], size), path, archives)
    parts = read_folders(named or {"": path}, size, path.name, with_masks=with_masks, white=white)
    return _with_note(parts, path, named.values()) if named else parts


def _with_note(
    parts: dict[str, ImageData], folder: Path, used: Iterable[Path]
) -> dict[str, ImageData]:
    """The parts, the training part with a note on what else the folder holds."""
    read = {path.name for path in used}
    first = min(parts, key=lambda part: part != "train")
    others = (path.name for path in folder.iterdir() if path.name not in read)
    parts[first].notes.extend(left_out(folder, others))
    return parts


def _height_and_width(size: Any) -> Size | None:
    """Both sides of what ``size`` gives."""
    if size is None:
        return None
    sides = tuple(size) if isinstance(size, tuple | list) else (size, size)
    whole = all(isinstance(side, Integral) and not isinstance(side, bool) for side in sides)
    if len(sides) != 2 or not whole or min(sides) < 1:
        raise SettingError(f"size is {size!r}; give a height and a width, (64, 48), or one side")
    return int(sides[0]), int(sides[1])


def holds_images(path: str | Path) -> bool:
    """Whether names tell that a file or folder holds images, or images and masks.

    A picture; an ``.npz`` file with ``images`` and without ``X``, of which the keys alone are
    looked at; a folder with such a file, with ``images/`` and ``masks/``, with ``a.png`` beside
    ``a_mask.png``, or with parts of these.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        return is_picture(path) or _holds_image_arrays(path)
    if any(holds_images(folder) for folder in _part_folders(path).values()):
        return True
    if (path / "images").is_dir() and (path / "masks").is_dir():
        return True
    files = {file.stem for file in path.iterdir() if is_picture(file)}
    return any(mask_of(name) in files for name in files) or any(
        _holds_image_arrays(file) for file in path.glob("*.npz")
    )


def _part_folders(path: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in sorted(p for p in path.iterdir() if p.is_dir()):
        part = PART_WORDS.get(folder.name.lower())
        if part in found:
            raise DataError(
                f"{path} has two {part} folders, {found[part].name} and {folder.name}; keep one"
            )
        if part is not None:
            found[part] = folder
    return found


def _has_pictures(path: Path) -> bool:
    return (path / "images").is_dir() or any(is_picture(file) for file in path.iterdir())


def _holds_image_arrays(path: Path) -> bool:
    keys = array_names(path) if path.suffix.lower() == ".npz" else set()
    return "X" not in keys and any(_part_and_kind(key) is not None for key in keys)


def _part_and_kind(key: str) -> tuple[str, str] | None:
    """What an array of an ``.npz`` file is: (part or "", images or masks)."""
    part, _, kind = key.rpartition("_")
    kind = {"labels": "masks"}.get(kind, kind)
    if kind not in ("images", "masks") or (part and part not in PART_WORDS):
        return None
    return PART_WORDS.get(part, ""), kind


def _npz_parts(path: Path, size: Size | None) -> dict[str, ImageData]:
    if path.suffix.lower() not in (".npz", ".gz", ""):
        raise DataError(
            f"{path} is neither an .npz file nor a picture: Pillow reads no {path.suffix} files; "
            "convert it, to .png for instance"
        )
    if size is not None:
        raise DataError(f"{path} holds arrays, which are not resized; leave the size out")
    arrays = read_arrays(path)
    found: dict[str, dict[str, Any]] = {}
    for key, array in arrays.items():
        if (told := _part_and_kind(key)) is not None:
            found.setdefault(told[0], {})[told[1]] = array
    if not found or any("images" not in kinds for kinds in found.values()):
        raise DataError(
            f"{path} has the keys {', '.join(sorted(arrays))}; expected images and masks, or "
            "train_images, train_masks and so on"
        )
    if "" in found and len(found) > 1:
        raise DataError(f"{path} has images with and without a part; name the part of all or none")
    return {part: ImageData(**kinds, name=path.stem) for part, kinds in found.items()}


def joined_images(parts: Mapping[str, ImageData]) -> ImageData:
    """All images of several parts, each named after its part: ``train/a``."""
    if "" in parts:
        return parts[""]
    rows = [(part, parts[part]) for part in PARTS if part in parts]
    first = rows[0][1]
    for _, data in rows:
        if (data.size, data.channels) != (first.size, first.channels):
            raise DataError(f"the parts of {first.name} have images of different sizes or channels")
    masks: list[Any] = [data.masks for _, data in rows]
    sizes: list[Any] = [data.sizes for _, data in rows]
    return ImageData(
        np.concatenate([data.images for _, data in rows]),
        None if any(mask is None for mask in masks) else np.concatenate(masks),
        [f"{part}/{label}" for part, data in rows for label in data.names],
        first.name,
        list(dict.fromkeys(note for _, data in rows for note in data.notes)),
        None if any(size is None for size in sizes) else [one for size in sizes for one in size],
        next((data.white for _, data in rows if data.white is not None), None),
    )
