"""What a comparison keeps of predicted masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from lossnet.tasks.details import Details, Examples, reliability_bins
from lossnet.tasks.image.images import known_pixels
from lossnet.tasks.image.metrics import class_ious, image_ious

#: Pixels that are kept at most, but at least so many images.
_PIXELS, _FEWEST = 4_000_000, 20


def _kept(data: Any) -> int:
    """How many images are kept."""
    return min(len(data), max(_FEWEST, _PIXELS // int(np.prod(data.images.shape[1:3]))))


def image_examples(data: Any) -> Examples:
    """The first pictures and their masks."""
    n = _kept(data)
    images = np.asarray(data.images[:n])
    if images.dtype != np.uint8:
        low, high = float(images.min()), float(images.max())
        images = (255 * (images - low) / max(high - low, 1e-12)).astype(np.uint8)
    images = images[..., :3] if images.shape[-1] >= 3 else images[..., 0]
    names = [str(code) for code in range(data.classes)]
    truth = data.masks[:n].astype(np.uint8)
    return Examples("mask", names, truth, list(map(str, data.names[:n])), images=images)


def image_details(model: Any, data: Any, predicted: np.ndarray) -> Details:
    """IoU by image and by class, and calibration of predicted masks ``(n, H, W)``."""
    classes, masks = len(model.classes_), np.asarray(data.masks)
    known = known_pixels(masks, classes)
    ious = image_ious(masks, predicted, classes)
    right, size = predicted == masks, np.full(len(data), predicted[0].size)
    if known is not None:
        ious = np.where(known.any((1, 2)), ious, np.nan)
        right, size = right & known, known.sum((1, 2))
    scores = {"mean-iou": ious, "pixel-accuracy": np.stack([right.sum((1, 2)), size, size], 1)}
    by_class = class_ious(masks, predicted, classes)
    count = [float((masks == code).sum()) for code in range(classes)]
    found = zip(map(str, model.classes_), by_class, count, strict=True)
    groups = {name: {"iou": float(iou), "count": pixels} for name, iou, pixels in found}
    bins, calibration = None, dict[str, float]()
    if model.method_.task_net_predicts and model.refine is None:
        bins, calibration = reliability_bins(*_chosen(model, data, known))
    kept = predicted[: _kept(data)].astype(np.uint8)
    return Details(scores, kept, groups, "class", bins, calibration)


def _chosen(model: Any, data: Any, known: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Of all pixels the probability of the most probable class, and whether it is the true one."""
    proba = np.asarray(model.predict_proba(data.without_labels()))
    if proba.ndim == 3:  # of the foreground
        proba = np.stack([1 - proba, proba], -1)
    best = proba.argmax(-1)
    counted = np.ones(best.shape, bool) if known is None else known
    return np.clip(proba.max(-1)[counted], 0, 1), (best == np.asarray(data.masks))[counted]
