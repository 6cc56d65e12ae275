"""ImageSegmenter: every method on both spaces, learning, folders, resuming, bad input."""

from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from lossnet import ImageSegmenter
from lossnet.energies import ScoreMap
from lossnet.errors import DataError, SettingError
from lossnet.nets import FCN
from lossnet.parameters import plain
from lossnet.proposals import GBI, NetOutput
from lossnet.recipes import methods_for, parameters
from lossnet.tasks.image import ImageData, load_images, mean_iou


def shapes(count: int, *, classes: int = 2, seed: int = 0, size: int = 8) -> ImageData:
    """Noisy coloured discs (class 1), with classes 3 each in a ring (class 2)."""
    rng = np.random.default_rng(seed)
    i, j = np.mgrid[:size, :size]
    centre = rng.uniform(0.3, 0.7, (2, count, 1, 1)) * size
    distance = np.hypot(i - centre[0], j - centre[1]) / size
    masks = (distance < 0.25).astype(int)
    if classes == 3:
        masks[(distance >= 0.25) & (distance < 0.4)] = 2
    images = np.eye(3)[masks] + 0.4 * rng.normal(size=(*masks.shape, 3))
    return ImageData(images, masks)


TRAIN = {n: shapes(24, classes=n) for n in (2, 3)}
TEST = {n: shapes(12, classes=n, seed=1) for n in (2, 3)}
SMALL = {
    "task_net": "fcn",
    "width": 4,
    "batch_size": 8,
    "crops": 1,
    "average": 2,
    "random_state": 0,
}
#: Few candidates and steps, so that every method is quick.
QUICK = {
    "samples": 2,
    "sampler": {"k": 2},
    "candidates": {"k": 2},
    "inference": {"steps": 2},
    "predict_steps": 2,
    "gradient": {"solver": {"terms": 1}},
}


def segmenter(method: str = "cross-entropy", **settings) -> ImageSegmenter:
    return ImageSegmenter(method, **{**SMALL, "max_epochs": 1, **settings})


def quick(method: str) -> dict:
    from lossnet.recipes import defaults

    return {key: value for key, value in QUICK.items() if key in defaults(method)}


@pytest.fixture(scope="module")
def fitted() -> ImageSegmenter:
    return segmenter("alen", max_epochs=3).fit(TRAIN[2], validation_data=TEST[2])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", methods_for(ImageSegmenter.provides))
def test_every_method_runs(method, classes) -> None:
    train = TRAIN[classes].subset(range(8))
    model = segmenter(method, method_params=quick(method))
    model.fit(train, validation_data=TEST[classes].subset(range(4)))
    proba = model.predict_proba(TEST[classes])
    assert proba.shape == (12, 8, 8) if classes == 2 else (12, 8, 8, 3)
    assert np.isfinite(proba).all()
    assert proba.min() >= -1e-6
    assert proba.max() <= 1 + 1e-6
    if classes == 3:
        np.testing.assert_allclose(proba.sum(-1), 1.0, atol=1e-5)
    masks = model.predict(TEST[classes])
    assert masks.shape == (12, 8, 8)
    assert set(np.unique(masks)) <= set(range(classes))


VARIANTS = [
    ("dvn", {"energy_net": "score-map"}, {}),
    ("alen", {"energy_net": "critic"}, {}),
    ("alen", {"energy_net": "score-map"}, {}),
    ("alen", {"energy_width": 16}, {"noise": 0.0}),
    ("alen", {}, {"local": False}),
    ("dvn", {"energy_net": "unet-map"}, {}),
    ("alen", {}, {"xent_weight": 0.0}),
    ("alen", {}, {"predict": "net"}),
    ("alen", {}, {"energy_weight": 0.0}),
    ("infnet-plus", {"task_net": "unet", "width": 16}, {"sharing": "shared"}),
    ("alen", {"task_net": "unet"}, {}),
    ("implicit-dvn", {"task_net": "unet"}, {}),
    ("infnet-plus", {}, {"sharing": "separated"}),
    ("infnet", {}, {"tune_on": "validation"}),
    ("seal-ranking", {}, {"radius": 2.0}),
    ("seal-regression-s", {}, {"candidates": {"kind": "correlated", "k": 2}}),
    ("seal-regression-s", {"energy_net": "score-map"}, {"candidates": {"kind": "samples", "k": 2}}),
    ("seal-regression", {"task_net": "unet", "width": 16, "crop": None, "flip": False}, {}),
]


