"""Images in memory, in npz files and in folders of pictures; damaged and ill-fitting ones."""

import numpy as np
import pytest

from lossnet.errors import DataError, SettingError
from lossnet.tasks.image import (
    DamagedImageWarning,
    ImageData,
    load_image_splits,
    load_images,
    write_masks,
)
from lossnet.tasks.image.folders import load_image_parts
from lossnet.tasks.image.picture_files import COLOURS, palette

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (5, 4, 6, 3), dtype=np.uint8)
MASKS = RNG.integers(0, 3, (5, 4, 6))
image = pytest.importorskip("PIL.Image")


def put(folder, names=None, *, images=IMAGES, masks=MASKS, scale: int = 1) -> list[str]:
    """Pictures in images/ and masks/."""
    names = names or [f"p{k}" for k in range(len(images))]
    for kind, arrays in (("images", images), ("masks", masks * scale)):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for name, array in zip(names, arrays, strict=True):
            image.fromarray(np.asarray(array, dtype=np.uint8)).save(folder / kind / f"{name}.png")
    return names


def test_arrays_are_kept_as_they_are() -> None:
    data = ImageData(IMAGES, MASKS)
    assert (len(data), data.size, data.channels, data.classes) == (5, (4, 6), 3, 3)
    np.testing.assert_allclose(data.floats(), IMAGES / 255.0, atol=1e-7)
    assert data.subset([3, 1]).names == ["3", "1"]
    np.testing.assert_array_equal(data.subset([3, 1]).masks, MASKS[[3, 1]])
    assert data.checksum() == ImageData(IMAGES, MASKS).checksum()
    assert data.checksum() != ImageData(IMAGES, MASKS * 0).checksum()
    grey = ImageData(IMAGES[..., 0] / 7.0)
    assert grey.channels == 1
    assert grey.images.dtype == np.float32
    assert ImageData(IMAGES, MASKS > 0).classes == 2


@pytest.mark.parametrize(
    ("images", "masks", "message"),
    [
        (np.zeros((2, 3)), None, r"images have shape \(2, 3\); expected"),
        (np.zeros((0, 3, 3)), None, r"images have shape \(0, 3, 3\)"),
        (np.full((1, 2, 2), np.nan), None, "image '0' holds NaN or infinity"),
        (np.zeros((1, 2, 2)), np.full((1, 2, 2), -1), "mask '0' has -1 at row 0, column 0"),
        (np.zeros((1, 2, 2)), np.full((1, 2, 2), 0.5), "mask '0' has 0.5"),
        (np.zeros((1, 2, 2)), np.zeros((1, 2, 2, 1)), r"masks have shape \(1, 2, 2, 1\)"),
        ([np.zeros((2, 2)), np.zeros((3, 2))], None, r"image '1' has shape \(3, 2\) and '0'"),
        (np.full((1, 2, 2), "a"), None, "images have dtype"),
    ],
)
def test_bad_arrays(images, masks, message) -> None:
    with pytest.raises(DataError, match=message):
        ImageData(images, masks)


def test_parts_are_joined() -> None:
    first = ImageData(IMAGES, MASKS, name="a", notes=["one"])
    second = ImageData(IMAGES[:2] / 255.0, MASKS[:2], notes=["one", "two"], white=4095)
    data = ImageData.join({"test": second, "train": first})
    assert (data.name, data.names[4:6]) == ("a", ["train/4", "test/0"])
    assert (data.notes, data.white, first.notes) == (["one", "two"], 4095, ["one"])
    np.testing.assert_array_equal(data.masks, np.concatenate([MASKS, MASKS[:2]]))
    assert ImageData.join({"own": first, "test": second}).names[:3] == ["test/0", "test/1", "own/0"]
    # Bytes and floats are joined as floats of the same scale.
    np.testing.assert_allclose(data.images[5:], data.images[:2], atol=1e-6)
    assert (data.labelled, data.groups) == (True, None)
    bare = data.without_labels()
    assert (bare.labelled, data.labelled, bare.names) == (False, True, data.names)
    assert ImageData.join({"train": bare, "test": data}).masks is None
    with pytest.raises(DataError, match="images of different sizes or channels"):
        ImageData.join({"train": first, "test": ImageData(IMAGES[:, :2])})


