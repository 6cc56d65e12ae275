"""``sample_weight`` and ``class_weight`` of the classifier."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lossnet import ImageSegmenter, MultiLabelClassifier, SequenceTagger
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel.class_weights import weights
from lossnet.tasks.multilabel.targets import Labels
from lossnet.training.weights import WeightedRows


def same(one: MultiLabelClassifier, other: MultiLabelClassifier) -> bool:
    pairs = zip(one.nets_.values(), other.nets_.values(), strict=True)
    states = [(a.state_dict(), b.state_dict()) for a, b in pairs]
    return all(torch.equal(a[key], b[key]) for a, b in states for key in a)


@pytest.mark.parametrize("method", ["cross-entropy", "seal-nce"])
def test_rows_of_weight_zero_are_as_if_left_out(classifier, data, method) -> None:
    X, Y = data
    weight = (np.arange(len(X)) % 4 > 0).astype(float)
    kept = weight > 0
    models = [
        classifier(method).fit(X, Y, sample_weight=weight),
        classifier(method).fit(X[kept], Y[kept], sample_weight=np.ones(kept.sum())),
        classifier(method).fit(X[kept], Y[kept]),
    ]
    assert same(models[0], models[1])
    for one, other in zip(models[1].nets_.values(), models[2].nets_.values(), strict=True):
        for key, value in other.state_dict().items():
            torch.testing.assert_close(one.state_dict()[key], value, rtol=1e-3, atol=1e-4)


def test_weights_move_probabilities(classifier) -> None:
    """Rows that contradict each other: the heavier half wins."""
    X = np.zeros((200, 2))
    Y = np.repeat([[1, 0], [0, 1]], 100, axis=0)
    weight = np.repeat([3.0, 1.0], 100)
    model = classifier(max_epochs=60, validation_fraction=0.0, dropout=0.0)
    found = model.fit(X, Y, sample_weight=weight).predict_proba(X[:1])[0]
    assert np.allclose(found, [0.75, 0.25], atol=0.06)


def test_weights_follow_their_rows_to_the_split(classifier, data, monkeypatch) -> None:
    """A weight that is a function of its row, which batches of training rows still are."""
    X, Y = data
    seen = []

    class Watched(WeightedRows):
        def batch(self, rows):
            found = super().batch(rows)
            seen.append((found.x[:, 0].numpy(), found.row_weight.numpy()))
            return found

    monkeypatch.setattr("lossnet.tasks.estimator.WeightedRows", Watched)
    model = classifier(standardise=False, max_epochs=1, validation_fraction=0.3)
    model.fit(X, Y, sample_weight=np.exp(X[:, 0]))
    assert sum(len(x) for x, _ in seen[-2:]) == 56
    for x, weight in seen:
        assert np.allclose(weight, np.exp(x), rtol=1e-4)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(79), r"shape \(79,\) and the data has 80 rows"),
        (np.ones((80, 1)), "one weight per row"),
        (1.0, "one weight per row"),
        (["a"] * 80, "must be numbers"),
        (np.zeros(80), "every weight is zero"),
        (np.r_[np.ones(79), -1], "row 79 is -1.0; weights must be finite and at least 0"),
        (np.r_[np.nan, np.ones(79)], "row 0 is nan"),
        (np.r_[np.ones(40), np.inf, np.ones(39)], "row 40 is inf"),
    ],
)
def test_weights_that_cannot_be(classifier, data, weight, message) -> None:
    with pytest.raises(DataError, match=message):
        classifier().fit(*data, sample_weight=weight)
    model = classifier(max_epochs=1).fit(*data)
    with pytest.raises(DataError, match=message):
        model.score(*data, sample_weight=weight)


def test_a_checkpoint_belongs_to_its_weights(classifier, data, tmp_path) -> None:
    weight = np.linspace(0.5, 2, len(data[0]))
    file, model = tmp_path / "c.pt", classifier(max_epochs=2)
    model.fit(*data, sample_weight=weight, checkpoint=file)
    again = {"checkpoint": file, "resume_from_checkpoint": True}
    classifier(max_epochs=2).fit(*data, sample_weight=weight, **again)
    with pytest.raises(DataError, match="made with other settings"):
        classifier(max_epochs=2).fit(*data, sample_weight=weight[::-1].copy(), **again)


def test_other_tasks_take_weights(data) -> None:
    sentences, tags = [["a", "b"], ["b", "a", "a"]] * 6, [["N", "V"], ["V", "N", "N"]] * 6
    weight = [1.0, 0.0] * 6
    tagger = SequenceTagger("cross-entropy", hidden=8, chars=False, max_epochs=1, random_state=0)
    tagger.fit(sentences, tags, sample_weight=weight)
    assert len(tagger.predict(sentences)) == 12
    rng = np.random.default_rng(0)
    masks = (rng.random((12, 8, 8)) < 0.5).astype(np.uint8)
    model = ImageSegmenter("cross-entropy", width=4, crop=4, max_epochs=1, random_state=0)
    with pytest.raises(DataError, match="one weight per row"):
        model.fit(masks * 1.0, masks, sample_weight=np.ones(3))
    heavy = np.r_[np.ones(6), np.full(6, 1e-6)]
    model.fit(masks * 1.0, masks, sample_weight=heavy)
    assert model.predict(masks * 1.0).shape == masks.shape


# class_weight ------------------------------------------------------------------------------------

NAMES = Labels(["a", "b", "c"])


def test_balanced_weights_are_those_of_scikit_learn() -> None:
    from sklearn.utils.class_weight import compute_class_weight

    Y = np.array([[1, 0, 1], [0, 0, 1], [0, 1, 1], [0, 1, 1]], dtype=np.uint8)
    found = weights("balanced", NAMES, Y)
    for k in range(2):
        wanted = compute_class_weight("balanced", classes=np.array([0, 1]), y=Y[:, k])
        assert np.allclose(found[:, k], wanted)
    assert found[:, 2].tolist() == [1.0, 1.0]  # never off
    partial = Y.astype(float)
    partial[3] = np.nan
    assert np.allclose(weights("balanced", NAMES, partial), weights("balanced", NAMES, Y[:3]))


def test_weights_by_name_number_and_class() -> None:
    Y = np.zeros((2, 3), dtype=np.uint8)
    found = weights({"a": 2.0, 2: 0.5}, NAMES, Y)
    assert found.tolist() == [[1, 1, 1], [2, 1, 0.5]]
    assert weights(None, NAMES, Y) is None
    binary = Labels(["y"], classes=np.array(["no", "yes"]))
    assert weights({"no": 3.0}, binary, Y[:, :1]).tolist() == [[3.0], [1.0]]


def test_a_heavier_label_is_found_more_often(classifier) -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((400, 2))
    Y = (rng.random((400, 2)) < 0.2).astype(int)
    rate = Y.mean(0)
    params = {"max_epochs": 60, "validation_fraction": 0.0, "dropout": 0.0}
    plain = classifier(**params).fit(X, Y).predict_proba(X[:1])[0]
    named = classifier(class_weight={"label_0": 4.0}, **params).fit(X, Y).predict_proba(X[:1])[0]
    even = classifier(class_weight="balanced", **params).fit(X, Y).predict_proba(X[:1])[0]
    assert np.allclose(plain, rate, atol=0.05)
    assert named[0] == pytest.approx(4 * rate[0] / (4 * rate[0] + 1 - rate[0]), abs=0.06)
    assert named[1] == pytest.approx(rate[1], abs=0.05)
    assert np.allclose(even, 0.5, atol=0.06)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("even", "must be None, 'balanced' or a dict"),
        ([1, 2], "must be None, 'balanced' or a dict"),
        ({"label_0": -1.0}, "class_weight of 'label_0' must be a number of at least 0"),
        ({"label_9": 1.0}, "label in class_weight: 'label_9'"),
        ({7: 1.0}, "label in class_weight: '7'"),
    ],
)
def test_class_weights_that_cannot_be(classifier, data, setting, message) -> None:
    with pytest.raises(SettingError, match=message):
        classifier(class_weight=setting).fit(*data)


def test_class_weights_need_a_cross_entropy(classifier, data) -> None:
    with pytest.raises(SettingError, match="weighs the cross-entropy, and 'dvn' has none"):
        classifier("dvn", class_weight="balanced").fit(*data)


def test_class_weights_are_stored(classifier, data, tmp_path) -> None:
    model = classifier(class_weight={"label_0": 2.0}, max_epochs=1).fit(*data)
    loaded = MultiLabelClassifier.load(model.save(tmp_path / "m"))
    assert loaded.class_weight == {"label_0": 2.0}