@pytest.mark.parametrize(("method", "settings", "params"), VARIANTS)
def test_variants_run(method, settings, params) -> None:
    model = segmenter(method, method_params=quick(method) | params, **settings)
    model.fit(TRAIN[3].subset(range(8)), validation_data=TEST[3].subset(range(4)))
    assert 0 <= model.score(TEST[3]) <= 1


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", ["cross-entropy", "seal-regression", "alen"])
def test_learns(method, classes) -> None:
    model = segmenter(
        method,
        width=8,
        crops=2,
        max_epochs=10,
        method_params={"task_optimiser": {"lr": 1e-2}} | quick(method),
    )
    model.fit(TRAIN[classes], validation_data=TEST[classes])
    score = model.score(TEST[classes])
    assert score > 0.7
    found = model.predict(TEST[classes].images)
    assert score == pytest.approx(mean_iou(TEST[classes].masks, found, classes))


def test_only_maps_compare_pixel_by_pixel() -> None:
    assert segmenter("alen").resolved_method_params()["local"]
    assert not segmenter("alen", energy_net="critic").resolved_method_params()["local"]
    model = segmenter("alen", energy_net="critic", method_params={"local": True})
    with pytest.raises(SettingError, match=r"a value per position.* is a ConvolutionalCritic"):
        model.fit(TRAIN[2])


def test_the_loss_net_may_have_a_width_of_its_own() -> None:
    model = segmenter("seal-regression", width=4, energy_width=2).fit(TRAIN[2])
    widths = [net.features.first.out_channels for net in model.nets_.values()]
    assert sorted(widths) == [2, 4]
    with pytest.raises(SettingError, match=r"energy_width must be .*got 0"):
        segmenter("seal-regression", energy_width=0).fit(TRAIN[2])


def test_learning_rates_wait_for_a_plateau_of_their_own() -> None:
    def plateaus(**settings) -> set[int | None]:
        method = segmenter("seal-regression", **settings).fit(TRAIN[2]).method_
        return {update.optimiser.plateau for phase in method.phases for update in phase.updates}

    assert plateaus() == {15}
    assert plateaus(plateau=3) == {3}
    assert plateaus(plateau=None) == {5}
    own = {"energy_optimiser": {"plateau": 4}}
    assert plateaus(method_params=own) == {4, 15}
    with pytest.raises(SettingError, match=r"plateau must be .*got 0"):
        segmenter("cross-entropy", plateau=0).fit(TRAIN[2])


@pytest.mark.parametrize("energy_net", ["score-map", "unet-map"])
@pytest.mark.parametrize("method", ["seal-regression", "seal-regression-s"])
def test_regression_on_a_map_is_local(method, energy_net) -> None:
    model = segmenter(method, energy_net=energy_net, energy_width=16)
    assert model.resolved_method_params()["local"]
    assert 0 <= model.fit(TRAIN[3]).score(TEST[3]) <= 1
    assert not segmenter(method).resolved_method_params()["local"]


def test_without_energy_weight_it_is_cross_entropy() -> None:
    def weights(method: str, **params) -> dict[str, torch.Tensor]:
        model = segmenter(method, method_params=params).fit(TRAIN[2])
        return model.nets_["task"].state_dict()

    plain = weights("cross-entropy")
    learned = weights("seal-regression", energy_weight=0.0, xent_weight=1.0)
    assert all(torch.equal(plain[key], learned[key]) for key in plain)


# Predicting --------------------------------------------------------------------------------


