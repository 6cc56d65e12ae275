"""Picture files of images and masks; Pillow is loaded only to read or write them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.data.images import ImageData
from lossnet.errors import DataError, LossnetError
from lossnet.files import write_whole

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff")
#: How the name of a mask ends where it lies beside its image.
MASK_SUFFIX = "_mask"
#: Colours of the first classes; :func:`palette` has those of all.
COLOURS = ((0, 0, 0), (255, 255, 255), (198, 40, 40), (21, 101, 192), (46, 125, 50), (249, 168, 37))

Size = tuple[int, int]


class DamagedImageWarning(UserWarning):
    """A picture could not be read; its pair is left out."""


class MissingPillowError(LossnetError, ImportError):
    """A picture file was to be read or written where Pillow is not installed."""


@cache
def palette() -> np.ndarray[Any, Any]:
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


def read_folder(
    folder: Path, size: Size | None, name: str, *, with_masks: bool = True
) -> ImageData:
    """The pictures of a folder, and their masks where there are any.

    Args:
        folder: with ``images/`` and ``masks/``, or with pictures.
        size: height and width to resize to.
        name: what to call the data set.
        with_masks: False leaves masks unread, and pictures need none.
    """
    images, masks = _pairs(folder, with_masks=with_masks)
    pictures, labels, names, notes, sizes = [], [], [], [], []
    damaged: list[_DamagedError] = []
    for label, file in images.items():
        try:
            picture, own = _read(file, size, mask=False)
            mask = _read(masks[label], size, mask=True)[0] if masks else None
        except _DamagedError as error:
            damaged.append(error)
            notes.append(f"{error}; {'the pair' if masks else 'it'} is left out")
            warnings.warn(notes[-1], DamagedImageWarning, stacklevel=5)
            continue
        if mask is not None and mask.shape[:2] != picture.shape[:2]:
            raise DataError(
                f"{file} is {picture.shape[0]} x {picture.shape[1]} and {masks[label]} "
                f"{mask.shape[0]} x {mask.shape[1]} (height x width); give masks of their "
                "images' size, or resize both: size= of load_images, --size on the command line"
            )
        pictures.append(picture)
        labels.append(mask)
        names.append(label)
        sizes.append(own)
    if not pictures:
        raise DataError(f"no picture of {folder} can be read: {_listed(damaged)}")
    if len({picture.ndim for picture in pictures}) > 1:
        notes.append("grey pictures among coloured ones are taken as coloured")
        pictures = [p if p.ndim == 3 else np.repeat(p[..., None], 3, 2) for p in pictures]
    found: Any = labels if masks else None
    return ImageData(pictures, found, names, name, notes, None if size is None else sizes)  # type: ignore[arg-type]


def _pairs(folder: Path, *, with_masks: bool) -> tuple[dict[str, Path], dict[str, Path]]:
    """Pictures and masks by name; no masks where there are none at all, or none are asked for."""
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
    bare = set(files) - set(masks) if masks and with_masks else set()
    alone = sorted(bare | (set(masks) - set(files)))
    if alone:
        missing = "mask" if alone[0] in files else "image"
        raise DataError(f"{folder}: {alone[0]!r} has no {missing}; give both, or remove it")
    return files, masks if with_masks else {}


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

    def __init__(self, path: Path, reason: Exception) -> None:
        super().__init__(f"{path} cannot be read ({reason})")
        self.path = path


def _listed(damaged: Sequence[_DamagedError], most: int = 3) -> str:
    """The first reason, then the other files, of which there may be thousands."""
    others = [error.path.name for error in damaged[1:most]]
    if len(damaged) > most:
        others.append(f"{len(damaged) - most} more")
    return f"{damaged[0]}; nor can {', '.join(others)}" if others else str(damaged[0])


def _read(path: Path, size: Size | None, *, mask: bool) -> tuple[np.ndarray[Any, Any], Size]:
    """The pixels, (H, W) of a mask or a grey picture, (H, W, 3) of a coloured one; its own size."""
    image = _pillow()
    try:
        with image.open(path) as opened:
            opened.load()
            picture, kind = opened.copy(), opened.format
    except Exception as error:  # Pillow raises what the decoder raises
        raise _DamagedError(path, error) from error
    picture = _as_mask(picture, kind, path) if mask else _as_bytes(picture, path)
    own = (picture.height, picture.width)
    if size is not None:
        way = image.Resampling.NEAREST if mask else image.Resampling.BILINEAR
        picture = picture.resize((size[1], size[0]), way)
    return np.asarray(picture), own


def _as_bytes(picture: Any, path: Path) -> Any:
    """The picture in grey or colours of 8 bits."""
    if picture.mode in ("L", "RGB"):
        return picture
    if picture.mode == "F" or picture.mode.startswith("I"):
        return _pillow().fromarray(_scaled(np.asarray(picture), path))
    return picture.convert("L" if picture.mode in ("1", "LA") else "RGB")


def _scaled(values: np.ndarray[Any, Any], path: Path) -> np.ndarray[Any, Any]:
    """Grey values of more than 8 bits from 0 to 255; Pillow alone would cut them off."""
    low, high = values.min(), values.max()
    if values.dtype.kind == "f":
        if low >= 0 and high <= 1:
            return np.rint(values * 255.0).astype(np.uint8)
        expected = "0 to 1 of floating-point numbers"
    else:
        if low >= 0 and high <= 255:
            return values.astype(np.uint8)
        if low >= 0 and high <= 65535:
            return np.rint(values / 257.0).astype(np.uint8)
        expected = "0 to 255 or 0 to 65535 of whole numbers"
    raise DataError(
        f"{path} has values from {low} to {high}; expected {expected}: scale them, or give the "
        "images as arrays in an .npz file, which are taken as they are"
    )


def _as_mask(picture: Any, kind: str | None, path: Path) -> Any:
    """The picture whose values are the classes; colours that are shades of grey count as grey."""
    if kind in ("JPEG", "MPO"):
        raise DataError(
            f"{path} is a mask in a JPEG file, which keeps values only roughly; save masks as PNG"
        )
    if picture.mode in ("1", "L", "P", "I") or picture.mode.startswith("I;16"):
        return picture
    if picture.mode in ("LA", "PA"):
        return picture.getchannel(0)
    if picture.mode in ("RGB", "RGBA"):
        red, green, blue = (np.asarray(picture.getchannel(name)) for name in "RGB")
        if np.array_equal(red, green) and np.array_equal(red, blue):
            return picture.getchannel("R")
    what = "of floating-point numbers" if picture.mode == "F" else "in colours"
    raise DataError(
        f"{path} is a mask {what} (mode {picture.mode}); give a grey or palette picture whose "
        "values are the classes"
    )


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
    _check_names(names, sizes, len(masks), Path(folder))
    checked = [_as_indices(mask, name) for mask, name in zip(masks, names, strict=True)]
    colours = palette().reshape(-1).tolist()
    written = []
    for name, mask, (height, width) in zip(names, checked, sizes, strict=True):
        picture = image.fromarray(mask).resize((width, height), image.Resampling.NEAREST)
        # All 256: with a shorter palette Pillow would save fewer bits a pixel.
        picture.putpalette(colours)
        path = Path(folder) / f"{name}.png"
        written.append(write_whole(path, partial(picture.save, format="PNG")))
    return written


def _check_names(names: Sequence[str], sizes: Sequence[Any], count: int, folder: Path) -> None:
    """Raise unless every mask has a file of its own in the folder, and a size."""
    for given, what in ((names, "names"), (sizes, "sizes")):
        if len(given) != count:
            raise DataError(f"{count} masks and {len(given)} {what}; give one for each")
    seen: set[Path] = set()
    for name in names:
        path = Path(name)
        if path.is_absolute() or ".." in path.parts:
            raise DataError(f"mask {name!r} would not lie in {folder}; give a name without a path")
        if path in seen:
            raise DataError(f"two masks are named {name!r}; give each a name of its own")
        seen.add(path)


def _as_indices(mask: Any, name: str) -> np.ndarray[Any, Any]:
    """A mask as uint8, or an error where that would change it."""
    given = np.asarray(mask)
    if given.ndim != 2 or given.dtype.kind not in "biuf":
        raise DataError(
            f"mask {name!r} has shape {given.shape} and dtype {given.dtype}; expected (H, W) "
            "numbers"
        )
    wrong = given[~((given >= 0) & (given <= 255) & (given == np.floor(given)))]
    if wrong.size:
        raise DataError(
            f"mask {name!r} has {wrong[0]}; a PNG mask holds classes, whole numbers from 0 to 255: "
            "give what predict gives, and keep anything else in an .npz file"
        )
    return given.astype(np.uint8)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingPillowError(
            "picture files need Pillow, which is not installed: pip install 'lossnet[image]'"
        ) from error
    return Image
