"""Images and masks of files and folders, undivided or in parts."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from pathlib import Path
from typing import Any

from lossnet.data.archive import array_names, read_arrays
from lossnet.errors import DataError, SettingError
from lossnet.tasks.image.images import ImageData, Size
from lossnet.tasks.image.picture_files import MASK_SUFFIX, WHITES, is_picture
from lossnet.tasks.image.picture_folders import read_folders, read_picture
from lossnet.tasks.parts import PART_WORDS, Parts, as_parts, joined, left_out


def load_images(
    path: str | Path, *, size: int | Size | None = None, white: int | None = None
) -> ImageData:
    """Read all images of a file or a folder, and their masks where there are any.

    An ``.npz`` file has ``images`` and ``masks`` (or ``labels``), or those of its parts
    (``train_images``, ``val_images``, ...). A folder has one file of this kind; or pictures in
    ``images/`` and masks of the same names in ``masks/``; or masks next to their images, ``a.png``
    and ``a_mask.png``; or parts, ``train/``, ``test/``, each a folder of these. A mask's pixel is
    the number of its class, in a picture with a palette its index; masks of nothing but 0 and 255
    are taken as 0 and 1. Grey values of more than 8 bits are scaled alike in all pictures, see
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
    return joined(load_image_parts(path, size=size, white=white))


def load_image_splits(
    path: str | Path, *, size: int | Size | None = None, seed: int = 0
) -> Parts[ImageData]:
    """Read the training, validation and test parts of a data set.

    As :func:`load_images`; data without parts is divided at random, 60/20/20.

    Args:
        path: the file or the folder.
        size: height and width to resize pictures to, or one side of a square.
        seed: of the division at random.
    """
    return as_parts(load_image_parts(path, size=size), str(path), seed=seed)


def as_images(images: Any, masks: Any = None, *, white: int | None = None) -> ImageData:
    """Arrays as they are, or the images of a file or folder, see :func:`load_images`."""
    if isinstance(images, str | Path):
        images = load_images(images, white=white)
    if not isinstance(images, ImageData):
        return ImageData(images, masks)
    if masks is not None:
        raise DataError("masks were passed with an ImageData or a folder, which has its own")
    return images


def load_image_parts(
    path: str | Path,
    *,
    size: int | Size | None = None,
    with_masks: bool = True,
    white: int | None = None,
) -> dict[str, ImageData]:
    """The parts of a data set by name; undivided data as ``""``, and so a single picture.

    As :func:`load_images`.

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
    integers = all(isinstance(side, Integral) and not isinstance(side, bool) for side in sides)
    if len(sides) != 2 or not integers or min(sides) < 1:
        rule = "size must be a height and a width, (64, 48), or one side"
        raise SettingError(f"{rule}, got {size!r}")
    return int(sides[0]), int(sides[1])


def holds_images(path: str | Path) -> bool:
    """Whether a file or folder holds images, or images and masks, judged by names.

    A picture; an ``.npz`` file with ``images`` and without ``X``, of which only the keys are read;
    a folder with an ``.npz`` file of this kind, with ``images/`` and ``masks/``, with ``a.png``
    next to ``a_mask.png``, or with parts of these.
    """
    path = Path(path).expanduser()
    if not path.is_dir():
        return is_picture(path) or _holds_image_arrays(path)
    if any(map(holds_images, _part_folders(path).values())):
        return True
    if (path / "images").is_dir() and (path / "masks").is_dir():
        return True
    files = {file.stem for file in path.iterdir() if is_picture(file)}
    pairs = any(f"{name}{MASK_SUFFIX}" in files for name in files)
    return pairs or any(map(_holds_image_arrays, path.glob("*.npz")))


def _part_folders(path: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in sorted(p for p in path.iterdir() if p.is_dir()):
        part = PART_WORDS.get(folder.name.lower())
        if part in found:
            both = f"{found[part].name} and {folder.name}"
            raise DataError(f"{path} has two {part} folders, {both}; keep one")
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
        why = f"Pillow reads no {path.suffix} files; convert it, to .png for instance"
        raise DataError(f"{path} is neither an .npz file nor a picture: {why}")
    if size is not None:
        raise DataError(f"{path} holds arrays, which are not resized; omit the size")
    arrays = read_arrays(path)
    found: dict[str, dict[str, Any]] = {}
    for key, array in arrays.items():
        if (place := _part_and_kind(key)) is not None:
            found.setdefault(place[0], {})[place[1]] = array
    if not found or any("images" not in kinds for kinds in found.values()):
        expected = "expected images and masks, or train_images, train_masks and so on"
        raise DataError(f"{path} has the keys {', '.join(sorted(arrays))}; {expected}")
    if "" in found and len(found) > 1:
        raise DataError(f"{path} has images with and without a part; name the part of all or none")
    return {part: ImageData(**kinds, name=path.stem) for part, kinds in found.items()}