def test_a_path_ends_where_predictions_are(fitted) -> None:
    fitted = clone(fitted).set_params(method__predict_steps=3).fit(TRAIN[2])
    path = fitted.refinement_path(TEST[2], steps=3)
    assert path.shape == (4, 12, 8, 8)
    chosen = path[fitted.refine_steps_]
    np.testing.assert_allclose(chosen, fitted.predict_proba(TEST[2]), atol=1e-6)
    fitted.set_params(refine=NetOutput())
    np.testing.assert_allclose(path[0], fitted.predict_proba(TEST[2]), atol=1e-6)


def test_refinement_is_tuned_on_other_data(fitted) -> None:
    model = clone(fitted).fit(TRAIN[2])
    model.tune_refinement(TEST[2], most=4)
    assert model.refine_steps_ in range(5)
    scores = [mean_iou(TEST[2].masks, y >= 0.5) for y in model.refinement_path(TEST[2], steps=4)]
    assert scores[model.refine_steps_] == pytest.approx(max(scores))
    with pytest.raises(SettingError, match="predicts without descending on the energy"):
        segmenter().fit(TRAIN[2]).tune_refinement(TEST[2])


def test_crops_are_averaged_only_where_asked(fitted) -> None:
    model = segmenter().fit(TRAIN[2])
    averaged = model.predict_proba(TEST[2])
    whole = model.set_params(average=1).predict_proba(TEST[2])
    assert np.abs(averaged - whole).max() > 1e-4
    assert model.crop_ == (6, 6)
    # The critic takes crops alone; they then cover the image.
    model = segmenter("dvn", average=1, method_params=quick("dvn")).fit(TRAIN[2])
    assert model.predict(TEST[2]).shape == (12, 8, 8)


def test_early_stopping_measures_uncropped_images() -> None:
    model = segmenter(max_epochs=3, average=3).fit(TRAIN[2], validation_data=TEST[2])
    best = max(row["metric"] for row in model.history_)
    assert best == pytest.approx(model.set_params(average=1).score(TEST[2]), abs=1e-12)


def test_refinement_is_left_out_where_it_does_not_pay() -> None:
    model = segmenter("alen", max_epochs=3, method_params=quick("alen"))
    model.fit(TRAIN[2], validation_data=TEST[2])
    most = model.method_.predict.steps
    path = model.refinement_path(TEST[2], steps=most)
    scores = [mean_iou(TEST[2].masks, y >= 0.5) for y in path]
    assert model.refine_steps_ == int(np.argmax(scores))
    assert model.score(TEST[2]) >= scores[0] - 1e-12  # never below its own net there
    assert segmenter("alen", validation_fraction=0.0).fit(TRAIN[2]).refine_steps_ is None


def test_alen_starts_from_cross_entropy() -> None:
    model = segmenter("alen", max_epochs=10, patience=10, method_params=quick("alen"))
    model.fit(TRAIN[2], validation_data=TEST[2])
    phases = [row["phase"] for row in model.history_]
    assert phases.count("pretrain task") == 10
    assert phases.count("alen") == 1  # a tenth of the epochs
    whole = {**quick("alen"), "share": 1.0}
    assert [phase.name for phase in segmenter("alen", method_params=whole)._assembled().phases] == [
        "alen"
    ]


def test_grey_values_are_scaled_as_in_training(tmp_path) -> None:
    image = pytest.importorskip("PIL.Image")
    grey = (1000 * TRAIN[2].images[..., 0].clip(0, 3)).astype(np.uint16)
    for folder, count, scale in (("train", 8, 1), ("dark", 2, 0.05)):
        for kind, arrays in (("images", grey * scale), ("masks", TRAIN[2].masks)):
            (tmp_path / folder / kind).mkdir(parents=True)
            dtype = np.uint16 if kind == "images" else np.uint8
            for k in range(count):
                path = tmp_path / folder / kind / f"{k}.png"
                image.fromarray(arrays[k].astype(dtype)).save(path)
    model = segmenter().fit(tmp_path / "train", validation_data=str(tmp_path / "train"))
    assert model.white_ == 4095
    # A second fit reads its files by their own values.
    assert clone(model).fit(tmp_path / "train").fit(tmp_path / "dark").white_ == 255
    model.save(tmp_path / "model")
    model = ImageSegmenter.load(tmp_path / "model")
    alike = load_images(tmp_path / "dark", white=4095)
    np.testing.assert_array_equal(
        model.predict_proba(tmp_path / "dark"), model.predict_proba(alike)
    )
    with pytest.raises(DataError, match=r"scaled from 0 to 255, and in training from 0 to 4095"):
        model.predict(load_images(tmp_path / "dark"))


