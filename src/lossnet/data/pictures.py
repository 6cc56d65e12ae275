"""Picture files of images and masks; Pillow is loaded only to read or write them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.images import ImageData
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


def is_picture(path: Path) -> bool:
    """Whether a file's name is that of a picture."""
    return path.suffix.lower() in SUFFIXES and path.name[0] != "."


def mask_of(name: str) -> str:
    """The name of the mask that lies beside an image, both without suffixes."""
    return f"{name}{MASK_SUFFIX}"


def read_picture(path: Path, size: Size | None) -> ImageData:
    """One picture, without a mask; an error where it cannot be read."""
    try:
        picture, own = _read(path, size, mask=False)
    except _DamagedError as error:
        raise DataError(f"{error}; give another picture") from error
    sizes = None if size is None else [own]
    return ImageData([picture], None, [path.stem], path.name, sizes=sizes)  # type: ignore[arg-type]


def read_folder(folder: Path, size: Size | None, name: str) -> ImageData:
    """The pictures of a folder, and their masks where there are any.

    Args:
        folder: with ``images/`` and ``masks/``, or with pictures.
        size: height and width to resize to.
        name: what to call the data set.
    """
    images, masks = _pairs(folder)
    pictures, labels, names, notes, sizes = [], [], [], [], []
    for label, file in images.items():
        try:
            picture, own = _read(file, size, mask=False)
            mask = _read(masks[label], size, mask=True)[0] if masks else None
        except _DamagedError as error:
            notes.append(f"{error}; {'the pair' if masks else 'it'} is left out")
            warnings.warn(notes[-1], DamagedImageWarning, stacklevel=5)
            continue
        if mask is not None and mask.shape[:2] != picture.shape[:2]:
            raise DataError(
                f"{file} is {picture.shape[0]} x {picture.shape[1]} and {masks[label]} "
                f"{mask.shape[0]} x {mask.shape[1]} (height x width); give masks of their "
                "images' size, or a size to resize both to"
            )
        pictures.append(picture)
        labels.append(mask)
        names.append(label)
        sizes.append(own)
    if not pictures:
        raise DataError(f"no picture of {folder} can be read: {'; '.join(notes)}")
    if len({picture.ndim for picture in pictures}) > 1:
        notes.append("grey pictures among coloured ones are taken as coloured")
        pictures = [p if p.ndim == 3 else np.repeat(p[..., None], 3, 2) for p in pictures]
    found: Any = None
    if masks:
        found = _as_classes(labels, notes)
    return ImageData(pictures, found, names, name, notes, None if size is None else sizes)  # type: ignore[arg-type]


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
        if is_picture(path):
            if path.stem in files:
                raise DataError(f"{folder} has {files[path.stem].name} and {path.name}; keep one")
            files[path.stem] = path
    return files


class _DamagedError(Exception):
    """A picture that cannot be read."""


def _read(path: Path, size: Size | None, *, mask: bool) -> tuple[np.ndarray[Any, Any], Size]:
    """The pixels, (H, W) of a mask or a grey picture, (H, W, 3) of a coloured one; its own size."""
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
    own = (picture.height, picture.width)
    if size is not None:
        way = image.Resampling.NEAREST if mask else image.Resampling.BILINEAR
        picture = picture.resize((size[1], size[0]), way)
    return np.asarray(picture), own


def _as_classes(labels: Sequence[Any], notes: list[str]) -> list[np.ndarray[Any, Any]]:
    """Masks as numbers of classes; 0 and 255 alone stand for 0 and 1."""
    values = set().union(*(np.unique(label).tolist() for label in labels))
    if values <= {0, 255} and 255 in values:
        notes.append("masks hold 0 and 255, taken as the classes 0 and 1")
        return [(np.asarray(label) == 255).astype(np.int64) for label in labels]
    return [np.asarray(label).astype(np.int64) for label in labels]


def write_masks(
    folder: str | Path,
    masks: np.ndarray[Any, Any],
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
    palette = [part for colour in COLOURS for part in colour]
    written = []
    for name, mask, (height, width) in zip(names, masks, sizes, strict=True):
        picture = image.fromarray(np.asarray(mask, dtype=np.uint8), mode="P")
        picture = picture.resize((width, height), image.Resampling.NEAREST)
        picture.putpalette(palette)
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise DataError(f"mask {name!r} would not lie in {folder}; give a name without a path")
        path = Path(folder) / f"{name}.png"
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
