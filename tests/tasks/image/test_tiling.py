"""Tiles: where they lie, and that they give what the whole image gives."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from lossnet import ImageSegmenter
from lossnet.exporting.runtime import tiling
from lossnet.exporting.runtime.tiling import tile_of, tiled
from lossnet.tasks.image import segmenter
from lossnet.tasks.image.crops import FixedCrops, image_tensor


@pytest.mark.parametrize("part", [1, 2, 3, 7, 16, 24, 64, 200])
@pytest.mark.parametrize("more", [0, 1, 5, 64, 999])
def test_tiles_cover_a_side_and_their_weights_are_smooth(part: int, more: int) -> None:
    length = part + more
    side = tiled(length, part)
    assert side.places[0] == 0
    assert side.places[-1] == more
    total = np.zeros(length)
    for place, weights in zip(side.places, side.weights, strict=True):
        total[place : place + part] += weights
    assert (total > 0).all()
    overlap = min(96, part // 2)
    if more and overlap > 8:  # a pixel's share of a tile changes by a step at a time
        for place, weights in zip(side.places, side.weights, strict=True):
            share = np.zeros(length)
            share[place : place + part] = weights
            assert np.abs(np.diff(share / total)).max() <= 4 / overlap


@pytest.mark.parametrize("length", [640, 641, 700, 1025, 2000, 4099])
def test_tiles_of_large_images_are_on_a_grid_and_overlap_enough(length: int) -> None:
    part, _ = tile_of((length, 8))
    side = tiled(length, part, 16)
    assert all(place % 16 == 0 for place in side.places)
    assert side.places[-1] == length - part
    gaps = np.diff(side.places)
    assert (part - gaps >= 80).all()  # the margins of both neighbours, and more
    assert part <= 655


def test_small_images_are_one_tile() -> None:
    assert tile_of((300, 640)) == (300, 640)
    assert tiled(300, 300, 16).places == [0]


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of 128 and more pixels, in batches of two."""
    monkeypatch.setattr(tiling, "TILE", 128)
    monkeypatch.setattr(segmenter, "_BATCH_PIXELS", 2 * 128**2)


def images(n: int, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    across = np.sin(np.arange(width) / 9 + rng.uniform(0, 6, (n, 1, 1)))
    masks = (across + 0.2 * rng.normal(size=(n, height, width)) > 0).astype(int)
    X = masks[..., None] + rng.normal(size=(n, height, width, 3))
    return X.astype(np.float32), masks


def fitted(method: str = "cross-entropy", classes: int = 2, **params) -> ImageSegmenter:
    X, masks = images(4, 48, 48)
    masks[:, :5] = classes - 1
    settings = {"width": 8, "max_epochs": 1, "average": 1, "random_state": 0}
    return ImageSegmenter(method, **(settings | params)).fit(X, masks)


@pytest.mark.parametrize("classes", [2, 3])
def test_tiles_of_an_fcn_equal_the_whole_image(classes: int, small_tiles, monkeypatch) -> None:
    model = fitted(task_net="fcn", classes=classes)
    large, masks = images(2, 301, 190)
    found, predicted = model.predict_proba(large), model.predict(large)
    score = model.score(large, masks)
    monkeypatch.setattr(tiling, "TILE", 1000)
    whole = model.predict_proba(large)
    assert np.ptp(whole) > 0.05
    np.testing.assert_allclose(found, whole, atol=1e-5)
    # Ties within rounding apart, the masks are the same.
    top = np.stack([1 - whole, whole], -1) if classes == 2 else whole
    sure = np.ptp(np.sort(top)[..., -2:], axis=-1) > 1e-4
    assert (predicted == model.predict(large))[sure].all()
    assert score == pytest.approx(model.score(large, masks), abs=1e-4)


def test_tiles_of_a_unet_are_close_to_the_whole_image(small_tiles, monkeypatch) -> None:
    model = fitted(max_epochs=3)
    large, _ = images(1, 300, 200)
    found = model.predict_proba(large)
    monkeypatch.setattr(tiling, "TILE", 1000)
    whole = model.predict_proba(large)
    assert not np.array_equal(found, whole)  # maps are normalised over a tile
    assert np.abs(found - whole).mean() < 0.02


def test_an_image_of_one_tile_is_predicted_as_without_tiles() -> None:
    model = fitted()
    X, _ = images(3, 130, 140)
    tensors = image_tensor(model._data(X), model.standardiser_, "cpu")
    with torch.no_grad():
        whole = torch.sigmoid(model.nets_["task"](tensors))
    np.testing.assert_array_equal(model.predict_proba(X), whole.numpy())


def test_an_image_that_has_outgrown_its_crops_is_predicted_uncropped() -> None:
    model = fitted(average=3, crop=16)
    for side, uncropped in ((48, False), (49, True)):
        X, _ = images(1, 40, side)
        one = model.set_params(average=1).predict_proba(X)
        assert np.array_equal(model.set_params(average=3).predict_proba(X), one) == uncropped


def test_crops_give_way_to_each_other() -> None:
    # A critic takes nothing but crops, also of a large image.
    source = FixedCrops(torch.zeros(2, 3, 70, 20), crop=(16, 16))
    down, across = tiled(70, 16), tiled(20, 16)
    assert source.times == len(down.places) * len(across.places)
    found = torch.rand(2 * source.times, 16, 16)
    total, weight = np.zeros((2, 70, 20)), np.zeros((70, 20))
    along = [list(zip(side.places, side.weights, strict=True)) for side in (down, across)]
    for number, ((a, ours), (b, theirs)) in enumerate(product(*along)):
        place = slice(a, a + 16), slice(b, b + 16)
        weight[place] += np.outer(ours, theirs)
        for image in range(2):
            own = found[image * source.times + number].numpy()
            total[image][place] += np.outer(ours, theirs) * own
    np.testing.assert_allclose(source.average(found).numpy(), total / weight, atol=1e-6)


@pytest.mark.parametrize("energy", ["score-map", "critic"])
def test_a_descent_is_by_tile(energy: str, small_tiles) -> None:
    model = fitted("alen", energy_net=energy)
    large, _ = images(1, 161, 128)
    found = model.predict_proba(large)
    assert found.shape == (1, 161, 128)
    assert np.isfinite(found).all()
    # Far from the other tile, it is what the tile alone gives.
    if energy == "score-map":
        part = tile_of((161, 128))[0]
        alone = model.predict_proba(large[:, :part])
        np.testing.assert_allclose(found[:, :40], alone[:, :40], atol=1e-5)