def test_images_of_other_sizes_can_be_predicted(fitted) -> None:
    assert fitted.predict(shapes(2, size=11)).shape == (2, 11, 11)
    with pytest.raises(DataError, match="images of 4 x 4 and the model was trained on crops of 6"):
        fitted.predict(shapes(2, size=4))


def test_a_second_fit_forgets_the_first() -> None:
    model = segmenter().fit(TRAIN[2])
    model.fit(shapes(8, size=5), validation_data=shapes(4, size=5))
    assert model.crop_ == (4, 4)
    with pytest.raises(DataError, match="images of 4 x 4 and the model was trained on crops of 6"):
        segmenter().fit(TRAIN[2], validation_data=shapes(4, size=4))


def test_unlabelled_images() -> None:
    model = segmenter("infnet", method_params={"tune_on": "unlabelled"})
    model.fit(TRAIN[2], unlabelled=TEST[2].images)
    assert model.predict(TEST[2]).shape == (12, 8, 8)
    with pytest.raises(SettingError, match="as configured trains on unlabelled rows"):
        model.fit(TRAIN[2])


def test_many_images_are_predicted_in_parts(fitted) -> None:
    many = shapes(70)
    found = fitted.predict_proba(many)
    np.testing.assert_allclose(found[60:], fitted.predict_proba(many.subset(range(60, 70))), 1e-4)


def test_refine_after_training() -> None:
    model = segmenter("seal-regression", energy_net="score-map").fit(TRAIN[2])
    before = model.predict_proba(TEST[2])
    descent = GBI(3, 0.5, step="normalised", adam=False, start=NetOutput())
    after = model.set_params(refine=descent).predict_proba(TEST[2])
    assert np.abs(before - after).max() > 1e-3


# Storage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", ["alen", "infnet-plus"])
def test_a_model_is_saved_and_loaded(tmp_path, method, classes) -> None:
    model = segmenter(method, classes=["sky", "sun", "rim"][:classes]).fit(TRAIN[classes])
    model.save(tmp_path / "model")
    loaded = ImageSegmenter.load(tmp_path / "model")
    assert loaded.classes_ == model.classes_
    np.testing.assert_array_equal(
        loaded.predict_proba(TEST[classes]), model.predict_proba(TEST[classes])
    )


def test_own_nets(tmp_path) -> None:
    def task(channels: int, outputs: int) -> FCN:
        return FCN(channels, outputs, width=2)

    def energy(channels: int, outputs: int) -> ScoreMap:
        return ScoreMap(partial(FCN, width=2), channels, outputs)

    model = segmenter("seal-regression", task_net=task, energy_net=energy).fit(TRAIN[2])
    assert model.nets_["task"].features.first.out_channels == 2
    model.save(tmp_path / "model")
    with pytest.raises(SettingError, match=r"made with energy_net=.*load\(..., energy_net=...\)"):
        ImageSegmenter.load(tmp_path / "model", task_net=task)
    loaded = ImageSegmenter.load(tmp_path / "model", task_net=task, energy_net=energy)
    np.testing.assert_array_equal(loaded.predict(TEST[2]), model.predict(TEST[2]))
    with pytest.raises(SettingError, match="the net 'task' gives"):
        segmenter(task_net=lambda channels, outputs: FCN(channels, 5, width=2)).fit(TRAIN[2])


