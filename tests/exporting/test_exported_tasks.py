"""An exported folder of every task predicts what its estimator does, without torch or lossnet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from alone import WITH_TORCH, predict_alone, script

from lossnet import (
    ImageSegmenter,
    MultiLabelClassifier,
    SemanticRoleLabeler,
    SequenceTagger,
    TextClassifier,
)
from lossnet.cli import main
from lossnet.exporting.runtime.base import load

WORDS = ["the", "Dog", "ROME", "ann", "saw", "ran", "U.S.", "x9", "straße"]


def check_same(model: Any, found: Any, *inputs: Any) -> None:
    """A folder's predictions and probabilities are its estimator's."""
    labels, proba, *_ = found
    own, own_proba = model.predict(*inputs), model.predict_proba(*inputs)
    for one, other in zip(labels, own, strict=True):
        assert np.array_equal(one, other)
    for one, other in zip(proba, own_proba, strict=True):
        assert one.shape == other.shape
        assert np.abs(one - other).max() < 1e-5


def random_sentences(count: int, seed: int = 0) -> list[list[str]]:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 12, count)
    return [[WORDS[k] for k in rng.integers(0, len(WORDS), n)] for n in lengths]


@pytest.fixture(scope="module")
def classifier() -> MultiLabelClassifier:
    """Members, trees, missing values, per-label thresholds and calibrated probabilities."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 6)) * [1, 10, 1, 1, 100, 1] + 3
    Y = (X[:, :4] + rng.normal(size=(150, 4)) > [3, 4, 4, 4]).astype(int)
    X[rng.random(X.shape) < 0.05] = np.nan
    how: dict[str, Any] = {"members": 2, "trees": 8, "threshold": "tuned-per-label"}
    model = MultiLabelClassifier(hidden=(8,), max_epochs=2, random_state=0, **how)
    return model.fit(X[:100], Y[:100]).calibrate(X[100:], Y[100:])


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """One more than a batch of the runtime, so that the last has a single row."""
    found = np.random.default_rng(1).normal(size=(1025, 6)) * [1, 10, 1, 1, 100, 1] + 3
    found[5, 2] = np.nan
    return found


def test_labels(classifier: MultiLabelClassifier, rows: np.ndarray, tmp_path: Path) -> None:
    folder = classifier.export(tmp_path / "model")
    check_same(classifier, predict_alone(folder, rows), rows)


def test_labels_in_torch(classifier: MultiLabelClassifier, rows: np.ndarray, tmp_path) -> None:
    own = load(classifier.export(tmp_path / "model", "torch"))
    check_same(classifier, (own.predict(rows), own.predict_proba(rows)), rows)


@pytest.mark.parametrize("format", ["onnx", "torch"])
def test_tags_of_a_chain(format: str, tmp_path: Path) -> None:
    sentences = random_sentences(100)
    tags = [["B-A" if word == "ROME" else "O" for word in row] for row in sentences]
    for row, own in zip(sentences, tags, strict=True):
        for t in range(1, len(row)):
            own[t] = "I-A" if own[t - 1] != "O" and row[t] == "ann" else own[t]
    how: dict[str, Any] = {"metric": "span-f1", "decode": "argmax", "min_count": 1}
    model = SequenceTagger(hidden=8, max_epochs=2, random_state=0, **how)
    model.fit(sentences, tags, columns={"pos": [[w[:1] for w in row] for row in sentences]})
    folder = model.export(tmp_path / "model", format)
    unseen = [*random_sentences(300, seed=1), ["unseen" * 10], WORDS * 5]
    columns = {"pos": [[w[-1:] for w in row] for row in unseen]}
    how = {"banned": WITH_TORCH} if format == "torch" else {}
    labels, proba, _ = predict_alone(folder, unseen, columns, **how)
    assert labels == model.predict(unseen, columns=columns)
    own = model.predict_proba(unseen, columns=columns)
    assert max(np.abs(a - b).max() for a, b in zip(proba, own, strict=True)) < 1e-5
    facts = json.loads((folder / "facts.json").read_text())
    facts["facts"]["decision"] = model.set_params(decode="expected")._decision().to_json()
    (folder / "facts.json").write_text(json.dumps(facts))
    assert load(folder).predict(unseen, columns) == model.predict(unseen, columns=columns)


