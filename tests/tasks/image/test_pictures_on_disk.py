"""Folders of pictures that stay on disk: the images, and the model, of those in memory."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from PIL import Image

from lossnet import Callback, ImageSegmenter
from lossnet.cli import main
from lossnet.errors import DataError
from lossnet.tasks.image import disk_pictures, load_image_splits, load_images
from lossnet.tasks.image.disk_pictures import DiskPictures
from lossnet.tasks.image.picture_files import DamagedImageWarning


def write(
    folder, count: int = 24, *, classes: int = 2, unknown: bool = False, side: int = 16, **kw
):
    """Discs on noise, and their masks."""
    rng = np.random.default_rng(kw.get("seed", 0))
    (folder / "images").mkdir(parents=True)
    (folder / "masks").mkdir()
    down, right = np.mgrid[:side, :side]
    for k in range(count):
        centre, radius = rng.integers(4, side - 4, 2), rng.integers(2, 6)
        mask = ((down - centre[0]) ** 2 + (right - centre[1]) ** 2 < radius**2).astype(np.uint8)
        mask = mask * (1 + k % (classes - 1))
        pixels = np.clip(60 + 80 * mask[..., None] + rng.normal(0, 20, (side, side, 3)), 0, 255)
        grey = kw.get("grey") and k % 3 == 0
        pixels = pixels.astype(np.uint8)[..., 0] if grey else pixels.astype(np.uint8)
        if kw.get("deep"):
            pixels = pixels[..., 0].astype(np.uint16) * 16
        if unknown and k % 4 == 1:
            mask[:3] = 255
        mask = np.full_like(mask, 255) if unknown and k == 7 else mask
        mask = mask * 255 if kw.get("black_and_white") else mask
        Image.fromarray(pixels).save(folder / "images" / f"{k:03}.png")
        Image.fromarray(mask).save(folder / "masks" / f"{k:03}.png")
    return folder


@pytest.fixture
def both(monkeypatch):
    """What a function gives with pictures in memory, and with pictures on disk."""

    def run(function):
        found = []
        for limit in (1 << 40, 1):
            monkeypatch.setattr(disk_pictures, "ON_DISK", limit)
            found.append(function())
        return found

    return run


def assert_same(ours, theirs) -> None:
    assert isinstance(ours.images, DiskPictures)
    assert isinstance(theirs.images, np.ndarray)
    assert ours.images.shape == theirs.images.shape
    assert ours.images.dtype == theirs.images.dtype
    assert np.array_equal(ours.images, theirs.images)
    assert (ours.masks is None) == (theirs.masks is None)
    if theirs.masks is not None:
        assert np.array_equal(ours.masks, theirs.masks)
        assert [*map(list, ours.masks.values)] == [np.unique(m).tolist() for m in theirs.masks]
    for name in ("classes", "names", "notes", "sizes", "white", "size", "channels"):
        assert getattr(ours, name) == getattr(theirs, name), name
    for classes in (2, 3, 256):
        assert ours.n_unknown(classes) == theirs.n_unknown(classes)
    assert ours.checksum() == theirs.checksum()


@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"classes": 4},
        {"unknown": True},
        {"grey": True},
        {"deep": True},
        {"black_and_white": True},
    ],
)
@pytest.mark.parametrize("size", [None, (12, 10)])
def test_images_are_those_in_memory(tmp_path, both, monkeypatch, kind, size) -> None:
    folder = write(tmp_path / "a", **kind)
    monkeypatch.setattr(disk_pictures, "_BLOCK", 4000)
    theirs, ours = both(lambda: load_images(folder, size=size))
    assert_same(ours, theirs)
    rows = [7, 3, 20, 3]
    assert_same(ours.subset(rows), theirs.subset(rows))
    assert_same(ours.subset(rows).subset([1, 0]), theirs.subset(rows).subset([1, 0]))
    assert_same(ours.without_labels(), theirs.without_labels())


def test_parts_are_joined_on_disk(tmp_path, both) -> None:
    write(tmp_path / "a" / "train", 8)
    write(tmp_path / "a" / "test", 5, seed=1)
    assert_same(*reversed(both(lambda: load_images(tmp_path / "a"))))
    theirs, ours = both(lambda: load_image_splits(tmp_path / "a"))
    for (_, one), (_, other) in zip(ours.items(), theirs.items(), strict=True):
        assert_same(one, other)


def test_a_damaged_picture_is_left_out(tmp_path, both) -> None:
    folder = write(tmp_path / "a", 6)
    path = folder / "images" / "002.png"
    path.write_bytes(path.read_bytes()[:60])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedImageWarning)
        theirs, ours = both(lambda: load_images(folder))
    assert_same(ours, theirs)
    assert len(ours) == 5


SETTINGS = {"width": 4, "max_epochs": 2, "random_state": 0, "batch_size": 5, "dropout": 0.1}


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ({}, {"method": "cross-entropy"}),
        ({}, {"method": "alen", "crops": 2}),
        ({"classes": 3, "unknown": True}, {"method": "seal-margin", "crop": 8}),
        ({"grey": True}, {"method": "cross-entropy", "crop": None, "flip": False}),
    ],
)
def test_the_model_is_that_of_images_in_memory(tmp_path, both, kind, settings) -> None:
    folder, other = write(tmp_path / "a", **kind), write(tmp_path / "b", 5, seed=1, **kind)

    def fitted():
        model = ImageSegmenter(**{**SETTINGS, **settings}).fit(folder)
        history = [row | {"seconds": 0} for row in model.history_]
        return history, model.score(other), model.predict_proba(other), model.predict(other)

    theirs, ours = both(fitted)
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert np.array_equal(ours[2], theirs[2])
    assert np.array_equal(ours[3], theirs[3])


def test_validation_and_unlabelled_images_stay_on_disk(tmp_path, both) -> None:
    folder, other = write(tmp_path / "a"), write(tmp_path / "b", 7, seed=1)

    def fitted():
        model = ImageSegmenter("seal-margin", **SETTINGS)
        given = {"validation_data": load_images(other), "unlabelled": load_images(other)}
        return model.fit(load_images(folder), **given).predict_proba(other)

    assert np.array_equal(*both(fitted))


def test_commands_train_evaluate_and_predict(tmp_path, both, capsys) -> None:
    for part, count in (("train", 12), ("val", 6), ("test", 5)):
        write(tmp_path / "a" / part, count, seed=count)

    def commands():
        out, found = tmp_path / "model", tmp_path / "found.npz"
        train = ["train", str(tmp_path / "a"), "--out", str(out), "--method", "cross-entropy"]
        assert main([*train, "--overwrite", "--quiet", "--set", "max_epochs=2", "width=4"]) == 0
        capsys.readouterr()
        assert main(["evaluate", str(out), str(tmp_path / "a")]) == 0
        assert main(["describe", str(tmp_path / "a")]) == 0
        predict = ["predict", str(out), str(tmp_path / "a" / "test"), "--out", str(found)]
        assert main([*predict, "--proba"]) == 0
        with np.load(found) as arrays:
            return capsys.readouterr().out, {key: arrays[key].tolist() for key in arrays}

    theirs, ours = both(commands)
    assert ours == theirs


def test_bad_folders_are_refused_as_in_memory(tmp_path, both) -> None:
    def refused(folder):
        with pytest.raises(DataError) as error:
            load_images(folder)
        return str(error.value)

    folder = write(tmp_path / "a", 5)
    Image.new("RGB", (9, 9)).save(folder / "images" / "003.png")
    theirs, ours = both(lambda: refused(folder))
    assert ours == theirs
    Image.new("L", (9, 9)).save(folder / "masks" / "003.png")
    theirs, ours = both(lambda: refused(folder))
    assert ours == theirs
    assert "must have one size" in ours
    folder = write(tmp_path / "b", 5)
    (folder / "masks" / "003.png").unlink()
    theirs, ours = both(lambda: refused(folder))
    assert ours == theirs
    assert "'003' has no mask; add it" in ours
    folder = write(tmp_path / "c", 6, classes=4)

    def undeclared():
        with pytest.raises(DataError) as error:
            ImageSegmenter(classes=2).fit(folder)
        return str(error.value)

    theirs, ours = both(undeclared)
    assert ours == theirs


def test_a_picture_that_changes_is_noticed(tmp_path, monkeypatch) -> None:
    folder = write(tmp_path / "a")
    monkeypatch.setattr(disk_pictures, "ON_DISK", 1)

    class Replace(Callback):
        def on_epoch(self, trainer) -> None:
            for path in (folder / "images").iterdir():
                Image.new("RGB", (9, 9)).save(path)

    with pytest.raises(DataError, match=r"png changed while it was in use: .* start again"):
        ImageSegmenter("cross-entropy", **SETTINGS).fit(folder, callbacks=[Replace()])
