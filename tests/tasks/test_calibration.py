"""Calibrated probabilities, for every kind of output."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError

from lossnet import ImageSegmenter, MultiLabelClassifier, SequenceTagger, TextClassifier
from lossnet.constraints import Implies
from lossnet.decisions import fit_temperature
from lossnet.errors import DataError, SettingError
from lossnet.spaces import Categorical
from lossnet.tasks.multilabel import Ising

WORLD = Ising(labels=4, features=4, coupling=2.0, seed=0)
TRAIN, HELD, TEST = (WORLD.sample(n, seed=n) for n in (150, 400, 500))
QUICK: dict[str, Any] = {"hidden": (32,), "global_hidden": 8, "dropout": 0.0, "random_state": 0}


def fitted(method: str = "cross-entropy", **settings: Any) -> MultiLabelClassifier:
    """A classifier that is too sure: many epochs on few rows, without a look at others."""
    chosen = {**QUICK, "max_epochs": 80, "validation_fraction": 0.0, **settings}
    return MultiLabelClassifier(method, **chosen).fit(TRAIN)


def log_loss(Y: Any, proba: Any) -> float:
    p = np.clip(np.asarray(proba, dtype=np.float64), 1e-12, 1 - 1e-12)
    return float(-np.mean(np.where(Y, np.log(p), np.log1p(-p))))


def test_calibrated_probabilities_have_a_lower_log_loss_and_predict_does_not_change() -> None:
    model = fitted()
    assert model.temperature_ is None
    before, predicted = model.predict_proba(TEST.X), model.predict(TEST.X)
    assert model.calibrate(HELD.X, HELD.Y) is model
    assert model.temperature_ is not None
    assert model.temperature_ > 1.2
    after = model.predict_proba(TEST.X)
    logits = np.log(before) - np.log1p(-before.astype(np.float64))
    assert after == pytest.approx(1 / (1 + np.exp(-logits / model.temperature_)), abs=1e-5)
    assert log_loss(TEST.Y, after) < log_loss(TEST.Y, before) - 0.01
    assert np.array_equal(model.predict(TEST.X), predicted)
    # It is the nets' own outputs that are calibrated, also the second time.
    first = model.temperature_
    assert model.calibrate(HELD).temperature_ == first


@pytest.mark.parametrize("threshold", ["tuned", "tuned-per-label"])
@pytest.mark.parametrize("decode", ["threshold", "expected", "samples", "mode"])
def test_a_tuned_threshold_moves_along_and_decisions_stay(threshold: Any, decode: str) -> None:
    model = MultiLabelClassifier("seal-nce", **QUICK, max_epochs=4, threshold=threshold)
    model.set_params(decode=decode).fit(TRAIN, validation_data=HELD)
    predicted, cut, decision = model.predict(TEST.X), model.threshold_, model.decision_
    for rows in (HELD, HELD.subset(range(40))):  # the second from another temperature
        model.calibrate(rows)
        assert model.decision_ == decision
        assert np.array_equal(model.predict(TEST.X), predicted)
        assert not np.allclose(model.threshold_, cut)
    usual = model.set_params(decode="threshold").predict(TEST.X)
    assert np.array_equal(model.predict_proba(TEST.X) >= model.threshold_, usual)
    again = model.set_params(decode=decode).tune_decision(HELD).decision_
    assert again.rule == decision.rule
    # A grid of thresholds of other probabilities is another grid, and nothing else changes.
    assert again.tried == pytest.approx(decision.tried, abs=0.02)


def test_predictions_that_keep_to_constraints_do_not_change() -> None:
    first, second = TRAIN.label_names[:2]
    model = fitted(constraints=[Implies(first, second)], decode="threshold")
    predicted = model.predict(TEST.X)
    assert np.array_equal(model.calibrate(HELD).predict(TEST.X), predicted)
    assert (predicted[:, 0] <= predicted[:, 1]).all()


def test_a_threshold_that_was_given_is_one_of_calibrated_probabilities() -> None:
    model = fitted(threshold=0.3).calibrate(HELD)
    assert model.threshold_ == 0.3
    assert np.array_equal(model.predict(TEST.X), model.predict_proba(TEST.X) >= 0.3)
    model.set_params(threshold="tuned").tune_threshold(HELD)
    assert np.array_equal(model.predict(TEST.X), model.predict_proba(TEST.X) >= model.threshold_)


def test_it_is_stored_and_forgotten_by_fit(tmp_path: Path) -> None:
    model = fitted().calibrate(HELD)
    again = MultiLabelClassifier.load(model.save(tmp_path / "model"))
    assert again.temperature_ == model.temperature_
    assert np.array_equal(again.predict_proba(TEST.X), model.predict_proba(TEST.X))
    assert np.array_equal(again.predict(TEST.X), model.predict(TEST.X))
    config = tmp_path / "model" / "config.json"
    for bad in (0.0, -1.0, "hot", float("inf")):
        config.write_text(json.dumps(json.loads(config.read_text()) | {"temperature": bad}))
        with pytest.raises(DataError, match="damaged"):
            MultiLabelClassifier.load(tmp_path / "model")
    assert model.fit(TRAIN).temperature_ is None


def test_two_classes_and_texts() -> None:
    binary = MultiLabelClassifier("cross-entropy", **QUICK, max_epochs=5).fit(
        TRAIN.X, TRAIN.Y[:, 0]
    )
    binary.calibrate(HELD.X, HELD.Y[:, 0])
    assert binary.predict_proba(TEST.X).sum(1) == pytest.approx(np.ones(len(TEST)))
    texts, labels = (
        ["oil rises", "gold falls", "oil and gold"] * 8,
        [["oil"], ["gold"], ["gold", "oil"]],
    )
    model = TextClassifier("cross-entropy", hidden=(8,), max_epochs=5, random_state=0)
    model.fit(texts, labels * 8)
    predicted = model.predict_labels(texts)
    # A label that training never saw does not count.
    model.calibrate(["oil", "gold"], [["oil", "copper"], ["gold"]])
    assert model.temperature_ is not None
    assert model.predict_labels(texts) == predicted


def test_tags() -> None:
    rng = np.random.default_rng(0)
    sentences = [[str(word) for word in rng.choice(["a", "b", "c"], 5)] for _ in range(60)]
    tags = [["XYZ"[(ord(w) - 97 + (rng.random() < 0.3)) % 3] for w in row] for row in sentences]
    quick: dict[str, Any] = {"hidden": 8, "word_width": 8, "chars": False, "max_epochs": 15}
    model = SequenceTagger("cross-entropy", random_state=0, **quick).fit(sentences, tags)
    predicted, raw = model.predict(sentences), model.predict_proba(sentences)
    tags[0][0] = "unseen"
    model.calibrate(sentences, tags)
    assert model.predict(sentences) == predicted
    found = model.predict_proba(sentences)
    assert np.concatenate(found).sum(1) == pytest.approx(np.ones(300))
    rest = np.concatenate(raw)[1:]
    numbers = ["XYZ".index(tag) for row in tags for tag in row if tag != "unseen"]
    flat = torch.as_tensor(rest), torch.tensor(numbers)
    assert model.temperature_ == pytest.approx(
        fit_temperature(*flat, space=Categorical()), rel=1e-4
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_pixels(classes: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    masks = rng.integers(0, classes, (12, 8, 8))
    images = masks + 0.8 * rng.normal(size=masks.shape)
    model = ImageSegmenter("cross-entropy", width=4, max_epochs=2, random_state=0)
    model.fit(images, masks)
    predicted, before = model.predict(images), model.predict_proba(images)
    model.calibrate(images, masks)
    assert np.array_equal(model.predict(images), predicted)
    after = model.predict_proba(images)
    assert after.shape == before.shape
    assert not np.allclose(after, before)
    again = ImageSegmenter.load(model.save(tmp_path / "model"))
    assert np.array_equal(again.predict_proba(images), after)


def test_what_cannot_be_calibrated() -> None:
    with pytest.raises(NotFittedError):
        MultiLabelClassifier().calibrate(HELD)
    descent = fitted("dvn", max_epochs=1)
    with pytest.raises(SettingError, match="'dvn' does not predict with a task-net"):
        descent.calibrate(HELD)
    model = fitted("seal-nce", max_epochs=1).set_params(refine="net")
    with pytest.raises(SettingError, match="set refine=None to calibrate"):
        model.calibrate(HELD)
    with pytest.raises(DataError, match="labels"):
        model.set_params(refine=None).calibrate(HELD.X)
    assert model.temperature_ is None
