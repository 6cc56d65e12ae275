"""Files and folders of images and masks; Pillow is loaded only to read or write pictures."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.images import ImageData
from lossnet.data.parts import PART_WORDS, PARTS, Parts, cut_rows
from lossnet.data.text import read_bytes
from lossnet.errors import DataError, LossnetError
from lossnet.files import write_whole

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff")
#: How the name of a mask ends where it lies beside its image.
MASK_SUFFIX = "_mask"
#: Colours of the classes in written masks, one after another.
COLOURS = ((0, 0, 0), (255, 255, 255), (198, 40, 40), (21, 101, 192), (46, 125, 50), (249, 168, 37))

Size = tuple[int, int]


class DamagedImageWarning(UserWarning):
    """A picture could not be read; its pair is left out."""


class MissingPillowError(LossnetError, ImportError):
    """A picture file was to be read or written where Pillow is not installed."""


@dataclass(frozen=True)
class ImageSplits(Parts[ImageData]):
    """Three parts of one data set; ``validation`` and ``test`` may be None."""


def load_images(path: str | Path, *, size: Size | None = None) -> ImageData:
    """Read all images of a file or a folder, and their masks where there are any.

    An ``.npz`` file has ``images`` and ``masks`` (or ``labels``), or those of its parts
    (``train_images``, ``val_images``, ...). A folder has pictures in ``images/`` and masks of the
    same names in ``masks/``; or masks beside their images, ``a.png`` and ``a_mask.png``; or parts,
    ``train/``, ``test/``, each such a folder. A mask's pixel is the number of its class, in a
    picture with a palette its index; masks of nothing but 0 and 255 are taken as 0 and 1. A
    picture that cannot be read is named in a :class:`DamagedImageWarning` and left out with its
    pair.

    Args:
        path: the file or the folder.
        size: height and width to resize pictures to; without it they must have one size.
    """
    parts = _parts(Path(path).expanduser(), size)
    if list(parts) == [""]:
        return parts[""]
    return _joined([parts[part] for part in PARTS if part in parts], Path(path).name)


def load_image_splits(path: str | Path, *, size: Size | None = None, seed: int = 0) -> ImageSplits:
    """Read the training, validation and test parts of a data set.

    As :func:`load_images`; data without parts is divided at random, 60/20/20.

    Args:
        path: the file or the folder.
        size: height and width to resize pictures to.
        seed: of the division at random.
    """
    parts = _parts(Path(path).expanduser(), size)
    if "" in parts:
        data = parts[""]
        return ImageSplits(*(data.subset(rows) for rows in cut_rows(len(data), [0.2, 0.2], seed)))
    if "train" not in parts:
        raise DataError(f"{path} has no training part; it has {', '.join(sorted(parts))}")
    return ImageSplits(**parts)


def write_masks(
    folder: str | Path, masks: np.ndarray[Any, Any], names: Sequence[str] | None = None
) -> list[Path]:
    """Write masks ``(n, H, W)`` as PNG pictures whose palette index is the class.

    Args:
        folder: made where it does not exist.
        masks: classes from 0 to 255.
        names: of the pictures, without a suffix; their numbers where None.
    """
    image = _pillow()
    names = [str(number) for number in range(len(masks))] if names is None else list(names)
    palette = [part for colour in COLOURS for part in colour]
    written = []
    for name, mask in zip(names, masks, strict=True):
        picture = image.fromarray(np.asarray(mask, dtype=np.uint8), mode="P")
        picture.putpalette(palette)
        path = Path(folder) / f"{Path(name).name}.png"
        written.append(write_whole(path, partial(picture.save, format="PNG")))
    return written


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingPillowError(
            "picture files need Pillow, which is not installed: pip install 'lossnet[image]'"
        ) from error
    return Image


def _parts(path: Path, size: Size | None) -> dict[str, ImageData]:
    """The parts by name; data without parts under the empty name."""
    if not path.exists():
        raise DataError(f"{path} does not exist")
    if path.is_file():
        return _npz_parts(path, size)
    folders = sorted(p for p in path.iterdir() if p.is_dir())
    named = {PART_WORDS[p.name.lower()]: p for p in folders if p.name.lower() in PART_WORDS}
    if named:
        return {part: _folder(folder, size) for part, folder in named.items()}
    return {"": _folder(path, size)}


def _npz_parts(path: Path, size: Size | None) -> dict[str, ImageData]:
    if size is not None:
        raise DataError(f"{path} holds arrays, which are not resized; leave size= out")
    try:
        with np.load(io.BytesIO(read_bytes(path)), allow_pickle=False) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except DataError:
        raise
    except Exception as error:  # a damaged archive fails in a dozen ways
        raise DataError(f"{path} is not a whole .npz file of plain arrays ({error})") from error
    found: dict[str, dict[str, Any]] = {}
    for key, array in arrays.items():
        part, _, kind = key.rpartition("_")
        kind = {"labels": "masks"}.get(kind, kind)
        if kind in ("images", "masks") and (not part or part in PART_WORDS):
            found.setdefault(PART_WORDS.get(part, ""), {})[kind] = array
    if not found or any("images" not in kinds for kinds in found.values()):
        raise DataError(
            f"{path} has the keys {', '.join(sorted(arrays))}; expected images and masks, or "
            "train_images, train_masks and so on"
        )
    if "" in found and len(found) > 1:
        raise DataError(f"{path} has images with and without a part; name the part of all or none")
    return {part: ImageData(**kinds, name=path.stem) for part, kinds in found.items()}


def _folder(folder: Path, size: Size | None) -> ImageData:
    images, masks = _pairs(folder)
    pictures, labels, names, notes = [], [], [], []
    for name, file in images.items():
        try:
            picture = _read(file, size, mask=False)
            label = _read(masks[name], size, mask=True) if masks else None
        except _DamagedError as error:
            warnings.warn(f"{error}; the pair is left out", DamagedImageWarning, stacklevel=4)
            notes.append(str(error))
            continue
        if label is not None and label.shape[:2] != picture.shape[:2]:
            raise DataError(
                f"{file} is {picture.shape[0]} x {picture.shape[1]} and {masks[name]} "
                f"{label.shape[0]} x {label.shape[1]} (height x width); give masks of their "
                "images' size, or size= to resize both"
            )
        pictures.append(picture)
        labels.append(label)
        names.append(name)
    if not pictures:
        raise DataError(f"no picture of {folder} can be read: {'; '.join(notes)}")
    if len({picture.ndim for picture in pictures}) > 1:
        notes.append("grey pictures among coloured ones are taken as coloured")
        pictures = [p if p.ndim == 3 else np.repeat(p[..., None], 3, 2) for p in pictures]
    found: Any = None
    if masks:
        found = _as_classes(labels, notes)
    return ImageData(pictures, found, names, folder.name, notes)  # type: ignore[arg-type]


def _pairs(folder: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Pictures and masks by name; no masks where there are none at all."""
    apart = (folder / "images").is_dir()
    files = _pictures(folder / "images" if apart else folder)
    masks = _pictures(folder / "masks") if apart and (folder / "masks").is_dir() else {}
    if not apart:
        ends = {name: file for name, file in files.items() if name.endswith(MASK_SUFFIX)}
        masks = {name.removesuffix(MASK_SUFFIX): file for name, file in ends.items()}
        files = {name: file for name, file in files.items() if name not in ends}
    if not files:
        raise DataError(
            f"{folder} holds no pictures ({', '.join(SUFFIXES)}); expected images/ and masks/, or "
            f"a.png beside a{MASK_SUFFIX}.png"
        )
    alone = sorted(set(files) ^ set(masks)) if masks else []
    if alone:
        missing = "mask" if alone[0] in files else "image"
        raise DataError(f"{folder}: {alone[0]!r} has no {missing}; give both, or remove it")
    return files, masks


