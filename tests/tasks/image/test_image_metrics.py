"""Metrics of masks against naive loops, empty masks, bad input."""

import numpy as np
import pytest

from lossnet.errors import DataError, SettingError
from lossnet.tasks.image import (
    class_ious,
    evaluate_masks,
    global_iou,
    image_ious,
    mean_iou,
    pixel_accuracy,
)

RNG = np.random.default_rng(0)


def naive_iou(a: np.ndarray, b: np.ndarray) -> float:
    either = (a | b).sum()
    return 1.0 if either == 0 else (a & b).sum() / either


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_metrics_equal_naive_loops(classes) -> None:
    true, guess = RNG.integers(0, classes, (2, 6, 4, 5))
    true[0], guess[1] = 0, 0
    each = []
    for a, b in zip(true, guess, strict=True):
        if classes == 2:
            each.append(naive_iou(a == 1, b == 1))
        else:
            present = [c for c in range(classes) if (a == c).any() or (b == c).any()]
            each.append(np.mean([naive_iou(a == c, b == c) for c in present]))
    np.testing.assert_allclose(image_ious(true, guess, classes), each)
    assert mean_iou(true, guess, classes) == pytest.approx(np.mean(each))
    pooled = [naive_iou(true == c, guess == c) for c in range(classes)]
    np.testing.assert_allclose(class_ious(true, guess, classes), pooled)
    whole = pooled[1] if classes == 2 else np.mean(pooled)
    assert global_iou(true, guess, classes) == pytest.approx(whole)
    assert pixel_accuracy(true, guess, classes) == pytest.approx((true == guess).mean())


def test_empty_masks() -> None:
    empty, full = np.zeros((1, 3, 3), int), np.ones((1, 3, 3), int)
    assert mean_iou(empty, empty) == 1.0
    assert mean_iou(empty, full) == 0.0
    assert global_iou(empty, empty) == 1.0
    # A third class that nobody has is left out of the mean.
    assert mean_iou(full, full, 3) == 1.0
    assert class_ious(full, full, 3).tolist() == [1.0, 1.0, 1.0]


def test_every_metric_at_once() -> None:
    masks = RNG.integers(0, 3, (2, 4, 4))
    found = evaluate_masks(masks, masks, 3, names=["sky", "sea", "sand"])
    assert set(found) == {
        "mean-iou",
        "global-iou",
        "pixel-accuracy",
        "iou of sky",
        "iou of sea",
        "iou of sand",
    }
    assert set(found.values()) == {1.0}
    with pytest.raises(SettingError, match="1 names for 3 classes"):
        evaluate_masks(masks, masks, 3, names=["sky"])
    with pytest.raises(SettingError, match="3 names for 2 classes; rename, or pass classes=3"):
        evaluate_masks(masks, masks, names=["sky", "sea", "sand"])


@pytest.mark.parametrize("metric", [mean_iou, pixel_accuracy, evaluate_masks])
def test_classes_are_a_number(metric) -> None:
    masks = np.full((1, 2, 2), 2)
    with pytest.raises(DataError, match=r"expected integers from 0 to 1.*pass classes=3"):
        metric(masks, masks)
    for classes in (["sky", "sea"], 1, True, 2.0):
        with pytest.raises(SettingError, match="classes must be their number, at least 2"):
            metric(masks, masks, classes)


@pytest.mark.parametrize(
    ("guess", "message"),
    [
        (np.zeros((1, 2, 3)), r"shape \(1, 2, 2\) and the predicted ones \(1, 2, 3\)"),
        (np.full((1, 2, 2), 2), "masks range from 2 to 2; expected integers .* classes=3"),
        (np.full((1, 2, 2), 0.5), "range from 0.5 to 0.5; expected the number"),
        (np.full((1, 2, 2), -1), "range from -1 to -1; expected the number"),
        (np.full((1, 2, 2), np.nan), "range from nan to nan; expected the number"),
        (np.full((1, 2, 2), "1"), "predicted masks have dtype <U1; expected numbers of classes"),
        (np.zeros((2, 2)), r"shape \(2, 2\); expected \(n, H, W\)"),
    ],
)
def test_bad_masks(guess, message) -> None:
    with pytest.raises(DataError, match=message):
        mean_iou(np.zeros((1, 2, 2)), guess)
