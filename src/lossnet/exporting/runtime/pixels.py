"""The class of every pixel of images."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from .base import Array, Model, ModelError, stored, tempered
from .tiling import outgrown, sides_of, tile_of

#: Crops that the net takes at a time, and their pixels unless one has more.
_CROPS, _PIXELS = 16, 2**19


class PixelModel(Model):
    """Images of one size ``(n, H, W, channels)``, and the class of every pixel.

    uint8 stands for 0 to 1 in steps of 1/255, other numbers are taken as they are; grey images may
    lack the last axis.
    """

    def read(self, path: Path) -> Array:
        """Images of a ``.npy`` or ``.npz`` file (``images``), or a picture, which needs Pillow."""
        kind = path.suffix.lower()
        if kind not in (".npy", ".npz"):
            return _picture(path, self.facts["channels"])
        arrays = stored(path)
        name = "" if kind == ".npy" else "images"
        if name not in arrays:
            raise ModelError(f"{path} holds {', '.join(arrays)}; expected {name!r}")
        found = arrays[name]
        single = found.ndim == (2 if self.facts["channels"] == 1 else 3)
        return found[None] if single else found

    def predict(self, images: Any) -> Array:
        """The number of every pixel's class, ``(n, H, W)``."""
        return self._decided(self.outputs(images))

    def predict_proba(self, images: Any) -> Array:
        """Of the second class ``(n, H, W)``; of more than two classes ``(n, H, W, C)``."""
        return self._users_probabilities(self.outputs(images))

    def _users_probabilities(self, p: Array) -> Array:
        temperature, several = self.facts["temperature"], len(self.facts["classes"]) > 2
        return p if temperature is None else tempered(p, temperature, coupled=several)

    def _decided(self, p: Array) -> Array:
        decision = self.facts["decision"]
        if len(self.facts["classes"]) > 2:
            return p.argmax(-1)
        if decision["rule"] == "expected":
            p = tempered(p, decision["temperature"], offset=decision["offset"])
            if self.facts["metric"] != "global-iou":
                return best_ratio(p).astype(np.int64)
        found: Array = (p >= 0.5).astype(np.int64)
        return found

    def outputs(self, images: Any) -> Array:
        """Probabilities: the mean over crops of every image, or of tiles where it is large."""
        values = self._checked(np.asarray(images)).transpose(0, 3, 1, 2)
        size, times = (values.shape[2], values.shape[3]), self.facts["average"]
        height, width = self.facts["crop"]
        if times == 1 or outgrown(size, (height, width), times):
            height, width = tile_of(size)
        sides = sides_of(size, (height, width), times)
        crops = list(product(*(zip(one.places, one.weights, strict=True) for one in sides)))
        return np.stack([self._averaged(image, crops) for image in values])

    def _averaged(self, image: Array, crops: list[Any]) -> Array:
        """Probabilities of one image ``(channels, H, W)`` from its crops.

        Each has a place and weights, down and across.
        """
        (_, down), (_, across) = crops[0]
        h, w = len(down), len(across)
        count = max(1, min(_CROPS, _PIXELS // (h * w)))
        total: Array | None = None
        weight = np.zeros(image.shape[1:], dtype=np.float32)
        for first in range(0, len(crops), count):
            some = crops[first : first + count]
            given = np.stack([image[:, a : a + h, b : b + w] for (a, _), (b, _) in some])
            found = self.net(images=given)["probabilities"]
            if total is None:
                total = np.zeros((*image.shape[1:], *found.shape[3:]), dtype=np.float32)
            for ((a, down), (b, across)), values in zip(some, found, strict=True):
                own = np.outer(down, across)
                total[a : a + h, b : b + w] += own.reshape(h, w, *[1] * (values.ndim - 2)) * values
                weight[a : a + h, b : b + w] += own
        assert total is not None
        mean: Array = total / weight.reshape(*weight.shape, *[1] * (total.ndim - 2))
        return mean

    def _checked(self, images: Array) -> Array:
        channels, crop = self.facts["channels"], self.facts["crop"]
        if images.dtype.kind not in "biuf":
            raise ModelError(f"images have dtype {images.dtype}; expected numbers")
        images = images[..., None] if images.ndim == 3 else images
        if images.ndim != 4 or images.shape[3] != channels:
            expected = f"expected (n, H, W, {channels})"
            raise ModelError(f"images have shape {images.shape}; {expected}")
        if images.shape[1] < crop[0] or images.shape[2] < crop[1]:
            came = f"images are {images.shape[1]} x {images.shape[2]}"
            raise ModelError(f"{came}; the model takes {crop[0]} x {crop[1]} or larger")
        if images.dtype == np.uint8:
            return images.astype(np.float32) / np.float32(255.0)
        if not np.isfinite(images).all():
            raise ModelError("images hold NaN or infinity; expected finite numbers")
        return images.astype(np.float32)

    def write(self, inputs: Any, out: Path | None, *, proba: bool) -> None:
        """Write masks, and with ``proba`` probabilities, to an .npz file, or print their shares."""
        p = self.outputs(inputs)
        masks, classes = self._decided(p), self.facts["classes"]
        if out is None:
            for row, mask in enumerate(masks):
                shares = np.bincount(mask.ravel(), minlength=len(classes)) / mask.size
                named = zip(classes, shares, strict=True)
                sys.stdout.write(f"{row}: {', '.join(f'{c} {s:.3f}' for c, s in named)}\n")
            return
        if out.suffix != ".npz":
            raise ModelError(f"{out}: masks go to an .npz file")
        arrays = {"masks": masks, "classes": np.array(classes)}
        if proba:
            arrays["probabilities"] = self._users_probabilities(p)
        np.savez_compressed(out, **arrays)  # type: ignore[arg-type]


def _picture(path: Path, channels: int) -> Array:
    """A picture of 8 bits as an array ``(1, H, W, channels)``."""
    try:
        from PIL import Image
    except ImportError as error:
        what = f"{path}: pictures need Pillow (pip install pillow)"
        raise ModelError(f"{what}; or give a .npy file") from error
    with Image.open(path) as picture:
        if picture.mode.startswith(("I", "F")):
            raise ModelError(f"{path} has more than 8 bits; give its values in a .npy file")
        found = np.asarray(picture.convert("L" if channels == 1 else "RGB"))
    return found.reshape(1, *found.shape[:2], -1)


def best_ratio(p: Array) -> Array:
    """The pixels of highest E|A and Y| / E|A or Y| for independent ones, bool as ``p``.

    No pixels at all have the probability that there are none.

    Args:
        p: probabilities of the foreground, ``(n, H, W)``.

    >>> best_ratio(np.array([[[0.9, 0.4, 0.1]]]))
    array([[[ True,  True, False]]])
    """
    flat = p.reshape(len(p), -1)
    order = np.argsort(-flat, axis=1, kind="stable")
    ranked = np.take_along_axis(flat, order, 1)
    on = ranked.cumsum(1)
    ratio = on / (np.arange(1, flat.shape[1] + 1) + on[:, -1:] - on)
    none = np.prod(1.0 - flat, axis=1)
    count = np.where(none > ratio.max(1), 0, ratio.argmax(1) + 1)
    taken = np.zeros(flat.shape, dtype=bool)
    np.put_along_axis(taken, order, np.arange(flat.shape[1]) < count[:, None], 1)
    return taken.reshape(p.shape)
