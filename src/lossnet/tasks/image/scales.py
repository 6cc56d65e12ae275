"""The scale of images: what training images have, and whether others have another."""

from __future__ import annotations

from math import prod

import numpy as np

from lossnet.tasks.image.disk_pictures import blocks_of
from lossnet.tasks.image.images import ImageData
from lossnet.tasks.standardiser import Standardiser

#: Deviations from the training images' mean beyond which a channel must have another scale.
FAR = 30.0


def standardiser_of(data: ImageData) -> Standardiser | None:
    """What centres and scales the channels of training images, read some at a time."""
    if data.images.dtype != np.uint8:
        return Standardiser.of(data.floats().reshape(-1, data.channels), True)
    counts = np.zeros((256, data.channels), dtype=np.int64)
    for images in blocks_of(data.images):
        for channel in range(data.channels):
            counts[:, channel] += np.bincount(images[..., channel].reshape(-1), minlength=256)
    return Standardiser.of_counts(np.arange(256, dtype=np.float32) / np.float32(255.0), counts)


def far_from_training(data: ImageData, standardiser: Standardiser | None) -> str | None:
    """A warning where the images are on another scale than those of training, else None."""
    if standardiser is None or len(standardiser.mean) != data.channels:
        return None  # check_fits reports a channel mismatch
    sums = sum(part.sum((0, 1, 2), dtype=np.float64) for part in blocks_of(data.images))
    means = sums / prod(data.images.shape[:3])
    means = means / 255 if data.images.dtype == np.uint8 else means  # without a copy of all images
    distance = np.abs(means - standardiser.mean) / standardiser.scale
    channel = int(distance.argmax())
    if distance[channel] <= FAR:
        return None
    mean, scale = standardiser.mean[channel], standardiser.scale[channel]
    came = f"{data.name}: channel {channel} has a mean of {means[channel]:.4g}"
    rule = "uint8 images count as 0 to 1 and other numbers as they are: use images as in training"
    return f"{came}, and in training {mean:.4g} with a deviation of {scale:.4g}; {rule}"