def test_a_killed_run_goes_on_to_the_same_weights(tmp_path) -> None:
    file = tmp_path / "checkpoint"
    whole = segmenter("seal-regression", max_epochs=4).fit(TRAIN[2], validation_data=TEST[2])

    class KilledError(Exception):
        pass

    def kill(*arguments):
        if len(seen) == 2:
            raise KilledError
        seen.append(1)
        return ImageSegmenter._validated(model, *arguments)

    seen: list[int] = []
    model = segmenter("seal-regression", max_epochs=4)
    model._validated = kill
    with pytest.raises(KilledError):
        model.fit(TRAIN[2], validation_data=TEST[2], checkpoint=file)
    resumed = segmenter("seal-regression", max_epochs=4)
    resumed.fit(TRAIN[2], validation_data=TEST[2], checkpoint=file, resume_from_checkpoint=True)
    for name, net in whole.nets_.items():
        again = resumed.nets_[name].state_dict()
        assert all(torch.equal(value, again[key]) for key, value in net.state_dict().items())


def test_the_same_seed_gives_the_same_masks() -> None:
    first, second = (segmenter(max_epochs=2).fit(TRAIN[3]) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(TEST[3]), second.predict_proba(TEST[3]))


def test_parameters_are_cloned_and_nested() -> None:
    model = segmenter("alen").set_params(method__predict_steps=2)
    assert clone(model).get_params()["method__predict_steps"] == 2


# Input -------------------------------------------------------------------------------------


def test_bytes_and_floats_of_the_same_images_agree() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (12, 8, 8, 3), dtype=np.uint8)
    masks = (pixels[..., 0] > 127).astype(int)
    first = segmenter().fit(pixels, masks).predict_proba(pixels)
    second = segmenter().fit(pixels / 255.0, masks).predict_proba(pixels / 255.0)
    np.testing.assert_allclose(first, second, atol=1e-4)


def test_grey_images() -> None:
    images, masks = TRAIN[2].images[..., 1], TRAIN[2].masks
    model = segmenter().fit(images, masks)
    assert model.channels_ == 1
    assert model.predict(images[..., None]).shape == masks.shape
    with pytest.raises(DataError, match=r"images of 3 channels and the model takes grey images"):
        model.predict(TRAIN[2].images)


def test_a_grey_image_given_to_a_colour_model(fitted) -> None:
    with pytest.raises(
        DataError, match=r"grey images \(1 channel\) and the model takes images of 3 channels"
    ):
        fitted.predict(np.zeros((1, 8, 8)))


def test_one_pixel_images() -> None:
    rng = np.random.default_rng(0)
    masks = rng.integers(0, 2, (40, 1, 1))
    images = masks + 0.1 * rng.normal(size=masks.shape)
    model = segmenter(crops=4, max_epochs=10, method_params={"task_optimiser": {"lr": 1e-2}})
    assert model.fit(images, masks).score(images, masks) > 0.9
    refined = segmenter("alen", method_params=quick("alen")).fit(images, masks)
    assert refined.predict(images).shape == masks.shape


def test_masks_and_images_of_different_sizes() -> None:
    with pytest.raises(DataError, match="image '0' is 8 x 8 and its mask 8 x 7"):
        segmenter().fit(TRAIN[2].images, TRAIN[2].masks[:, :, :7])
    masks = list(TRAIN[2].masks)
    masks[5] = masks[5][:4]
    with pytest.raises(DataError, match="image '5' is 8 x 8 and its mask 4 x 8"):
        segmenter().fit(TRAIN[2].images, masks)
    with pytest.raises(DataError, match="24 images and 23 masks"):
        segmenter().fit(TRAIN[2].images, TRAIN[2].masks[1:])