def test_roles(tmp_path: Path) -> None:
    sentences = [row for row in random_sentences(90) if len(row) > 1]
    places = [len(row) // 2 for row in sentences]
    tags = [
        ["B-V" if t == place else "B-ARG0" if t == 0 else "O" for t in range(len(row))]
        for row, place in zip(sentences, places, strict=True)
    ]
    how: dict[str, Any] = {"hidden": 6, "max_epochs": 2, "chars": False, "random_state": 0}
    model = SemanticRoleLabeler("cross-entropy", decode="argmax", **how)
    model.fit(sentences, places, tags)
    folder = model.export(tmp_path / "model")
    inputs = sentences, [len(row) - 1 for row in sentences]
    check_same(model, predict_alone(folder, *inputs), *inputs)
    (tmp_path / "lines.txt").write_text("1 the ROME saw\n\n0 ran ann ||| B-V O\n")
    done = script(folder, str(tmp_path / "lines.txt"), "--proba")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["tags"] == model.predict([["the", "ROME", "saw"]], [1])[0]
    assert second["tags"][0] == "B-V"
    assert len(second["probabilities"]) == 2


def test_texts(tmp_path: Path) -> None:
    texts = [" ".join(row) + "! Oil-prices, 2 of 10" for row in random_sentences(80)]
    labels = [[word for word in ("rome", "ann") if word in text.lower()] for text in texts]
    how: dict[str, Any] = {"hidden": (8,), "max_epochs": 2, "ngrams": 2, "random_state": 0}
    model = TextClassifier("cross-entropy", **how).fit(texts, labels)
    folder = model.export(tmp_path / "model")
    unseen = ["", "nothing known here", *(" ".join(row) for row in random_sentences(500, seed=2))]
    check_same(model, predict_alone(folder, unseen), unseen)
    (tmp_path / "texts.jsonl").write_text(json.dumps({"text": unseen[5]}) + "\n")
    line = json.loads(script(folder, str(tmp_path / "texts.jsonl")).stdout)
    assert line == {"row": 0, "labels": model.predict_labels([unseen[5]])[0]}


def test_images_of_any_size(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    masks = rng.integers(0, 3, (20, 3, 3)).repeat(5, 1).repeat(5, 2)
    images = masks[..., None] * [60.0, 30.0, 10.0] + rng.normal(size=(20, 15, 15, 3))
    model = ImageSegmenter("cross-entropy", width=4, max_epochs=2, random_state=0)
    model.fit(images.astype(np.uint8), masks)
    folder = model.export(tmp_path / "model")
    large, larger = (rng.integers(0, 200, (2, 23, w, 3)).astype(np.uint8) for w in (31, 61))
    check_same(model, predict_alone(folder, large), large)  # the mean of crops
    own = load(folder)
    check_same(model, (own.predict(larger), own.predict_proba(larger)), larger)  # uncropped
    np.save(tmp_path / "one.npy", larger[0])
    done = script(folder, str(tmp_path / "one.npy"), "--out", str(tmp_path / "found.npz"))
    assert done.returncode == 0, done.stderr
    assert (np.load(tmp_path / "found.npz")["masks"] == model.predict(larger[:1])).all()


def test_the_command_and_its_script(tmp_path: Path, capsys) -> None:
    """Columns by name, words among them; the script prints what ``lossnet predict`` does."""
    rng = np.random.default_rng(0)
    lines = ["colour,size,open,label:warm,label:large"]
    for _ in range(60):
        colour, size = ("red", "blue", "green")[rng.integers(3)], rng.normal()
        opened = ("yes", "no")[rng.integers(2)]
        lines.append(f"{colour},{size:.4f},{opened},{int(colour == 'red')},{int(size > 0)}")
    (tmp_path / "train.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "new.csv").write_text("size,open,colour\n0.5,no,red\n-1,yes,pink\n,no,blue\n")
    run, out, new = tmp_path / "run", tmp_path / "out", tmp_path / "new.csv"
    small = ["--set", "max_epochs=2", "hidden=[8]", "--quiet"]
    train = ["train", tmp_path / "train.csv", "--method", "cross-entropy", "--out", run, *small]
    assert main(list(map(str, train))) == 0
    assert main(["export", str(run), "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["predict", str(run), str(new), "--proba"]) == 0
    expected = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = [json.loads(line) for line in script(out, str(new), "--proba").stdout.splitlines()]
    assert [row["labels"] for row in found] == [row["labels"] for row in expected]
    for one, other in zip(found, expected, strict=True):
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=2e-6)
    assert main(["export", str(run), "--out", str(out)]) == 2
    assert "--overwrite" in capsys.readouterr().err
