"""Masks decided for IoU, against the exact rule and brute force."""

import numpy as np
import pytest
import torch

from lossnet import ImageSegmenter
from lossnet.decisions import best_jaccard, temper
from lossnet.errors import SettingError
from lossnet.exporting.runtime.pixels import best_ratio
from lossnet.tasks.decision import Decision
from lossnet.tasks.image import ImageData, global_iou, mean_iou


def noisy(count, classes=2, seed=0):
    """Discs in heavy noise: the net stays uncertain."""
    rng = np.random.default_rng(seed)
    i, j = np.mgrid[:8, :8]
    centre = rng.uniform(2, 6, (2, count, 1, 1))
    distance = np.hypot(i - centre[0], j - centre[1])
    masks = (distance < 2).astype(int)
    if classes == 3:
        masks[(distance >= 2) & (distance < 3)] = 2
    return ImageData(masks[..., None] + 1.5 * rng.normal(size=(count, 8, 8, 1)), masks)


TRAIN, HELD, TEST = noisy(30), noisy(40, seed=1), noisy(12, seed=2)
SMALL = {"task_net": "fcn", "width": 4, "batch_size": 8, "crops": 1, "average": 2}


def fitted(method="cross-entropy", **settings):
    model = ImageSegmenter(method, **{**SMALL, "max_epochs": 2, "random_state": 0, **settings})
    return model.fit(TRAIN, validation_data=HELD)


def expected_iou(p, y):
    """The exact expected IoU of pixels y, by enumeration."""
    every = (np.arange(2 ** len(p))[:, None] >> np.arange(len(p))) & 1
    weights = np.prod(np.where(every == 1, p, 1 - p), 1)
    union = np.maximum(every, y).sum(1)
    return weights @ np.where(union == 0, 1.0, (every * y).sum(1) / np.maximum(union, 1))


def test_the_ratio_of_expectations_is_near_the_best_expected_iou():
    rng = np.random.default_rng(0)
    shares = []
    for p in rng.beta(0.4, 0.7, (60, 2, 5)):
        found = best_ratio(p[None])[0].ravel().astype(int)
        best = best_jaccard(torch.tensor(p.ravel()[None]))[0].numpy().astype(int)
        shares.append(expected_iou(p.ravel(), found) / expected_iou(p.ravel(), best))
    assert max(shares) <= 1 + 1e-9
    assert min(shares) > 0.9
    assert np.mean(shares) > 0.995


def test_on_a_large_image_both_rules_take_about_as_many_pixels():
    p = np.random.default_rng(0).beta(0.3, 0.7, (2, 16, 16))
    exact = best_jaccard(torch.tensor(p.reshape(2, -1))).numpy()
    assert abs(best_ratio(p).reshape(2, -1).sum(1) - exact.sum(1)).max() <= 2


def test_no_pixel_is_taken_where_there_is_probably_none():
    assert not best_ratio(np.full((1, 2, 2), 0.01)).any()


@pytest.mark.parametrize(("metric", "score"), [("mean-iou", mean_iou), ("global-iou", global_iou)])
def test_the_decision_predicts_scores_and_is_stored(metric, score, tmp_path):
    model = fitted(metric=metric, decode="expected")
    assert model.decision_.rule == "expected"
    masks = model.predict(TEST.images)
    given, decision = torch.as_tensor(model.predict_proba(TEST.images)), model.decision_
    p = temper(given, decision.temperature, offset=decision.offset).numpy()
    assert np.array_equal(masks, best_ratio(p) if metric == "mean-iou" else p >= 0.5)
    assert model.score(TEST) == pytest.approx(score(TEST.masks, masks))
    again = ImageSegmenter.load(model.save(tmp_path / "model", keep_energy=False))
    assert again.decision_ == model.decision_
    assert np.array_equal(again.predict(TEST.images), masks)
    again.set_params(decode="argmax")
    assert np.array_equal(again.predict(TEST.images), model.predict_proba(TEST.images) >= 0.5)


@pytest.mark.parametrize("metric", ["mean-iou", "global-iou"])
def test_auto_leaves_argmax_only_for_a_gain_above_its_standard_error(metric):
    decision = fitted(metric=metric).decision_
    gain = decision.tried["expected"] - decision.tried["argmax"]
    assert (decision.rule == "expected") == (gain > decision.error)


def test_a_threshold_below_a_half_serves_the_global_iou():
    model = fitted(metric="global-iou")
    few = [model._decide(Decision("expected", offset=o), TEST) for o in (0.0, 1.0)]
    assert few[0].sum() <= few[1].sum()


def test_argmax_stays_for_accuracy_descents_and_more_classes():
    assert not fitted(metric="pixel-accuracy").decision_.tried
    assert not fitted("alen", method_params={"predict_steps": 1}).decision_.tried
    three = ImageSegmenter("cross-entropy", **SMALL, max_epochs=1, random_state=0)
    three.fit(noisy(20, 3), validation_data=noisy(10, 3, seed=1))
    assert three.decision_ == Decision("argmax")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decode": "expected", "metric": "pixel-accuracy"}, "needs two classes, the metric mean"),
        ({"decode": "expected", "method": "alen"}, "predicts with the task-net alone"),
        ({"decode": "mode"}, "for images see refine"),
        ({"decode": "best"}, "unknown decode"),
        ({"decode_samples": 0}, "decode_samples must be .* at least 1"),
    ],
)
def test_rules_that_cannot_serve_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        fitted(**settings)


def test_more_classes_are_refused_before_training():
    model = ImageSegmenter("cross-entropy", **SMALL, decode="expected", max_epochs=10**6)
    with pytest.raises(SettingError, match="'expected' needs two classes"):
        model.fit(noisy(10, 3))
