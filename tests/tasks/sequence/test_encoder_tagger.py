"""SequenceTagger on a pretrained encoder: frozen, fully trained and with LoRA."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.base import clone

from lossnet import SequenceTagger
from lossnet.encoders import Encoder, Pretrained
from lossnet.errors import DataError, SettingError
from lossnet.nets import EncoderFeatures, TokenFeatures
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.testing import write_tiny_encoder

NAMES = {"B-PER": ["ann", "bob"], "B-LOC": ["rome", "oslo"], "O": ["saw", "the", "left"]}
TRAININGS = ["frozen", "full", "lora"]


def corpus(count: int, seed: int = 0) -> SequenceData:
    """Sentences whose tags follow from the word."""
    rng = np.random.default_rng(seed)
    tags = [[str(tag) for tag in rng.choice(list(NAMES), rng.integers(2, 6))] for _ in range(count)]
    tokens = [[str(rng.choice(NAMES[tag])) for tag in row] for row in tags]
    return SequenceData(tokens, tags)


TRAIN, TEST = corpus(60), corpus(20, seed=1)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSNET_CACHE", str(tmp_path / "cache"))


def tagger(folder, method: str = "cross-entropy", **settings) -> SequenceTagger:
    small = {"chars": False, "hidden": 8, "dropout": 0.0, "batch_size": 8, "random_state": 0}
    return SequenceTagger(method, encoder=str(folder), **{**small, "max_epochs": 2, **settings})


@pytest.mark.filterwarnings("error")
def test_a_folder_given_as_a_path_is_stored_by_its_name(folder, tmp_path) -> None:
    model = tagger(folder, max_epochs=1).set_params(encoder=folder).fit(TRAIN)
    again = SequenceTagger.load(model.save(tmp_path / "model"))
    assert again.encoder == str(folder)


@pytest.mark.parametrize("training", TRAININGS)
@pytest.mark.parametrize("method", ["cross-entropy", "crf", "seal-nce", "infnet-plus"])
def test_fit_predict_save_and_load(folder, method, training, tmp_path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    model = tagger(copy, method, encoder_training=training).fit(TRAIN, validation_data=TEST)
    kinds = {type(net.features) for net in model.nets_.values() if hasattr(net, "features")}
    assert kinds == {TokenFeatures if training == "frozen" else EncoderFeatures}
    predicted, proba = model.predict(TEST.tokens), model.predict_proba(TEST.tokens)
    assert [len(row) for row in predicted] == [len(row) for row in TEST.tokens]
    model.save(tmp_path / "model")
    shutil.rmtree(copy)  # a stored model needs neither the folder nor the network
    again = SequenceTagger.load(tmp_path / "model")
    assert again.predict(TEST.tokens) == predicted
    for one, other in zip(proba, again.predict_proba(TEST.tokens), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    again.save(tmp_path / "again")
    assert SequenceTagger.load(tmp_path / "again").predict(TEST.tokens) == predicted


@pytest.mark.parametrize("training", TRAININGS)
def test_learns(folder, training) -> None:
    rates = {"task_optimiser": {"lr": 2e-2}}
    model = tagger(folder, encoder_training=training, max_epochs=20, method_params=rates)
    assert model.fit(TRAIN).score(TEST) > 0.9


@pytest.mark.parametrize("training", ["full", "lora"])
def test_what_is_trained(folder, training) -> None:
    model = tagger(folder, encoder_training=training).fit(TRAIN)
    before = model.encoder_.net(pool="words", training=training).body
    after = model.nets_["task"].features.encoder
    changed = {
        name
        for (name, old), new in zip(before.named_parameters(), after.body.parameters(), strict=True)
        if not torch.equal(old, new) and "lora_" not in name
    }
    adapters = [p for n, p in after.named_parameters() if "lora_B" in n]
    assert bool(changed) == (training == "full")
    assert all(p.any() for p in adapters)
    assert bool(adapters) == (training == "lora")


def test_a_frozen_encoder_is_run_once(folder, monkeypatch) -> None:
    counts: list[int] = []
    forward = Encoder.forward

    def counted(self, x):
        counts.append(len(x.ids))
        return forward(self, x)

    monkeypatch.setattr(Encoder, "forward", counted)
    tagger(folder, max_epochs=3).fit(TRAIN, validation_data=TEST)
    distinct = {tuple(row) for row in (*TRAIN.tokens, *TEST.tokens)}
    assert sum(counts) == len(distinct)
    tagger(folder, "crf").fit(TRAIN, validation_data=TEST).predict(TEST)
    assert sum(counts) == len(distinct)


def test_characters_and_columns_are_read_next_to_the_vectors(folder) -> None:
    columns = {"pos": [["N"] * len(row) for row in TRAIN.tokens]}
    model = tagger(folder, chars=True).fit(TRAIN.tokens, TRAIN.tags, columns=columns)
    features = model.nets_["task"].features
    assert features.words is None
    assert features.recurrent.forwards.input_size == 16 + 30 + 2 * 10
    trained = tagger(folder, chars=True, encoder_training="lora", case=False)
    trained.fit(TRAIN.tokens, TRAIN.tags, columns=columns)
    assert trained.nets_["task"].output.in_features == 16 + 10
    assert trained.predict([["ann"]], columns={"pos": [["N"]]})


@pytest.mark.parametrize("training", TRAININGS)
def test_words_behind_the_limit_are_counted(folder, training, capsys) -> None:
    sentences = [["ann", "saw", "rome", "left"], ["the", "dog"]] * 4
    tags = [["O"] * len(row) for row in sentences]
    settings = {"max_length": 4, "max_epochs": 1, "validation_fraction": 0.0}
    model = tagger(folder, encoder_training=training, verbose=1, **settings).fit(sentences, tags)
    assert model.words_lost_ == 8
    note = "note: 8 words of 4 of 8 training sentences lie behind the first 4 sub-words"
    assert note in capsys.readouterr().err
    assert [len(row) for row in model.predict(sentences)] == [4, 2] * 4


@pytest.mark.parametrize("training", ["full", "lora"])
@pytest.mark.parametrize("features", ["own", "copy", "shared"])
def test_the_features_of_the_loss_net(folder, training, features, tmp_path) -> None:
    settings = {"encoder_training": training, "energy_features": features, "max_epochs": 1}
    model = tagger(folder, "seal-nce", **settings).fit(TRAIN)
    energy = model.nets_["energy"]
    own = [module for module in energy.modules() if isinstance(module, Encoder)]
    assert len(own) == (features != "shared")
    model.save(tmp_path / "model")
    assert SequenceTagger.load(tmp_path / "model").predict(TEST) == model.predict(TEST)


def test_adapters_are_all_that_a_folder_holds_of_the_nets_encoder(folder, tmp_path) -> None:
    from safetensors.numpy import load_file

    for training in TRAININGS:
        model = tagger(folder, encoder_training=training, max_epochs=1).fit(TRAIN)
        (file,) = model.save(tmp_path / training).glob("weights-*")
        names = load_file(file)
        packed = [name for name in names if name.startswith("encoder/")]
        inside = [name for name in names if "encoder.body" in name]
        assert bool(packed) == (training != "full")
        assert all(("lora_" in name) == (training == "lora") for name in inside)
        assert bool(inside) == (training != "frozen")


def test_resuming_needs_the_same_encoder(folder, tmp_path) -> None:
    place = shutil.copytree(folder, tmp_path / "place")
    file = tmp_path / "checkpoint"
    tagger(place, encoder_training="lora").fit(TRAIN, checkpoint=file)
    resumed = tagger(place, encoder_training="lora")
    resumed.fit(TRAIN, checkpoint=file, resume_from_checkpoint=True)
    write_tiny_encoder(place, seed=1)
    with pytest.raises((DataError, SettingError), match="data"):
        resumed.fit(TRAIN, checkpoint=file, resume_from_checkpoint=True)


def test_an_encoder_in_memory(folder, tmp_path) -> None:
    model = tagger(folder).set_params(encoder=Pretrained.load(folder))
    again = clone(model).fit(TRAIN)
    assert again.predict(TEST) == model.fit(TRAIN).predict(TEST)
    model.save(tmp_path / "model")
    with pytest.warns(UserWarning, match="encoder=Pretrained.*which is not stored"):
        loaded = SequenceTagger.load(tmp_path / "model")
    assert loaded.predict(TEST) == model.predict(TEST)


def test_marks_are_for_subclasses(folder) -> None:
    """A hook tells which word is marked; the features of all words depend on it."""

    class Marking(SequenceTagger):
        place = 0

        def _marked(self, data):
            return [min(self.place, len(row) - 1) for row in data.tokens]

    settings = tagger(folder, encoder_training="full", max_epochs=1).get_params(deep=False)
    model = Marking(**settings).fit(TRAIN)
    first = model.predict_proba(TEST)
    Marking.place = 1
    second = model.predict_proba(TEST)
    assert not any(np.allclose(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoder": 3}, "encoder is a int; give a folder, a name on the hub or None"),
        ({"encoder_training": "some"}, "unknown encoder_training 'some'"),
        ({"lora_rank": 0}, "lora_rank must be an integer of at least 1, got 0"),
        ({"max_length": 0}, "max_length must be an integer of at least 1, got 0"),
        ({"max_length": 500}, "max_length must be at most 64 for the encoder .*, got 500"),
        ({"vectors": "glove.txt"}, "vectors and encoder both give word vectors"),
        ({"method": "seal-nce", "global_energy": "both+words"}, "both\\+words.*take 'both'"),
        ({"encoder": "/no/such/folder"}, "the encoder folder /no/such/folder does not exist"),
    ],
)
def test_settings(folder, settings, message) -> None:
    with pytest.raises(SettingError, match=message):
        tagger(folder).set_params(**settings).fit(TRAIN)


def test_a_global_energy_without_words(folder) -> None:
    settings = {"global_energy": "both", "encoder_training": "lora", "max_epochs": 1}
    assert tagger(folder, "seal-nce", **settings).fit(TRAIN).predict(TEST)


def test_a_damaged_model_folder(folder, tmp_path) -> None:
    model = tagger(folder, max_epochs=1).fit(TRAIN)
    model.save(tmp_path / "model")
    (file,) = (tmp_path / "model").glob("vocabulary-*")
    facts = json.loads(file.read_text())
    assert facts["encoder"]["config"]["model_type"] == "bert"
    file.write_text(json.dumps({**facts, "encoder": {}}))
    with pytest.raises(DataError, match="damaged"):
        SequenceTagger.load(tmp_path / "model")


def test_command_line(folder, tmp_path) -> None:
    from lossnet.cli import main

    lines = [
        "\n".join(f"{w} {t}" for w, t in zip(*pair, strict=True))
        for pair in zip(TRAIN.tokens, TRAIN.tags, strict=True)
    ]
    data = tmp_path / "a.conll"
    data.write_text("\n\n".join(lines) + "\n")
    out = str(tmp_path / "model")
    settings = [f"encoder={folder}", "encoder_training=lora", "max_length=32", "max_epochs=1"]
    assert main(["train", str(data), "--out", out, "--quiet", "--set", *settings]) == 0
    assert main(["evaluate", out, str(data)]) == 0
    assert main(["predict", out, str(data), "--out", str(tmp_path / "p.conll")]) == 0