def test_names_are_one_each() -> None:
    with pytest.raises(DataError, match="5 images and 1 names"):
        ImageData(IMAGES, names=["a"])


def test_npz(tmp_path) -> None:
    np.savez(tmp_path / "a.npz", images=IMAGES, labels=MASKS)
    data = load_images(tmp_path / "a.npz")
    np.testing.assert_array_equal(data.masks, MASKS)
    np.savez(tmp_path / "b.npz", train_images=IMAGES, train_masks=MASKS, val_images=IMAGES[:2])
    splits = load_image_splits(tmp_path / "b.npz")
    assert len(splits.train) == 5
    assert splits.validation is not None
    assert splits.validation.masks is None
    assert splits.test is None
    assert len(load_images(tmp_path / "b.npz")) == 7
    assert load_images(tmp_path / "b.npz").masks is None


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": IMAGES}, "has the keys X; expected images and masks"),
        ({"train_masks": MASKS}, "has the keys train_masks"),
        ({"images": IMAGES, "test_images": IMAGES}, "with and without a part"),
        ({"test_images": IMAGES}, "no training part, only test"),
    ],
)
def test_bad_npz(tmp_path, arrays, message) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=message):
        load_image_splits(tmp_path / "a.npz")
    (tmp_path / "b.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"b.npz is not a complete .npz file"):
        load_images(tmp_path / "b.npz")


def test_a_folder_of_pairs(tmp_path) -> None:
    names = put(tmp_path)
    data = load_images(tmp_path)
    assert data.names == names
    np.testing.assert_array_equal(data.images, IMAGES)
    np.testing.assert_array_equal(data.masks, MASKS)
    parts = load_image_splits(tmp_path)
    assert [len(part) for _, part in parts.items()] == [3, 1, 1]


def test_masks_beside_their_images(tmp_path) -> None:
    for k in range(3):
        image.fromarray(IMAGES[k]).save(tmp_path / f"p{k}.png")
        image.fromarray(MASKS[k].astype(np.uint8)).save(tmp_path / f"p{k}_mask.png")
    data = load_images(tmp_path)
    assert data.names == ["p0", "p1", "p2"]
    np.testing.assert_array_equal(data.masks, MASKS[:3])


def test_parts_in_folders(tmp_path) -> None:
    put(tmp_path / "train")
    put(tmp_path / "val", images=IMAGES[:2], masks=MASKS[:2])
    splits = load_image_splits(tmp_path)
    assert [(part, len(data)) for part, data in splits.items()] == [("train", 5), ("validation", 2)]
    assert len(load_images(tmp_path)) == 7


def test_masks_of_0_and_255_are_two_classes(tmp_path) -> None:
    put(tmp_path, masks=(MASKS > 0).astype(int), scale=255)
    data = load_images(tmp_path)
    np.testing.assert_array_equal(data.masks, MASKS > 0)
    assert data.notes == ["masks hold 0 and 255, taken as the classes 0 and 1"]


def test_arrays_of_0_and_255_are_two_classes(tmp_path) -> None:
    data = ImageData(IMAGES, (MASKS > 0) * 255, notes=["a note"])
    np.testing.assert_array_equal(data.masks, MASKS > 0)
    assert data.notes == ["a note", "masks hold 0 and 255, taken as the classes 0 and 1"]
    assert data.subset([0, 1]).notes == data.notes
    np.savez(tmp_path / "a.npz", images=IMAGES, masks=((MASKS > 0) * 255).astype(np.uint8))
    assert load_images(tmp_path / "a.npz").classes == 2
    # Some images of 256 classes are no two classes.
    masks = np.arange(5)[:, None, None] * np.ones((5, 4, 6), int)
    masks[4] = 255
    assert ImageData(IMAGES, masks).subset([0, 4]).masks.max() == 255  # still not known
    with pytest.raises(DataError, match="a subset must have at least one image"):
        data.subset(np.zeros(5, bool))


def test_masks_in_files_that_change_values(tmp_path) -> None:
    put(tmp_path)
    (tmp_path / "masks" / "p1.png").unlink()
    image.fromarray(MASKS[1].astype(np.uint8)).save(tmp_path / "masks" / "p1.jpg")
    with pytest.raises(DataError, match=r"p1.jpg is a mask in a JPEG file.*save masks as PNG"):
        load_images(tmp_path)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA"])
def test_masks_in_shades_of_grey(tmp_path, mode) -> None:
    put(tmp_path)
    for k, mask in enumerate(MASKS):
        grey = image.fromarray(mask.astype(np.uint8))
        grey.convert(mode).save(tmp_path / "masks" / f"p{k}.png")
    np.testing.assert_array_equal(load_images(tmp_path).masks, MASKS)


def test_grey_pictures_of_more_than_8_bits(tmp_path) -> None:
    grey = IMAGES[0, ..., 0].copy()
    grey[0, 0] = 255
    for name, values in (
        ("16.png", grey.astype(np.uint16) * 257),
        ("dark.png", grey.astype(np.uint16)),
        ("32.tif", grey.astype(np.int32) * 257),
        ("float.tif", grey.astype(np.float32) / 255),
    ):
        image.fromarray(values).save(tmp_path / name)
        np.testing.assert_array_equal(load_images(tmp_path / name).images[0, ..., 0], grey)
        assert load_images(tmp_path / name, size=(2, 3)).images.dtype == np.uint8
    for name, values, message in (
        ("large.tif", grey.astype(np.int32) * 1000, "from 0 to 255000; expected 0 to 65535"),
        ("below.tif", grey.astype(np.int32) - 256, "to -1; expected"),
        ("wide.tif", grey.astype(np.float32), r"to 255.0; expected 0 to 1 of floating-point"),
        ("nan.tif", np.full((2, 2), np.nan, np.float32), "from nan to nan; expected 0 to 1"),
    ):
        values.flat[1] = min(values.flat[1], 0)
        image.fromarray(values).save(tmp_path / name)
        with pytest.raises(DataError, match=rf"{name} has values .*{message}.*scale them"):
            load_images(tmp_path / name)


def put_grey(folder, arrays, *, names=None) -> None:
    """Grey pictures of 16 bits, without masks."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in zip(names or "abcdefg", arrays, strict=False):
        image.fromarray(np.asarray(array, dtype=np.uint16)).save(folder / f"{name}.png")


def test_the_folder_decides_how_grey_values_are_scaled(tmp_path) -> None:
    dark, bright = np.full((2, 2), 200), np.full((2, 2), 4000)
    put_grey(tmp_path / "train", [dark, bright])
    put_grey(tmp_path / "test", [dark])
    parts = load_image_parts(tmp_path)
    for data, expected in ((parts["train"], [12, 249]), (parts["test"], [12])):
        assert data.images[:, 0, 0, 0].tolist() == expected
        assert data.white == 4095
        assert "grey values of more than 8 bits are scaled from 0 to 4095" in data.notes
    assert load_images(tmp_path).white == 4095
    resized = load_images(tmp_path, size=1)
    assert resized.images[:, 0, 0, 0].tolist() == [12, 249, 12]
    # As a model's training data was, whatever a folder's own values are.
    data = load_images(tmp_path / "train", white=65535)
    assert data.images[:, 0, 0, 0].tolist() == [1, 16]
    with pytest.raises(DataError, match=r"b.png has values from 4000 to 4000; expected 0 to 255"):
        load_images(tmp_path / "train", white=255)
    with pytest.raises(SettingError, match="white must be one of 255, 4095, 65535, got 7"):
        load_images(tmp_path, white=7)


@pytest.mark.parametrize("suffix", [".webp", ".ppm", ".tga", ".jp2", ".PNM"])
def test_every_suffix_that_pillow_reads(tmp_path, suffix) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "masks").mkdir()
    image.fromarray(IMAGES[0]).save(tmp_path / "images" / f"a{suffix}")
    image.fromarray(MASKS[0].astype(np.uint8)).save(tmp_path / "masks" / "a.png")
    assert load_images(tmp_path).names == ["a"]
    assert load_images(tmp_path / "images" / f"a{suffix}").size == (4, 6)


def test_files_that_are_not_read_are_named(tmp_path) -> None:
    put(tmp_path)
    for name in ("images/p5.heic", "masks/notes.txt", "README.md", "images/.hidden"):
        (tmp_path / name).write_bytes(b"something")
    assert load_images(tmp_path).notes == [
        f"not read in {tmp_path}: README.md, images/p5.heic, masks/notes.txt"
    ]
    for part in ("train", "val"):
        put(tmp_path / "parts" / part)
    (tmp_path / "parts" / "extra").mkdir()
    assert load_images(tmp_path / "parts").notes == [f"not read in {tmp_path}/parts: extra"]
    put(tmp_path / "parts" / "dev")
    with pytest.raises(DataError, match="has two validation folders, dev and val; keep one"):
        load_images(tmp_path / "parts")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "a.heic").write_bytes(b"something")
    with pytest.raises(DataError, match=r"no picture that Pillow reads \(it has a.heic\)"):
        load_images(tmp_path / "odd")
    with pytest.raises(DataError, match=r"Pillow reads no .heic files; convert it"):
        load_images(tmp_path / "odd" / "a.heic")


def test_masks_need_not_be_read(tmp_path) -> None:
    put(tmp_path)
    (tmp_path / "masks" / "p2.png").write_bytes(b"no picture")
    (tmp_path / "masks" / "p3.png").unlink()
    data = load_image_parts(tmp_path, with_masks=False)[""]
    assert (len(data), data.masks, data.notes) == (5, None, [])


def test_images_without_masks(tmp_path) -> None:
    put(tmp_path)
    assert load_images(tmp_path / "images").masks is None


def test_written_masks_are_read_again(tmp_path) -> None:
    names = put(tmp_path)
    for path in (tmp_path / "masks").iterdir():
        path.unlink()
    written = write_masks(tmp_path / "masks", MASKS, names)
    assert [path.name for path in written] == [f"{name}.png" for name in names]
    np.testing.assert_array_equal(load_images(tmp_path).masks, MASKS)


def test_masks_of_many_classes_are_read_again(tmp_path) -> None:
    masks = np.arange(256).reshape(1, 16, 16)
    (path,) = write_masks(tmp_path, masks)
    np.testing.assert_array_equal(np.asarray(image.open(path)), masks[0])
    assert len(np.unique(palette(), axis=0)) == 256
    assert palette()[: len(COLOURS)].tolist() == [list(colour) for colour in COLOURS]
    written = np.asarray(image.open(path).convert("RGB")).reshape(-1, 3)
    np.testing.assert_array_equal(written, palette())


@pytest.mark.parametrize(
    ("masks", "given", "message"),
    [
        (MASKS * 0.25, {}, "mask '0' has 0.[25]+; a PNG mask holds classes"),
        (MASKS - 1, {}, "has -1; a PNG mask"),
        (MASKS + 298, {}, "has (298|299|300); a PNG mask"),
        (MASKS * np.nan, {}, "has nan; a PNG mask"),
        (MASKS[0], {}, r"mask '0' has shape \(6,\)"),
        (MASKS.astype(str), {}, "and dtype <U"),
        (MASKS, {"names": list("abcdb")}, "two masks are named 'b'"),
        (MASKS, {"names": list("abcd")}, "5 masks and 4 names"),
        (MASKS, {"sizes": [(4, 6)]}, "5 masks and 1 sizes"),
        (MASKS, {"names": ["a", "b", "c", "d", "../e"]}, "'../e' would not lie in"),
    ],
)
def test_masks_that_cannot_be_written(tmp_path, masks, given, message) -> None:
    with pytest.raises(DataError, match=message):
        write_masks(tmp_path / "new", masks, **given)
    assert not (tmp_path / "new").exists()


def test_masks_are_written_at_the_size_their_pictures_had(tmp_path) -> None:
    put(tmp_path)
    data = load_images(tmp_path, size=(4, 12))
    height, width = IMAGES.shape[1:3]
    assert data.size == (4, 12)
    assert data.sizes == [(height, width)] * len(IMAGES)
    assert data.subset([1, 3]).sizes == [(height, width)] * 2
    written = write_masks(tmp_path / "own", data.masks, data.names, sizes=data.sizes)
    own = [np.asarray(image.open(path)) for path in written]
    rows, columns = np.arange(height) * 4 // height, np.arange(width) * 12 // width
    np.testing.assert_array_equal(own, data.masks[:, rows][:, :, columns])
    assert load_images(tmp_path).sizes is None


def test_a_damaged_picture_is_named_and_the_rest_kept(tmp_path) -> None:
    put(tmp_path)
    file = tmp_path / "images" / "p2.png"
    file.write_bytes(file.read_bytes()[:60])
    with pytest.warns(DamagedImageWarning, match=r"p2.png cannot be read .*left out"):
        data = load_images(tmp_path)
    assert data.names == ["p0", "p1", "p3", "p4"]
    np.testing.assert_array_equal(data.masks, MASKS[[0, 1, 3, 4]])
    assert "p2.png" in data.notes[0]


def test_one_picture_and_a_folder_of_one_file(tmp_path) -> None:
    put(tmp_path / "pairs")
    data = load_images(tmp_path / "pairs" / "images" / "p1.png")
    assert (data.names, data.masks) == (["p1"], None)
    np.testing.assert_array_equal(data.images, IMAGES[1:2])
    (tmp_path / "arrays").mkdir()
    np.savez(tmp_path / "arrays" / "a.npz", train_images=IMAGES, test_images=IMAGES[:1])
    data = load_images(tmp_path / "arrays")
    assert (data.name, data.names[4:]) == ("a", ["train/4", "test/0"])
    with pytest.raises(DataError, match=r"'../a' would not lie in"):
        write_masks(tmp_path, MASKS[:1], ["../a"])
    (tmp_path / "a.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"a.png cannot be read .*choose another picture"):
        load_images(tmp_path / "a.png")


def test_no_program_in_a_picture_is_run(tmp_path, monkeypatch) -> None:
    from PIL import EpsImagePlugin

    put(tmp_path)
    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *_: pytest.fail("Ghostscript ran"))
    for name in ("p1.png", "drawing.eps"):
        image.fromarray(IMAGES[1]).save(tmp_path / "images" / name, format="EPS")
    with pytest.warns(DamagedImageWarning, match=r"p1.png cannot be read .*the pair is left out"):
        data = load_images(tmp_path)
    assert data.names == ["p0", "p2", "p3", "p4"]
    assert data.notes[0] == f"not read in {tmp_path}: images/drawing.eps"


@pytest.mark.parametrize("most", [23, 11])  # Pillow warns from once, and raises from twice as many
def test_pictures_of_too_many_pixels(tmp_path, monkeypatch, most) -> None:
    put(tmp_path)
    monkeypatch.setattr(image, "MAX_IMAGE_PIXELS", most)
    message = rf"p1.png cannot be read \(it has more than {most} pixels; make it smaller\)"
    with pytest.raises(DataError, match=message):
        load_images(tmp_path / "images" / "p1.png")


def test_pictures_are_not_copied(tmp_path, monkeypatch) -> None:
    put(tmp_path)
    monkeypatch.setattr(image.Image, "copy", lambda _: pytest.fail("copied"))
    np.testing.assert_array_equal(load_images(tmp_path).images, IMAGES)


def test_nothing_but_damaged_pictures(tmp_path) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    with (
        pytest.warns(DamagedImageWarning),
        pytest.raises(DataError, match=r"no picture of .* can be read"),
    ):
        load_images(tmp_path)
    for name in "bcdef":
        (tmp_path / f"{name}.png").write_bytes(b"no picture")
    with (
        pytest.warns(DamagedImageWarning),
        pytest.raises(DataError, match=r"a.png cannot be .*; nor can b.png, c.png, 3 more$"),
    ):
        load_images(tmp_path)


def test_a_mask_of_another_size_names_the_pair(tmp_path) -> None:
    put(tmp_path)
    image.fromarray(np.zeros((3, 6), np.uint8)).save(tmp_path / "masks" / "p1.png")
    with pytest.raises(DataError, match=r"p1.png is 4 x 6 and .*masks.p1.png 3 x 6"):
        load_images(tmp_path)
    data = load_images(tmp_path, size=(8, 8))
    assert data.size == (8, 8)
    assert set(np.unique(data.masks)) <= {0, 1, 2}


def test_bad_folders(tmp_path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        load_images(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no picture that"):
        load_images(tmp_path)
    put(tmp_path)
    (tmp_path / "masks" / "p3.png").unlink()
    with pytest.raises(DataError, match="'p3' has no mask"):
        load_images(tmp_path)
    image.fromarray(IMAGES[3]).save(tmp_path / "masks" / "p3.png")
    with pytest.raises(DataError, match=r"p3.png is a mask in colours \(mode RGB\)"):
        load_images(tmp_path)
    image.fromarray(IMAGES[3]).save(tmp_path / "images" / "p3.bmp")
    with pytest.raises(DataError, match=r"p3.bmp and p3.png; keep one"):
        load_images(tmp_path)


def test_pictures_of_several_sizes_and_kinds(tmp_path) -> None:
    put(tmp_path)
    image.fromarray(IMAGES[0, ..., 0]).save(tmp_path / "images" / "p0.png")
    assert load_images(tmp_path).channels == 3
    for kind, array in (("images", IMAGES[1, :3]), ("masks", MASKS[1, :3].astype(np.uint8))):
        image.fromarray(array).save(tmp_path / kind / "p1.png")
    with pytest.raises(
        DataError, match=r"image 'p1' has shape \(3, 6, 3\) and 'p0'.*size=.*--size"
    ):
        load_images(tmp_path)
    assert load_images(tmp_path, size=(4, 4)).images.shape == (5, 4, 4, 3)
    assert load_images(tmp_path, size=4).images.shape == (5, 4, 4, 3)
    for size in (0, "4", (4,), (4, 4, 3), 2.5, True):
        with pytest.raises(SettingError, match=r"size must be a height and a width"):
            load_images(tmp_path, size=size)


@pytest.mark.parametrize(
    ("file", "counts", "classes"),
    [
        ("weizmann_horses/weizmann_horse_32x32.npz", (160, 40, 128), 2),
        ("lfw_parts/lfw_parts_32.npz", (1500, 500, 927), 3),
    ],
)
def test_benchmark_images(shared_images, file, counts, classes) -> None:
    splits = load_image_splits(shared_images / file)
    assert tuple(len(part) for _, part in splits.items()) == counts
    for _, part in splits.items():
        assert (part.size, part.channels, part.classes) == ((32, 32), 3, classes)
