"""Does structure pay? The estimators' answer, for every kind of output."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from lossnet import ImageSegmenter, MultiLabelClassifier, SequenceTagger, TextClassifier, structure
from lossnet.errors import DataError, SettingError
from lossnet.tasks.multilabel import Ising, MultiLabelData

RNG = np.random.default_rng(0)
SENTENCES = [["a"] * int(RNG.integers(2, 7)) for _ in range(30)]
#: Tags that alternate: nothing about the words tells which comes first.
TAGS = [
    ["XY"[(start + t) % 2] for t in range(len(words))]
    for words, start in zip(SENTENCES, RNG.integers(0, 2, 30), strict=True)
]


def fitted(coupling: float, method: str) -> tuple[MultiLabelClassifier, MultiLabelData]:
    model = Ising(labels=5, features=4, coupling=coupling, seed=0)
    train, test = model.sample(1000, seed=2), model.sample(1000, seed=3)
    quick: dict[str, Any] = {"hidden": (32,), "global_hidden": 32, "dropout": 0.0, "batch_size": 64}
    clf = MultiLabelClassifier(method, max_epochs=12, random_state=0, **quick)
    return clf.fit(train), test


@pytest.mark.parametrize("method", ["seal-nce", "seal-ranking"])
def test_ising(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    independent = fitted(0.0, method)
    found = independent[0].structure_gain(independent[1])
    assert found.exact
    assert found.rows == 1000
    assert abs(found.nats) < 0.15
    assert found.dependence is not None
    assert found.dependence < 0.05
    assert not found.words.startswith("Structure pays")
    coupled = fitted(3.0, method)
    exact = coupled[0].structure_gain(coupled[1].X, coupled[1].Y)
    assert exact.low > 0.1
    assert exact.words.startswith("Structure pays")
    assert exact.dependence is not None
    assert exact.dependence > 0.1
    monkeypatch.setattr(structure, "ENUMERATED", 1)
    sampled = coupled[0].structure_gain(coupled[1])
    assert not sampled.exact
    assert sampled.low <= exact.nats <= sampled.high
    assert sampled.nats == pytest.approx(exact.nats, abs=0.15)
    assert coupled[0].structure_gain(coupled[1]) == sampled  # the same samples every time
    assert coupled[0].structure_gain(coupled[1], max_rows=50).rows == 50


def tagger(method: str, **params: Any) -> SequenceTagger:
    quick: dict[str, Any] = {"hidden": 8, "word_width": 8, "chars": False, "max_epochs": 15}
    return SequenceTagger(method, random_state=0, **{**quick, **params}).fit(SENTENCES, TAGS)


@pytest.mark.parametrize("method", ["seal-nce", "seal-ranking"])
def test_tags(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tagger(method)
    found = model.structure_gain(SENTENCES, TAGS)
    assert found.exact
    assert found.rows == 30
    # The same by enumeration or, for longer sentences, by samples.
    monkeypatch.setattr(structure, "ChainEnergy", type(None))
    assert model.structure_gain(SENTENCES, TAGS).nats == pytest.approx(found.nats, abs=1e-4)
    monkeypatch.setattr(structure, "ENUMERATED", 1)
    sampled = model.structure_gain(SENTENCES, TAGS, samples=500)
    assert sampled.low <= found.nats <= sampled.high


def test_images_and_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    images = RNG.uniform(size=(6, 16, 16, 3)).astype(np.float32)
    masks = (images[..., 0] > 0.5).astype(int)
    model = ImageSegmenter("seal-nce", width=4, max_epochs=1, random_state=0).fit(images, masks)
    found = model.structure_gain(images, masks, samples=7)
    assert (found.exact, found.rows, found.samples) == (False, 6, 7)
    # Fewer of large outputs: here four crops of 12 x 12 pixels.
    assert model.crop_ == (12, 12)
    monkeypatch.setattr("lossnet.tasks.structure._FEWEST", 3)
    monkeypatch.setattr("lossnet.tasks.structure._POSITIONS", 5 * 7 * 4 * 144)
    assert model.structure_gain(images, masks, samples=7).rows == 5
    assert model.structure_gain(images, masks, samples=70).rows == 3
    assert model.structure_gain(images, masks, samples=70, max_rows=6).rows == 6
    texts, labels = (
        ["red apple", "green pear", "red pear", "apple"] * 5,
        [["r"], ["g"], ["g"], []] * 5,
    )
    clf = TextClassifier("seal-nce", max_epochs=1, random_state=0).fit(texts, labels)
    assert clf.structure_gain(texts, labels).exact


@pytest.mark.parametrize(
    ("method", "why"),
    [
        ("cross-entropy", "'cross-entropy' has no loss-net"),
        ("dvn", "energies of 'dvn' are .*, not probabilities"),
        ("seal-margin", "energies of 'seal-margin' are .*, not probabilities"),
    ],
)
def test_methods_without_a_joint(method: str, why: str, data: Any, classifier: Any) -> None:
    model = classifier(method, max_epochs=1).fit(*data)
    with pytest.raises(SettingError, match=f"{why}; use a method such as seal-nce"):
        model.structure_gain(*data)


def test_no_task_net() -> None:
    with pytest.raises(SettingError, match="'crf' has no task-net to compare its loss-net with"):
        tagger("crf", max_epochs=1).structure_gain(SENTENCES, TAGS)


def test_bad_input(data: Any, classifier: Any, tmp_path: Any) -> None:
    with pytest.raises(NotFittedError):
        classifier("seal-nce").structure_gain(*data)
    model, (X, Y) = classifier("seal-nce", max_epochs=1).fit(*data), data
    with pytest.raises(SettingError, match="samples must be an integer of at least 1, got 0"):
        model.structure_gain(X, Y, samples=0)
    with pytest.raises(SettingError, match="max_rows must be an integer of at least 2, got 1"):
        model.structure_gain(X, Y, max_rows=1)
    with pytest.raises(DataError, match="at least 2 rows, got 1"):
        model.structure_gain(X[:1], Y[:1])
    with pytest.raises(DataError, match="has no labels"):
        model.structure_gain(X)
    lighter = type(model).load(model.save(tmp_path / "model", keep_energy=False))
    with pytest.raises(SettingError, match=r"'energy' was not kept .* keep_energy=True"):
        lighter.structure_gain(X, Y)
