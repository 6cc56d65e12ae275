"""Checks of an image segmenter's settings and data, without a model."""

from types import SimpleNamespace

import numpy as np
import pytest

from lossnet.errors import DataError, SettingError
from lossnet.tasks.image import ImageData
from lossnet.tasks.image.pixels import (
    check_crop,
    check_fits,
    crop_of,
    crops_of,
    named_classes,
)
from lossnet.tasks.image.scales import far_from_training
from lossnet.tasks.standardiser import Standardiser

IMAGES = np.zeros((2, 4, 6, 3), np.uint8)
MODEL = SimpleNamespace(channels_=3, crop_=(3, 3), classes_=["0", "1"], white_=None)


def masks_of(*values: int) -> ImageData:
    return ImageData(IMAGES, np.resize(values, (2, 4, 6)))


@pytest.mark.parametrize(
    ("values", "count"), [((0,), 2), ((0, 1), 2), ((0, 255), 2), ((0, 2), 3), ((1, 2, 5), 6)]
)
def test_classes_are_counted(values, count) -> None:
    assert named_classes(None, masks_of(*values)) == [str(number) for number in range(count)]


def test_gaps_among_classes_must_be_declared() -> None:
    assert named_classes(None, masks_of(0, 1, 255)) == ["0", "1"]  # 255 is not known
    with pytest.raises(DataError, match=r"hold the values 0, 128 up to 128"):
        named_classes(None, masks_of(0, 128))
    assert len(named_classes(256, masks_of(0, 1, 255))) == 256


@pytest.mark.parametrize("crop", [(24,), (), (1, 2, 3), [8], 2.5, (8, "8"), True])
def test_crops_that_are_none(crop) -> None:
    with pytest.raises(SettingError, match=r"crop (must be|is)"):
        check_crop(crop)


@pytest.mark.parametrize("crop", [None, "auto", 24, (24, 16), [24, 16]])
def test_crops(crop) -> None:
    check_crop(crop)


def test_crops_by_the_size_of_images_and_data() -> None:
    sizes = [(32, 32), (8, 100), (250, 250)]
    assert [crop_of("auto", size) for size in sizes] == [(24, 24), (6, 64), (64, 64)]
    assert crop_of(200, (250, 250)) == (200, 200)
    assert [crops_of(None, n)["times"] for n in (1, 250, 334, 999, 5000)] == [4, 4, 2, 1, 1]
    assert crops_of(3, 5000) == {"times": 3}


def test_errors_name_the_data() -> None:
    grey, small = ImageData(IMAGES[..., 0]), ImageData(IMAGES[:, :2])
    with pytest.raises(DataError, match=r"^data has grey images .*; convert them"):
        check_fits(grey, MODEL)
    with pytest.raises(DataError, match=r"^validation_data has grey images"):
        check_fits(grey, MODEL, "validation_data")
    with pytest.raises(DataError, match=r"^validation_data has images of 2 x 6"):
        check_fits(small, MODEL, "validation_data")
    with pytest.raises(DataError, match=r"^validation_data: the mask of image '0' has the class 2"):
        check_fits(masks_of(0, 2), MODEL, "validation_data")


def test_a_single_image_in_colours() -> None:
    with pytest.raises(DataError, match=r"takes images of 3 channels; .* as image\[None\]"):
        check_fits(ImageData(IMAGES[0]), MODEL)


def test_images_scaled_otherwise_than_in_training() -> None:
    values = np.random.default_rng(0).integers(0, 256, (4, 4, 6, 3), dtype=np.uint8)
    trained = Standardiser.of(ImageData(values).floats().reshape(-1, 3), True)
    for good in (values, values / 255.0, IMAGES):
        assert far_from_training(ImageData(good), trained) is None
    for bad in (values.astype(int), values.astype(float)):
        message = far_from_training(ImageData(bad), trained)
        assert message is not None
        assert "uint8 images count as 0 to 1 and other numbers as they are" in message
        assert far_from_training(ImageData(bad), None) is None
        assert far_from_training(ImageData(bad[..., 0]), trained) is None
