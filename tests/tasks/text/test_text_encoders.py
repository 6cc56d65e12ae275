"""TextClassifier on a pretrained encoder: frozen, trained in full, with adapters."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lossnet import TextClassifier
from lossnet.encoders import Pretrained
from lossnet.errors import DataError, LossnetError, SettingError
from lossnet.method import Optimiser
from lossnet.tasks.text import TextData
from lossnet.testing import check_estimator_contract, write_tiny_encoder

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from mutants import mutants

TEXTS = ["the dog barks", "the cat sleeps", "ann saw the dog and the cat"] * 7
LABELS = [["dog"], ["cat"], ["cat", "dog"]] * 7
TRAINED = ["full", "lora"]
LONG = " ".join(["the dog"] * 100)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder") / "tiny")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSNET_CACHE", str(tmp_path / "cache"))


def classifier(folder: Path | str, method: str = "seal-nce", **params: Any) -> TextClassifier:
    quick = {"hidden": (8,), "global_hidden": 4, "max_epochs": 2, "random_state": 0}
    return TextClassifier(method, encoder=folder, **{**quick, **params})


@pytest.mark.parametrize("training", ["frozen", *TRAINED])
def test_contract(folder: Path, training: str) -> None:
    model = classifier(str(folder), encoder_training=training, max_epochs=1)
    check_estimator_contract(model, TEXTS, LABELS)


@pytest.mark.parametrize("training", ["frozen", *TRAINED])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_stored_model_needs_no_encoder(
    folder: Path, tmp_path: Path, training: str, pooling: str
) -> None:
    encoder = Path(shutil.copytree(folder, tmp_path / "encoder"))
    model = classifier(encoder, encoder_training=training, pooling=pooling, max_length=16)
    texts = [*TEXTS, LONG]
    model.fit(texts, [*LABELS, ["dog"]])
    model.save(tmp_path / "model")
    shutil.rmtree(encoder)
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    again = TextClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(texts), model.predict_proba(texts), atol=1e-6)
    assert again.truncated_ == model.truncated_
    assert again.energy_features == ("own" if training == "frozen" else "shared")
    again.save(tmp_path / "copy")


@pytest.mark.parametrize("features", ["own", "copy", "shared"])
@pytest.mark.parametrize("training", TRAINED)
def test_features_of_the_loss_net(folder: Path, training: str, features: str) -> None:
    model = classifier(folder, encoder_training=training, energy_features=features)
    model.fit(TEXTS, LABELS)
    names = {key.split(".")[0] for key in model.nets_["energy"].state_dict()}
    assert ("features" in names) == (features != "shared")
    assert np.isfinite(model.energy(TEXTS, LABELS)).all()
    assert model.set_params(refine="net").predict(TEXTS).shape == (21, 2)


@pytest.mark.parametrize("hidden", [(), (8, 6)])
def test_the_task_net_on_a_trained_encoder_starts_at_rare_labels(
    folder: Path, hidden: tuple[int, ...]
) -> None:
    texts, labels = TEXTS, [[f"label {k}"] for k in range(len(TEXTS))]
    model = classifier(folder, "cross-entropy", encoder_training="full", hidden=hidden)
    model.set_params(max_epochs=1, method__task_optimiser=Optimiser(1e-9, encoder_lr=1e-9))
    proba = model.set_params(validation_fraction=0.0).fit(texts, labels).predict_proba(texts)
    assert 0.5 / 21 < np.median(proba) < 2 / 21
    layers, last = model.nets_["task"].last
    assert [m.out_features for m in layers.modules() if hasattr(m, "in_features")] == [*hidden]
    assert model.nets_["task"].features.normalise
    assert last.out_features == 21


def test_the_loss_net_weighs_less_where_an_encoder_is_trained(folder: Path) -> None:
    weights = {
        training: classifier(folder, encoder_training=training).resolved_method_params()
        for training in ("frozen", "lora")
    }
    assert weights["frozen"]["energy_weight"] == 2.0
    assert weights["lora"]["energy_weight"] == 1.0


def test_a_method_without_a_task_net_has_its_own_encoder(folder: Path) -> None:
    model = classifier(folder, "dvn", encoder_training="full", max_epochs=1).fit(TEXTS, LABELS)
    assert model.resolved_params()["energy_features"] == "own"
    assert model.predict_labels(TEXTS[:1])


def test_training_moves_the_encoder(folder: Path) -> None:
    before = Pretrained.load(folder).weights
    model = classifier(folder, "cross-entropy", encoder_training="full").fit(TEXTS, LABELS)
    after = model.nets_["task"].features.body.state_dict()
    assert any(not torch.equal(weight, after[name]) for name, weight in before.items())
    frozen = classifier(folder, "cross-entropy").fit(TEXTS, LABELS)
    assert frozen.nets_["task"].features.layers[0].in_features == 16


def test_truncation(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts, labels = [*TEXTS, LONG], [*LABELS, ["dog"]]
    for training in ("frozen", "lora"):
        model = classifier(folder, encoder_training=training, max_length=12, verbose=1)
        model.set_params(max_epochs=1, validation_fraction=0.0).fit(texts, labels)
        assert model.truncated_ == model.truncation(texts)
        assert model.truncated_.texts == 1
        assert model.truncated_.of == 22
        assert 0.4 < model.truncated_.share < 0.6
        assert "1 of 22 texts cut to 12 sub-words" in capsys.readouterr().err
        assert model.truncation(TextData(["the dog"])).texts == 0
    # No more than the encoder takes, whatever max_length allows.
    assert classifier(folder).fit(texts, labels).truncated_.limit == 64
    assert TextClassifier(max_epochs=1).fit(TEXTS, LABELS).truncated_ is None


def test_a_million_characters_and_an_empty_text(folder: Path) -> None:
    for training in ("frozen", "full"):
        model = classifier(folder, encoder_training=training, max_epochs=1).fit(TEXTS, LABELS)
        assert model.predict(["the dog " * 125_000, "", "x"]).shape == (3, 2)


def test_vectors_are_computed_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = classifier(folder).fit(TEXTS, LABELS)
    expected = first.predict_proba(TEXTS)
    monkeypatch.setattr("lossnet.encoders.cache._encoded", None)
    second = classifier(folder).fit(TEXTS, LABELS)
    np.testing.assert_array_equal(second.predict_proba(TEXTS), expected)
    with pytest.raises(TypeError):
        classifier(folder, cache=False).fit(TEXTS, LABELS)


def test_resuming_with_another_encoder(folder: Path, tmp_path: Path) -> None:
    encoder, file = Path(shutil.copytree(folder, tmp_path / "encoder")), tmp_path / "c.safetensors"
    classifier(encoder).fit(TEXTS, LABELS, checkpoint=file)
    shutil.rmtree(encoder)
    write_tiny_encoder(encoder, seed=1)
    with pytest.raises(DataError, match="different: data"):
        classifier(encoder).fit(TEXTS, LABELS, checkpoint=file, resume_from_checkpoint=True)


@pytest.mark.parametrize("training", ["frozen", "full"])
def test_a_damaged_model_folder(folder: Path, tmp_path: Path, training: str) -> None:
    model = classifier(folder, "cross-entropy", encoder_training=training, max_epochs=1)
    model.fit(TEXTS, LABELS).save(tmp_path)
    (file,) = tmp_path.glob("vocabulary-*.json")
    config, refused = json.loads((tmp_path / "config.json").read_text()), 0
    for mutant in mutants(file.read_bytes(), 60, seed=3):
        file.write_bytes(mutant)
        config["files"]["vocabulary.json"]["sha256"] = hashlib.sha256(mutant).hexdigest()
        (tmp_path / "config.json").write_text(json.dumps(config))
        try:
            TextClassifier.load(tmp_path).predict(TEXTS[:1])
        except LossnetError:
            refused += 1
    assert refused > 20


def test_bad_settings(folder: Path, tmp_path: Path) -> None:
    def refused(message: str, **params: Any) -> None:
        with pytest.raises(SettingError, match=message):
            classifier(**{"folder": folder, **params}).fit(TEXTS, LABELS)

    refused("needs an encoder to train", folder=None, encoder_training="lora")
    refused("encoder must be a folder, a name", folder=3)
    refused("encoder must be a folder, a name", folder="")
    refused("unknown encoder_training", encoder_training="half")
    refused("unknown pooling", pooling="max")
    refused("max_length must be", max_length=0)
    refused("max_length must be at least 3", max_length=2)
    refused("lora_rank must be", lora_rank=0)
    refused("cache must be a folder", cache=True)
    refused("are for encoder_training='frozen'", encoder_training="full", task_net=len)
    empty = Path(shutil.copytree(folder, tmp_path / "encoder"))
    (empty / "tokenizer.json").unlink()
    (empty / "tokenizer_config.json").unlink()
    with pytest.raises((SettingError, DataError), match="tokenizer"):
        classifier(empty).fit(TEXTS, LABELS)


def test_without_transformers(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier(folder, max_epochs=1).fit(TEXTS, LABELS).save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(SettingError, match=r"lossnet\[text\]"):
        classifier(folder).fit(TEXTS, LABELS)
    with pytest.raises(SettingError, match=r"^encoder=.* needs the text extra"):
        TextClassifier.load(tmp_path / "model")
    TextClassifier("cross-entropy", max_epochs=1).fit(TEXTS, LABELS)
