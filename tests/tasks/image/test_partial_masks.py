"""Pixels of 255: classes that are not known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lossnet import ImageSegmenter
from lossnet.context import Context
from lossnet.errors import DataError, SettingError
from lossnet.objectives import Judge
from lossnet.tasks.image import draw_segmentation, evaluate_masks, mean_iou, pixel_accuracy
from lossnet.tasks.image.crops import RandomCrops
from lossnet.tasks.image.describe import describe
from lossnet.tasks.image.images import ImageData
from lossnet.terms import CrossEntropy, Weighted

RNG = np.random.default_rng(0)


def problem(classes: int = 2):
    """Images whose grey values are their classes, and masks with a third not known."""
    true = RNG.integers(0, classes, (12, 8, 8))
    masks = np.where(RNG.random(true.shape) < 0.33, 255, true)
    masks[0] = 255
    return true / classes + 0.05 * RNG.normal(size=true.shape), true, masks


def segmenter(method: str = "cross-entropy", **params) -> ImageSegmenter:
    quick = {"width": 4, "max_epochs": 1, "random_state": 0, "crop": None}
    return ImageSegmenter(method, **{**quick, **params})


@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_count_known_pixels(classes) -> None:
    _, true, masks = problem(classes)
    guess = RNG.integers(0, classes, true.shape)
    known = masks != 255
    assert pixel_accuracy(masks, guess, classes) == (true == guess)[known].mean()
    found = evaluate_masks(masks, guess, classes)
    assert found["pixels"] == known.sum()
    own = []
    for k in range(1, len(true)):
        kept = known[k]
        own.append(mean_iou(true[k][kept][None, None], guess[k][kept][None, None], classes))
    assert found["mean-iou"] == pytest.approx(np.mean(own))
    flat = true[known][None, None], guess[known][None, None]
    assert found["global-iou"] == pytest.approx(evaluate_masks(*flat, classes)["global-iou"])
    assert "pixels" not in evaluate_masks(true, guess, classes)
    with pytest.raises(DataError, match="no pixel of the true masks is known"):
        mean_iou(np.full((1, 2, 2), 255), np.zeros((1, 2, 2)))


def test_what_counts_as_a_class() -> None:
    images = np.zeros((1, 2, 2))
    assert ImageData(images, [[[0, 2], [1, 255]]]).classes == 3
    assert ImageData(images, [[[0, 254], [1, 255]]]).classes == 256
    assert ImageData(images, [[[0, 255], [0, 255]]]).masks.max() == 1


@pytest.mark.parametrize("classes", [2, 3])
def test_the_loss_is_that_of_known_pixels(classes) -> None:
    images, _, masks = problem(classes)
    model = segmenter(validation_fraction=0.0).fit(images, masks)
    batch = model._source(ImageData(images[1:], masks[1:])).batch(slice(None))
    context = Context(model.nets_, batch, model._output()[1])
    losses, logits = Judge((Weighted(1.0, CrossEntropy()),))(context), context.logits()
    for b, mask in enumerate(masks[1:]):
        kept = torch.as_tensor(mask != 255)
        own, truth = logits[b][kept], torch.as_tensor(mask)[kept]
        if classes == 2:
            wanted = F.binary_cross_entropy_with_logits(own, truth.float(), reduction="sum")
        else:
            wanted = F.cross_entropy(own, truth, reduction="sum")
        assert float(losses[b]) == pytest.approx(float(wanted), rel=1e-4)


def test_crops_and_mirrors_keep_what_is_known_in_place() -> None:
    images = torch.arange(2 * 36.0).view(2, 1, 6, 6)
    known = images[:, 0] % 3 > 0
    source = RandomCrops(images, images[:, 0], crop=(4, 4), known=known)
    (rows,) = source.shuffled(2, torch.Generator().manual_seed(3))
    batch = source.batch(rows)
    assert torch.equal(batch.x[:, 0], batch.target)
    assert torch.equal(batch.known, batch.target % 3 > 0)
    seen = [source.batch(torch.tensor([view])).target[0, 0] for view in range(2)]
    assert torch.equal(seen[0], seen[1].flip(0))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", ["seal-nce", "alen", "seal-regression"])
def test_segmenters_learn_from_known_pixels(method, classes, tmp_path) -> None:
    images, _, masks = problem(classes)
    model = segmenter(method, crop=4).fit(images, masks)
    assert set(np.unique(model.predict(images))) <= set(range(classes))
    assert 0.0 <= model.score(images, masks) <= 1.0
    assert model.score(images, masks) == model.score(images[1:], masks[1:])
    shown = {"model": model.predict(images)}
    path = draw_segmentation(images, masks, shown, tmp_path / "a.png", classes=classes)
    assert path.stat().st_size > 1000
    assert "not known" in str(describe(ImageData(images, masks), {}, classes=None, top=3))


def test_a_net_without_a_task_net_refuses() -> None:
    images, _, masks = problem()
    with pytest.raises(SettingError, match="pixels are not known, and 'dvn' has no task-net"):
        segmenter("dvn").fit(images, masks)
    model = segmenter(max_epochs=2).fit(images, masks)
    model.calibrate(images, masks)
    assert model.temperature_ > 0
