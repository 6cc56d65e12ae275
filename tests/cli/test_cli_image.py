"""The commands on images and masks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SMALL_IMAGES, SMALL_NET, Result, discs, one_line, write_pairs

from lossnet import ImageSegmenter
from lossnet.tasks.image import evaluate_masks, load_images
from lossnet.tasks.registry import tasks

image = pytest.importorskip("PIL.Image")
Run = Callable[..., Result]


def told(source: Path) -> str:
    return next((task.name for task in tasks() if task.recognises(str(source))), "none")


def test_told_by_names_and_keys(tmp_path: Path, pictures: Path) -> None:
    images, masks = discs(3)
    assert told(pictures) == "image"
    assert told(pictures / "train") == "image"
    assert told(pictures / "train" / "images" / "p00.png") == "image"
    beside = tmp_path / "beside"
    beside.mkdir()
    image.fromarray(images[0]).save(beside / "a.jpg")
    assert told(beside) == "none"  # a picture may lie beside data of any kind
    image.fromarray(masks[0]).save(beside / "a_mask.png")
    assert told(beside) == "image"
    for name, arrays, task in (
        ("whole", {"images": images, "masks": masks}, "image"),
        ("parts", {"train_images": images, "train_labels": masks, "train_idx": masks}, "image"),
        ("rows", {"X": images[..., 0, 0], "Y": masks[:, 0] > 0}, "multilabel"),
        ("both", {"X": masks[:, 0], "Y": masks[:, 0] > 0, "images": images}, "multilabel"),
    ):
        (tmp_path / name).mkdir()
        np.savez(tmp_path / name / "a.npz", **arrays)
        assert told(tmp_path / name / "a.npz") == task
        assert told(tmp_path / name) == task
    (tmp_path / "damaged.npz").write_bytes(b"PK")
    assert told(tmp_path / "damaged.npz") == "multilabel"


def test_trains_on_a_folder_of_pairs(lossnet: Run, tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "discs", classes=3), tmp_path / "model"
    settings = [s for s in SMALL_IMAGES if s != "--quiet"]
    names = ["--classes", "ground,small,large"]
    results = ["--results", tmp_path / "results"]
    result = lossnet("train", data, "--out", out, *settings, "task_net=unet", *names, *results)
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].startswith(
        "discs: 12 train, 4 validation, 4 test images of 16 x 16, 3 channels, 3 classes (ground "
    )
    assert lines[0].endswith("of the training pixels); cross-entropy, seed 0")
    shares = [float(part.split()[-1]) for part in lines[0].split("(")[1].split("%")[:-1]]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert [line.rsplit(maxsplit=2)[0].strip() for line in lines[1:-1]] == [
        "metric",
        *("mean-iou", "global-iou", "pixel-accuracy"),
        *("iou of ground", "iou of small", "iou of large"),
    ]
    model = ImageSegmenter.load(out)
    assert (model.task_net, model.classes_) == ("unet", ["ground", "small", "large"])
    stored = json.loads((out / "metrics.json").read_text())
    assert stored["classes"] == ["ground", "small", "large"]
    (run,) = (tmp_path / "results").rglob("*.json")
    assert json.loads(run.read_text())["metrics"] == stored["test"]["all"]
    # The test part is the one that training left out.
    found = json.loads(lossnet("evaluate", out, data, "--json").out)
    assert (found["split"], found["images"]) == ("test", 4)
    assert found["metrics"] == stored["test"]
    again = lossnet("train", data, "--out", out, *settings, "task_net=unet", *names, "--resume")
    assert "finished run" in again.out
    other = lossnet("train", data, "--out", out, *settings, "task_net=unet", "--resume")
    assert "other settings (different: classes)" in one_line(other)


def test_trains_on_arrays_and_given_parts(lossnet: Run, tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 1), ("c", 2)):
        images, masks = discs(6, grey=True, seed=seed)
        np.savez(tmp_path / f"{name}.npz", images=images, masks=masks)
    np.savez(tmp_path / "bare.npz", images=images)
    given = ["--validation", tmp_path / "b.npz", "--test", tmp_path / "c.npz"]
    infnet = ["--method", "infnet", "--set", "method.tune_on=unlabelled", *SMALL_NET]
    spare = ["--unlabelled", tmp_path / "bare.npz"]
    result = lossnet("train", tmp_path / "a.npz", "--out", tmp_path / "m", *given, *infnet, *spare)
    assert result.code == 0, result.err
    assert "6 train, 6 validation, 6 test images of 16 x 16, 1 channel, 2 classes" in result.out
    assert "bare.npz: 6 unlabelled images" in result.out


def test_a_test_part_without_masks_is_left_out(lossnet: Run, tmp_path: Path) -> None:
    data, out = tmp_path / "discs", tmp_path / "m"
    write_pairs(data / "train")
    write_pairs(data / "val", 4, seed=1)
    write_pairs(data / "test", 3, masks=False, seed=2)
    settings = [s for s in SMALL_IMAGES if s != "--quiet"]
    result = lossnet("train", data, "--out", out, *settings)
    assert result.code == 0, result.err
    assert "note: the test part of" in result.out
    assert "has no masks and is skipped; see lossnet predict" in result.out
    assert lossnet("predict", out, data, "--split", "test", "--out", tmp_path / "p").code == 0
    assert len(list((tmp_path / "p").iterdir())) == 3
    message = one_line(
        lossnet(
            "train", data / "train", *settings, "--test", data / "test", "--out", tmp_path / "n"
        )
    )
    assert "test has no masks" in message


def test_interrupted_and_resumed(
    lossnet: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lossnet.training import Trainer

    plain = Trainer._epoch

    def stop_in_second(trainer: Trainer) -> None:
        if trainer.epoch == 1:
            raise KeyboardInterrupt
        plain(trainer)

    data = write_pairs(tmp_path / "discs")
    settings = ["--set", *SMALL_NET, "max_epochs=3", "--quiet"]
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_epoch", stop_in_second)
        stopped = lossnet("train", data, "--out", tmp_path / "a", *settings)
    assert stopped.code == 130
    assert stopped.err.endswith("--resume\n")
    assert lossnet("train", data, "--out", tmp_path / "a", *settings, "--resume").code == 0
    assert lossnet("train", data, "--out", tmp_path / "b", *settings).code == 0
    weights = [next((tmp_path / name).glob("weights*")).read_bytes() for name in "ab"]
    assert weights[0] == weights[1]


def test_evaluates(lossnet: Run, segmenter: Path, pictures: Path) -> None:
    data = load_images(pictures / "test")
    predicted = ImageSegmenter.load(segmenter).predict(data)
    expected = evaluate_masks(data.masks, predicted, names=["ground", "disc"])
    result = json.loads(lossnet("evaluate", segmenter, pictures, "--json").out)
    assert (result["split"], result["images"]) == ("test", 6)
    assert result["metrics"]["all"] == expected
    text = lossnet("evaluate", segmenter, pictures, "--split", "all").out
    assert text.startswith(f"{pictures}: all 22 images\n")
    assert "iou of disc" in text


def test_draws(lossnet: Run, segmenter: Path, pictures: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    grid, frames = tmp_path / "grid.png", tmp_path / "frames.png"
    result = lossnet("evaluate", segmenter, pictures, "--picture", grid, "--frames", frames)
    assert result.out.endswith(f"picture: {grid}\nframes: {frames}\n")
    # Image, truth, the net and its refinement; all six test images, and a legend.
    assert image.open(grid).size == (651, 1110)
    assert image.open(frames).width > image.open(grid).width
    other = tmp_path / "plain"
    assert lossnet("train", pictures, "--out", other, *SMALL_IMAGES).code == 0
    wide = tmp_path / "wide.png"
    beside = ["--compare-with", segmenter, "--picture", wide]
    result = lossnet("evaluate", other, pictures, *beside, "--frames", frames)
    assert result.out.splitlines()[1].split() == ["metric", "plain", "alen"]
    assert image.open(wide).width > image.open(grid).width
    found = lossnet("evaluate", other, pictures, *beside, "--json")
    own = json.loads(lossnet("evaluate", segmenter, pictures, "--json").out)["metrics"]
    assert json.loads(found.out)["compared_with"] == {"alen": own}
    assert found.err == f"picture: {wide}\n"
    message = one_line(lossnet("evaluate", other, pictures, "--frames", frames))
    assert "cross-entropy predicts without one; train with --set refine=net" in message
    message = one_line(lossnet("evaluate", other, pictures, "--picture", tmp_path / "a.doc"))
    assert "a.doc' does not end in .png" in message


def test_beside_must_be_of_the_same_task(
    lossnet: Run, segmenter: Path, tagger: Path, pictures: Path
) -> None:
    message = one_line(lossnet("evaluate", segmenter, pictures, "--compare-with", tagger))
    assert f"--compare-with {tagger} is of the task sequence" in message
    message = one_line(lossnet("evaluate", segmenter, pictures, "--compare-with", segmenter))
    assert "names a model twice" in message


def test_beside_must_have_as_many_classes(lossnet: Run, segmenter: Path, tmp_path: Path) -> None:
    data, other = write_pairs(tmp_path / "discs", classes=3), tmp_path / "three"
    assert lossnet("train", data, "--out", other, *SMALL_IMAGES).code == 0
    message = one_line(lossnet("evaluate", other, data, "--compare-with", segmenter))
    assert "alen has 2 classes and three 3; evaluate them separately" in message
    # What training was given is recognised, and told where its test part no longer is.
    assert lossnet("evaluate", other, data).out.startswith(f"{data}: the test part's 4 images")
    (data / "images" / "p00.png").unlink()
    (data / "masks" / "p00.png").unlink()
    result = lossnet("evaluate", other, data)
    assert "the model was trained on some of these images" in result.err
    assert "all 19 images" in result.out


def test_predicts_masks(lossnet: Run, segmenter: Path, pictures: Path, tmp_path: Path) -> None:
    out = tmp_path / "masks"
    bare = write_pairs(tmp_path / "bare", 3, masks=False, seed=2) / "images"
    (bare / "p01.png").rename(bare / "a horse.png")
    result = lossnet("predict", segmenter, bare, "--out", out)
    assert result.out == f"3 predictions in {out}\n"
    assert sorted(p.name for p in out.iterdir()) == ["a horse.png", "p00.png", "p02.png"]
    expected = ImageSegmenter.load(segmenter).predict(load_images(bare))
    written = [np.asarray(image.open(path)) for path in sorted(out.iterdir())]
    np.testing.assert_array_equal(written, expected)
    single = lossnet("predict", segmenter, bare / "p00.png", "--out", tmp_path / "one")
    assert single.code == 0, single.err
    assert [p.name for p in (tmp_path / "one").iterdir()] == ["p00.png"]
    # Parts may have pictures of the same names: each goes to a folder of its own.
    assert lossnet("predict", segmenter, pictures, "--out", tmp_path / "all").code == 0
    assert len(list((tmp_path / "all" / "test").iterdir())) == 6
    assert len(list((tmp_path / "all" / "train").iterdir())) == 12
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all", "bare", "masks", "one"]


def test_predicts_arrays(lossnet: Run, segmenter: Path, pictures: Path, tmp_path: Path) -> None:
    out = tmp_path / "masks.npz"
    split = ["--split", "test", "--refine", "net"]
    result = lossnet("predict", segmenter, pictures, *split, "--out", out, "--proba")
    assert result.code == 0, result.err
    data = load_images(pictures / "test")
    model = ImageSegmenter.load(segmenter, refine="net")
    with np.load(out) as found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(data), atol=1e-6)
        np.testing.assert_array_equal(found["masks"], model.predict(data))
        assert found["names"].tolist() == data.names
        assert found["classes"].tolist() == ["ground", "disc"]
    assert [p.name for p in tmp_path.iterdir()] == ["masks.npz"]


def test_where_predictions_go(
    lossnet: Run, segmenter: Path, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predict = ["predict", segmenter, pictures, "--split", "test"]
    message = one_line(lossnet(*predict))
    assert "--out is missing: predictions go to a new folder or a .npz file" in message
    assert "go to a new folder or a .npz file" in one_line(lossnet(*predict, "--out", "a.jsonl"))
    message = one_line(lossnet(*predict, "--out", tmp_path / "m", "--proba"))
    assert "PNG masks hold no probabilities; --out must be an .npz file" in message
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a.png").write_bytes(b"mine")
    message = one_line(lossnet(*predict, "--out", tmp_path / "full"))
    assert "full already holds files; choose a new or an empty folder" in message
    (tmp_path / "empty.d").mkdir()
    assert lossnet(*predict, "--out", tmp_path / "empty.d").code == 0
    assert len(list((tmp_path / "empty.d").iterdir())) == 6

    # A disk that fills up on the third mask leaves no folder behind.
    import lossnet.tasks.image.picture_files as module

    plain, left = module.atomic_write, [3]

    def full(path: Path, write: Callable[[Path], None]) -> Path:
        left[0] -= 1
        if not left[0]:
            raise OSError(28, "No space left on device")
        return plain(path, write)

    monkeypatch.setattr(module, "atomic_write", full)
    before = sorted(tmp_path.iterdir())
    assert "No space left" in one_line(lossnet(*predict, "--out", tmp_path / "new"))
    assert sorted(tmp_path.iterdir()) == before


def test_describes(lossnet: Run, pictures: Path, tmp_path: Path) -> None:
    text = lossnet("describe", pictures, "--classes", "ground,disc").out
    assert "images              22 (12 train, 4 validation, 6 test)" in text
    assert "size                16 x 16 (height x width)" in text
    data = load_images(pictures)
    assert data.masks is not None
    share = 100 * data.masks.mean()
    assert f"foreground          {share:.1f} % of an image's pixels" in text
    assert f"disc    {share:.1f} %      22" in text
    images, masks = discs(3, grey=True)
    masks[1] = 0
    np.savez(tmp_path / "a.npz", images=images, masks=masks)
    assert "without foreground  1 image\n" in lossnet("describe", tmp_path / "a.npz").out
    bare = write_pairs(tmp_path / "bare", 2, masks=False) / "images"
    assert "masks     none" in lossnet("describe", bare, "--task", "image").out


def test_compares(lossnet: Run, pictures: Path, tmp_path: Path) -> None:
    options = ["--methods", "cross-entropy,seal-margin", "--seeds", "1", "--out", tmp_path / "r"]
    names = ["--classes", "ground,disc", "--quiet"]
    result = lossnet("compare", pictures, *options, *names, "--set", *SMALL_NET, "max_epochs=1")
    assert result.code == 0, result.err
    head = result.out.splitlines()[1].split()
    assert [name for name in head if name in ("mean-iou", "global-iou", "pixel-accuracy")] == [
        "mean-iou",
        "global-iou",
        "pixel-accuracy",
    ]
    assert "12 train, 4 validation, 6 test images" in (tmp_path / "r" / "report.md").read_text()


def test_a_mask_of_another_size_names_the_pair(lossnet: Run, tmp_path: Path) -> None:
    data, out = write_pairs(tmp_path / "discs"), tmp_path / "m"
    image.fromarray(np.zeros((8, 16), np.uint8)).save(data / "masks" / "p03.png")
    message = one_line(lossnet("train", data, "--out", out, *SMALL_IMAGES))
    assert "images/p03.png is 16 x 16 and " in message
    assert "masks/p03.png 8 x 16 (height x width)" in message
    assert not out.exists()
    # Resized, the model resizes what it is given later too.
    result = lossnet("train", data, "--out", out, *SMALL_IMAGES, "--size", "12x20")
    assert result.code == 0, result.err
    assert lossnet("predict", out, data / "images" / "p00.png", "--out", tmp_path / "p").code == 0
    assert image.open(tmp_path / "p" / "p00.png").size == (16, 16)  # the picture's own
    small = ["--size", "12x24", "--out", tmp_path / "q"]
    assert lossnet("predict", out, data / "images", *small).code == 0
    assert image.open(tmp_path / "q" / "p00.png").size == (16, 16)
    assert lossnet("predict", out, data / "images", *small[:3], tmp_path / "q.npz").code == 0
    with np.load(tmp_path / "q.npz") as found:
        assert found["masks"].shape == (20, 12, 24)  # what the model saw
    assert "'12x' is not a height and a width" in one_line(
        lossnet("describe", data, "--size", "12x")
    )


def test_a_class_never_declared(lossnet: Run, tmp_path: Path, segmenter: Path) -> None:
    data, out = write_pairs(tmp_path / "discs", classes=3), tmp_path / "m"
    train = ["train", data, "--out", out, *SMALL_IMAGES]
    message = one_line(lossnet(*train, "--classes", "ground,disc"))
    assert "has the class 2, and there are 2: ground, disc (numbered from 0)" in message
    assert "classes must be at least 2" in one_line(lossnet(*train, "--classes", "disc"))
    message = one_line(lossnet("evaluate", segmenter, data))
    assert "has the class 2, and there are 2: ground, disc" in message
    # In the test part alone: told before training.
    write_pairs(tmp_path / "two" / "train")
    write_pairs(tmp_path / "two" / "test", classes=3)
    message = one_line(lossnet("train", tmp_path / "two", "--out", out, *SMALL_IMAGES))
    assert "the test part (two): the mask of image 'p00' has the class 2" in message
    assert not out.exists()
    result = lossnet(*train[:-1], "--classes", "5")
    assert "note: no training mask has the classes '3', '4'" in result.out


def test_a_grey_image_for_a_model_of_colours(
    lossnet: Run, tmp_path: Path, segmenter: Path, pictures: Path
) -> None:
    grey = write_pairs(tmp_path / "grey", 3, grey=True)
    wanted = "has grey images (1 channel) and the model takes images of 3 channels"
    out = ["--out", tmp_path / "m"]
    assert wanted in one_line(lossnet("predict", segmenter, grey, *out))
    assert wanted in one_line(lossnet("predict", segmenter, grey / "images" / "p00.png", *out))
    assert wanted in one_line(lossnet("evaluate", segmenter, grey))
    message = one_line(lossnet("train", pictures, "--test", grey, *out, *SMALL_IMAGES))
    assert f"the test part (grey) {wanted}" in message
    assert not (tmp_path / "m").exists()


def test_images_scaled_otherwise_than_in_training(
    lossnet: Run, tmp_path: Path, segmenter: Path
) -> None:
    images, masks = discs(4)
    np.savez(tmp_path / "a.npz", images=images.astype(np.int64), masks=masks)
    told = "note: a: channel "
    for out in ("m", "m.npz"):
        result = lossnet("predict", segmenter, tmp_path / "a.npz", "--out", tmp_path / out)
        assert (result.code, result.err.count(told)) == (0, 1)
    assert lossnet("evaluate", segmenter, tmp_path / "a.npz").err.count(told) == 1
    np.savez(tmp_path / "a.npz", images=images, masks=masks)
    assert told not in lossnet("evaluate", segmenter, tmp_path / "a.npz").err


def test_grey_values_of_12_bits_are_scaled_as_in_training(lossnet: Run, tmp_path: Path) -> None:
    images, masks = discs(10, grey=True)
    for folder, factor in (("bright", 16), ("dark", 1)):
        for kind, arrays in (("images", images.astype(np.uint16) * factor), ("masks", masks)):
            (tmp_path / folder / kind).mkdir(parents=True)
            for number, array in enumerate(arrays):
                image.fromarray(array).save(tmp_path / folder / kind / f"p{number}.png")
    (tmp_path / "bright" / "README.txt").write_text("discs")
    model = tmp_path / "model"
    out = lossnet("train", tmp_path / "bright", "--out", model, *SMALL_IMAGES[:-1]).out
    assert "note: grey values of more than 8 bits are scaled from 0 to 4095" in out
    assert f"note: not read in {tmp_path / 'bright'}: README.txt" in out
    for command in ("evaluate", "predict"):
        more = ["--out", tmp_path / "masks"] if command == "predict" else []
        result = lossnet(command, model, tmp_path / "dark", *more)
        assert result.code == 0
        assert "scaled from 0 to 4095" in result.err


def test_one_pixel_images(lossnet: Run, tmp_path: Path, segmenter: Path) -> None:
    images, masks = discs(8)
    np.savez(tmp_path / "a.npz", images=images[:, :1, :1], masks=masks[:, 8:9, 8:9])
    result = lossnet("train", tmp_path / "a.npz", "--out", tmp_path / "m", *SMALL_IMAGES)
    assert result.code == 0, result.err
    message = one_line(lossnet("evaluate", segmenter, tmp_path / "a.npz"))
    assert "has images of 1 x 1 and the model was trained on crops of 12 x 12" in message


def test_a_damaged_picture_is_named_and_the_rest_kept(
    lossnet: Run, tmp_path: Path, segmenter: Path
) -> None:
    data = write_pairs(tmp_path / "discs", 10)
    broken = data / "images" / "p03.png"
    broken.write_bytes(broken.read_bytes()[:60])
    settings = [s for s in SMALL_IMAGES if s != "--quiet"]
    result = lossnet("train", data, "--out", tmp_path / "m", *settings)
    assert result.code == 0, result.err
    assert "5 train, 2 validation, 2 test images" in result.out
    assert result.out.count("note:") == 1
    assert f"note: {broken} cannot be read (" in result.out
    result = lossnet("predict", segmenter, data / "images", "--out", tmp_path / "p")
    assert result.err.count("\n") == 1
    assert f"note: {broken} cannot be read (" in result.err
    assert "it is left out" in result.err
    assert len(list((tmp_path / "p").iterdir())) == 9
    message = one_line(lossnet("predict", segmenter, broken, "--out", tmp_path / "q"))
    assert "p03.png cannot be read" in message


def test_a_damaged_mask_keeps_no_picture_from_being_predicted(
    lossnet: Run, tmp_path: Path, segmenter: Path
) -> None:
    data = write_pairs(tmp_path / "discs", 6)
    (data / "masks" / "p03.png").write_bytes(b"no picture")
    result = lossnet("predict", segmenter, data, "--out", tmp_path / "p")
    assert (result.code, result.err) == (0, "")
    assert len(list((tmp_path / "p").iterdir())) == 6
    # A part is cut as in training, where the pair is left out.
    result = lossnet("predict", segmenter, data, "--split", "test", "--out", tmp_path / "q")
    assert "p03.png cannot be read" in result.err


def test_other_bad_data(lossnet: Run, tmp_path: Path, segmenter: Path, pictures: Path) -> None:
    out = ["--out", tmp_path / "m", *SMALL_IMAGES]
    bare = write_pairs(tmp_path / "bare", 4, masks=False)
    message = one_line(lossnet("train", bare, "--task", "image", *out))
    assert (
        "bare has no masks, which training and evaluation need: add images/ and masks/ with"
        in message
    )
    assert "without masks see lossnet predict" in one_line(lossnet("evaluate", segmenter, bare))
    parts = tmp_path / "parts"
    shutil.copytree(pictures / "test", parts / "test")
    assert "has no training part, only test" in one_line(lossnet("train", parts, *out))
    message = one_line(lossnet("evaluate", segmenter, parts, "--split", "train"))
    assert "has no train part; it has test (--split all takes all rows)" in message
    shutil.copytree(bare, parts / "train")
    assert "the train part of" in one_line(lossnet("train", parts, *out))
    two = write_pairs(tmp_path / "two", 2)
    assert "two has 2 rows, too few to divide in three" in one_line(lossnet("train", two, *out))
    assert "nowhere.png does not exist" in one_line(lossnet("train", "nowhere.png", *out))
    assert not (tmp_path / "m").exists()


def test_options_of_other_tasks(
    lossnet: Run, tmp_path: Path, segmenter: Path, pictures: Path, model: Path, trained_on: Path
) -> None:
    out = ["--out", tmp_path / "m"]
    message = one_line(lossnet("evaluate", segmenter, pictures, "--threshold", "0.5"))
    assert "--threshold is an option for the task text or multilabel" in message
    assert "--scheme" in one_line(lossnet("train", pictures, "--scheme", "IOB2", *out))
    message = one_line(lossnet("evaluate", model, trained_on, "--picture", "a.png"))
    assert "--picture is an option for the task roles or image" in message
    assert "--classes" in one_line(lossnet("train", "ising", "--classes", "a,b", *out))
    assert "needs exact inference, which ImageSegmenter does not provide" in one_line(
        lossnet("train", pictures, "--method", "crf", *out)
    )
    assert "did you mean 'unet'?" in one_line(
        lossnet("train", pictures, *out, "--set", "task_net=uent")
    )
    assert "unknown setting 'task_net'" in one_line(
        lossnet("train", "ising", *out, "--set", "task_net=unet")
    )
    assert not (tmp_path / "m").exists()