def test_a_class_that_was_not_declared() -> None:
    masks = TRAIN[2].masks.copy()
    masks[7, 0, 0] = 4
    with pytest.raises(DataError, match="mask of image '7' has the class 4, and there are 2"):
        segmenter(classes=2).fit(TRAIN[2].images, masks)
    with pytest.raises(DataError, match="has the class 2, and there are 2: sky, sun"):
        segmenter(classes=["sky", "sun"]).fit(TRAIN[2], validation_data=TEST[3])
    assert len(segmenter(classes=5).fit(TRAIN[3]).classes_) == 5


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"crop": 9}, "crop must be at most 8 x 8, the images' size.*got 9 x 9"),
        ({"crop": 0}, "crop must be an integer of at least 1, got 0"),
        ({"crop": "big"}, "crop must be a side.*got 'big'"),
        ({"crop": (1, 2, 3)}, "a side in pixels, a height and a width"),
        ({"classes": 1}, "classes must be at least 2.*got 1"),
        ({"classes": "horse"}, "classes must be their number.*got 'horse'"),
        ({"classes": ["a", "a"]}, "with different names"),
        ({"average": 0}, "average must be .*got 0"),
        ({"crops": 0}, "crops must be .*got 0"),
        ({"metric": "iou"}, "unknown metric 'iou'.*mean-iou"),
        ({"task_net": "u-net"}, "unknown task_net 'u-net': did you mean 'unet'"),
        ({"task_net": FCN(3, 1)}, "task_net must be a function that builds a net.*got a FCN"),
        ({"energy_net": "critics"}, "unknown energy_net 'critics': did you mean 'critic'"),
        ({"method": "crf"}, "'crf' needs exact inference, which ImageSegmenter does not"),
        ({"dropout": 1.5}, "dropout must be .*, got 1.5"),
    ],
)
def test_bad_settings(settings, message) -> None:
    with pytest.raises((SettingError, DataError), match=message):
        segmenter(**{"method": "cross-entropy", **settings}).fit(TRAIN[2])


def test_bad_data(fitted) -> None:
    with pytest.raises(DataError, match="the training data has no masks"):
        segmenter().fit(TRAIN[2].images)
    with pytest.raises(
        DataError, match=r"validation_data must be a pair .* masks, .*got a tuple of length 3"
    ):
        segmenter().fit(TRAIN[2], validation_data=(1, 2, 3))
    with pytest.raises(DataError, match="masks were passed with an ImageData"):
        segmenter().fit(TRAIN[2], TRAIN[2].masks)
    with pytest.raises(DataError, match="the data to score has no masks"):
        fitted.score(TRAIN[2].images)


def test_pixel_defaults_are_parameters_that_differ_from_the_recipes() -> None:
    from lossnet.tasks.image.pixels import PIXEL_DEFAULTS

    for method, changed in PIXEL_DEFAULTS.items():
        for key, value in changed.items():
            assert parameters(method, {key: value}) != parameters(method), (method, key)
    inference = {"lr": 0.5}
    given = segmenter("alen", method_params={"inference": inference}).resolved_method_params()
    assert (given["inference"]["lr"], given["inference"]["steps"]) == (0.5, 3)
    assert given["xent_weight"] == 0.01
    infnet = segmenter("infnet", plateau=None).resolved_method_params()
    assert infnet == plain(parameters("infnet"))
    spen = segmenter("spen", plateau=None).resolved_method_params()
    assert spen == plain(parameters("spen", {"cost": "pixel-iou"}))


@pytest.mark.parametrize("call", ["predict", "predict_proba", "refinement_path", "score"])
def test_not_fitted(call) -> None:
    with pytest.raises(NotFittedError):
        getattr(segmenter("alen"), call)(TRAIN[2].images)


def test_images_scaled_otherwise_are_told() -> None:
    images, masks = (TRAIN[2].floats() * 20).clip(0, 255).astype(np.uint8), TRAIN[2].masks
    model = segmenter("cross-entropy").fit(images, masks)
    with pytest.warns(UserWarning, match="uint8 images count as 0 to 1"):
        model.predict(images.astype(np.float32))
    with pytest.warns(UserWarning, match="use images as in training"):
        model.score(images.astype(np.int64), masks)


def test_flip_is_a_truth_value() -> None:
    with pytest.raises(SettingError, match="flip must be True or False, got 'no'"):
        segmenter("cross-entropy", flip="no").fit(TRAIN[2])
