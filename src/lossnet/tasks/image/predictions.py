"""Predicted masks: found once, written as pictures or arrays."""

from __future__ import annotations

import argparse
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from lossnet.errors import SettingError
from lossnet.files import atomic_write, write_folder
from lossnet.tasks.image.images import ImageData
from lossnet.tasks.image.picture_files import write_masks


@lru_cache(maxsize=8)
def predicted(model: Any, data: ImageData) -> np.ndarray[Any, Any]:
    """The masks of the images. Kept: they are measured and then drawn, and take long to find."""
    masks: np.ndarray[Any, Any] = model.predict(data)
    return masks


def check_proba(args: argparse.Namespace) -> None:
    """Raise where probabilities cannot be written."""
    if args.proba and Path(args.out).suffix.lower() != ".npz":
        raise SettingError(
            f"--proba: PNG masks hold no probabilities; give --out a .npz file, not {args.out}"
        )


def write(model: Any, data: ImageData, args: argparse.Namespace) -> None:
    """Write the masks to ``args.out``, whole or not at all.

    A folder gets a PNG file for each image, named after it and of its own size. An .npz file has
    ``masks`` (n, H, W), at the size the model saw, ``names``, ``classes`` and with ``--proba``
    ``probabilities``, as ``predict_proba`` gives them.
    """
    if Path(args.out).suffix.lower() != ".npz" or Path(args.out).is_dir():
        masks = predicted(model, data)
        # A mask of the picture a user has, also where the model saw it smaller.
        write = partial(_write_masks, masks=masks, names=data.names, sizes=data.sizes)
        write_folder(args.out, write)
        return
    proba = model.predict_proba(data)
    arrays = {
        "masks": model._decoded(proba).astype(np.uint8 if len(model.classes_) <= 256 else np.int64),
        "names": np.array(data.names),
        "classes": np.array(model.classes_),
    }
    if args.proba:
        arrays["probabilities"] = proba.astype(np.float32)
    atomic_write(args.out, partial(_save, arrays=arrays))


def _write_masks(folder: Path, *, masks: Any, names: list[str], sizes: Any) -> None:
    write_masks(folder, masks, names, sizes=sizes)


def _save(path: Path, *, arrays: dict[str, Any]) -> None:
    # A name without .npz, as a temporary file has, would get it from NumPy.
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)
