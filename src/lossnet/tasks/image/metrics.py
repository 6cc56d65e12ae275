"""Metrics of label masks ``(n, H, W)``: integers from 0, which is the background.

A class that neither of two masks has counts as found: its IoU is 1 where it is asked for by
itself, and it is left out of a mean over classes.

255 in a true mask, with fewer than 256 classes, is a pixel whose class is not known: it is not
counted, and images without a known pixel are left out of means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lossnet.errors import DataError, SettingError
from lossnet.tasks.image.images import known_pixels

Masks = NDArray[np.int64]
Floats = NDArray[np.float64]


def mean_iou(true: ArrayLike, predicted: ArrayLike, classes: int = 2) -> float:
    """Mean over images of the IoU |A and B| / |A or B|, higher is better.

    With two classes of the foreground; with more, each image counts the mean over the classes that
    it has in truth or in the prediction, background included.

    >>> mean_iou([[[0, 1, 1]]], [[[0, 0, 1]]])
    0.5
    """
    ious = image_ious(true, predicted, classes)
    known = known_pixels(np.asarray(true), classes)
    return float((ious if known is None else ious[known.any((1, 2))]).mean())


def global_iou(true: ArrayLike, predicted: ArrayLike, classes: int = 2) -> float:
    """IoU of all images' pixels taken together, of the foreground or as a mean over classes."""
    return float(_over_classes(*_counts(true, predicted, classes, each=False))[0])


def class_ious(true: ArrayLike, predicted: ArrayLike, classes: int = 2) -> Floats:
    """IoU of every class, of all images' pixels taken together, ``(classes,)``."""
    return _ratio(*_counts(true, predicted, classes, each=False))[0]


def image_ious(true: ArrayLike, predicted: ArrayLike, classes: int = 2) -> Floats:
    """What :func:`mean_iou` is the mean of, ``(n,)``."""
    return _over_classes(*_counts(true, predicted, classes, each=True))


def foreground_counts(true: ArrayLike, predicted: ArrayLike) -> Floats:
    """Pixels of the foreground in both masks and in either, for each image: ``(n, 2)``."""
    both, either = _counts(true, predicted, 2, each=True)
    return np.stack([both[:, 1], either[:, 1]], 1)


def pixel_accuracy(true: ArrayLike, predicted: ArrayLike, classes: int = 2) -> float:
    """Share of pixels whose class is right."""
    gold, guess, known = _pair(true, predicted, classes)
    return float((gold == guess).mean(where=True if known is None else known))


def check_classes(classes: Any) -> None:
    """Raise unless ``classes`` is a number of classes."""
    if isinstance(classes, bool) or not isinstance(classes, Integral) or classes < 2:
        raise SettingError(f"classes must be their number, at least 2, got {classes!r}")


def class_names(names: Sequence[str] | None, classes: int) -> list[str]:
    """What to call the classes: their numbers where ``names`` is None."""
    check_classes(classes)
    if names is not None and len(names) != classes:
        count = len(names)
        raise SettingError(f"{count} names for {classes} classes; rename, or pass classes={count}")
    return list(map(str, range(classes) if names is None else names))


def _pair(
    true: ArrayLike, predicted: ArrayLike, classes: int
) -> tuple[Masks, Masks, NDArray[np.bool_] | None]:
    """True and predicted masks, and which pixels are known: of others the true class is 0."""
    check_classes(classes)
    known = known_pixels(np.asarray(true), classes)
    if known is not None and not known.any():
        raise DataError("no pixel of the true masks is known, all are 255; give some that are")
    gold = _masks(true if known is None else np.where(known, true, 0), "true", classes)
    guess = _masks(predicted, "predicted", classes)
    if gold.shape != guess.shape:
        shapes = f"the true masks have shape {gold.shape} and the predicted ones {guess.shape}"
        raise DataError(f"{shapes}; expected the same")
    return gold, guess, known


def _masks(given: ArrayLike, what: str, classes: int) -> Masks:
    masks: Any = np.asarray(given)
    if masks.ndim != 3 or not masks.size:
        raise DataError(f"the {what} masks have shape {masks.shape}; expected (n, H, W)")
    if masks.dtype.kind not in "biuf":
        raise DataError(f"the {what} masks have dtype {masks.dtype}; expected numbers of classes")
    low, high = masks.min(), masks.max()
    rule = ""
    if not (low >= 0 and np.array_equal(np.floor(masks), masks)):
        rule = "the number of every pixel's class, an integer from 0"
    elif high >= classes:
        rule = f"integers from 0 to {classes - 1}, since classes={classes}: "
        rule += f"pass classes={int(high) + 1}, or correct them"
    if rule:
        raise DataError(f"the {what} masks range from {low} to {high}; expected {rule}")
    return np.asarray(masks, dtype=np.int64)


def _counts(
    true: ArrayLike, predicted: ArrayLike, classes: int, *, each: bool
) -> tuple[Floats, Floats]:
    """Pixels of each class in both masks, and in either: ``(n or 1, classes)``."""
    gold, guess, known = _pair(true, predicted, classes)
    counted: Any = True if known is None else known
    rows = np.arange(len(gold))[:, None, None] if each else np.zeros((1, 1, 1), dtype=np.int64)
    size = (len(gold) if each else 1) * classes

    def count(values: Masks, where: Any = counted) -> Floats:
        cells = (rows * classes + values)[np.broadcast_to(where, values.shape)]
        return np.bincount(cells, minlength=size).reshape(-1, classes).astype(np.float64)

    both = count(gold, (gold == guess) & counted)
    return both, count(gold) + count(guess) - both


def _ratio(both: Floats, either: Floats) -> Floats:
    return np.where(either > 0, both / np.maximum(either, 1.0), 1.0)


def _over_classes(both: Floats, either: Floats) -> Floats:
    """The foreground's IoU, or the mean over the classes there are, ``(n,)``."""
    ratio = _ratio(both, either)
    if ratio.shape[1] == 2:
        return ratio[:, 1]
    present = either > 0
    total: Floats = (ratio * present).sum(1) / np.maximum(present.sum(1), 1)
    return total


ImageMetric = Callable[[ArrayLike, ArrayLike, int], float]

IMAGE_METRICS: dict[str, ImageMetric] = {
    "mean-iou": mean_iou,
    "global-iou": global_iou,
    "pixel-accuracy": pixel_accuracy,
}


def evaluate_masks(
    true: ArrayLike, predicted: ArrayLike, classes: int = 2, *, names: Sequence[str] | None = None
) -> dict[str, float]:
    """Every metric of :data:`IMAGE_METRICS`, and the IoU of each class.

    Args:
        true: ``(n, H, W)``.
        predicted: ``(n, H, W)``.
        classes: how many classes there are.
        names: their names; their numbers where None.

    Where some pixels are not known, ``pixels`` is the number of those that are.
    """
    named = class_names(names, classes)
    found = {name: metric(true, predicted, classes) for name, metric in IMAGE_METRICS.items()}
    each = class_ious(true, predicted, classes)
    known = known_pixels(np.asarray(true), classes)
    found |= {} if known is None else {"pixels": int(known.sum())}
    return found | {f"iou of {name}": float(value) for name, value in zip(named, each, strict=True)}