def _pictures(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in SUFFIXES and path.name[0] != ".":
            if path.stem in files:
                raise DataError(f"{folder} has {files[path.stem].name} and {path.name}; keep one")
            files[path.stem] = path
    return files


class _DamagedError(Exception):
    """A picture that cannot be read."""


def _read(path: Path, size: Size | None, *, mask: bool) -> np.ndarray[Any, Any]:
    """The pixels: (H, W) of a mask or a grey picture, (H, W, 3) of a coloured one."""
    image = _pillow()
    try:
        with image.open(path) as opened:
            opened.load()
            picture = opened.copy()
    except Exception as error:  # Pillow raises what the decoder raises
        raise _DamagedError(f"{path} cannot be read ({error})") from error
    if mask:
        if picture.mode not in ("1", "L", "P", "I", "I;16"):
            raise DataError(
                f"{path} is a mask in colours (mode {picture.mode}); give a grey or palette "
                "picture whose values are the classes"
            )
    elif picture.mode not in ("L", "RGB"):
        picture = picture.convert("L" if picture.mode in ("1", "I", "I;16", "LA") else "RGB")
    if size is not None:
        way = image.Resampling.NEAREST if mask else image.Resampling.BILINEAR
        picture = picture.resize((size[1], size[0]), way)
    return np.asarray(picture)


def _as_classes(labels: Sequence[Any], notes: list[str]) -> list[np.ndarray[Any, Any]]:
    """Masks as numbers of classes; 0 and 255 alone stand for 0 and 1."""
    values = set().union(*(np.unique(label).tolist() for label in labels))
    if values <= {0, 255} and 255 in values:
        notes.append("masks hold 0 and 255, taken as the classes 0 and 1")
        return [(np.asarray(label) == 255).astype(np.int64) for label in labels]
    return [np.asarray(label).astype(np.int64) for label in labels]


def _joined(parts: Sequence[ImageData], name: str) -> ImageData:
    first: Mapping[str, Any] = {"size": parts[0].size, "channels": parts[0].channels}
    for part in parts[1:]:
        if {"size": part.size, "channels": part.channels} != first:
            raise DataError(f"the parts of {name} have images of different sizes or channels")
    masks = [part.masks for part in parts]
    return ImageData(
        np.concatenate([part.images for part in parts]),
        None if any(mask is None for mask in masks) else np.concatenate(masks),  # type: ignore[arg-type]
        [label for part in parts for label in part.names],
        name,
        [note for part in parts for note in part.notes],
    )
