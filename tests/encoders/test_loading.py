"""Encoders that cannot be read: one line with what is wrong and what to do."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from lossnet.encoders import Pretrained, hub
from lossnet.errors import DataError, SettingError


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "encoder"))


def refused(folder, message: str, kind: type[Exception] = DataError) -> None:
    with pytest.raises(kind, match=message) as caught:
        Pretrained.load(folder)
    assert "\n" not in str(caught.value)


def test_transformers_is_not_installed(folder, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    refused(
        folder, r"encoder='.*' needs the text extra.*pip install 'lossnet\[text\]'", SettingError
    )


def test_a_folder_without_config(folder) -> None:
    (folder / "config.json").unlink()
    refused(folder, "has no config.json; give a folder that save_pretrained wrote")


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_a_config_that_is_none(folder, text) -> None:
    (folder / "config.json").write_text(text)
    refused(folder, "config.json (is not valid JSON|has no model_type)")


def test_a_folder_without_tokenizer(folder) -> None:
    (folder / "tokenizer.json").unlink()
    refused(folder, "has no tokenizer .*save the tokenizer there")


def test_a_damaged_tokenizer(folder) -> None:
    (folder / "tokenizer.json").write_text("{}")
    refused(folder, "cannot read the tokenizer of the encoder")


def test_a_folder_without_weights(folder) -> None:
    (folder / "model.safetensors").unlink()
    refused(folder, "has no weights .*save the model there")


def test_weights_that_are_cut_off(folder) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    refused(folder, "cannot read the weights of the encoder .* download or save it again")


def test_weights_of_another_model(folder) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    refused(folder, "lack 16 tensors, such as encoder.layer.2")
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 8}))
    refused(folder, "cannot read the weights")


def test_a_tokenizer_of_another_model(folder) -> None:
    facts = json.loads((folder / "tokenizer.json").read_text())
    facts["model"]["vocab"]["zebra"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(facts))
    refused(folder, "numbers sub-words up to 5000, and the encoder has 92; they do not belong")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("t5", r"is an encoder-decoder \(t5\); give an encoder such as BERT"),
        ("vit", "is a vit model, which gives no hidden states of a text"),
        ("nonesuch", "transformers cannot read .*nonesuch"),
    ],
)
def test_models_of_other_kinds(folder, kind, message) -> None:
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    refused(folder, message, (DataError, SettingError))


@pytest.mark.parametrize("name", ["./nowhere", "/no/such/folder", "a/b/c", "", None, 3])
def test_folders_that_do_not_exist(name) -> None:
    refused(name, "does not exist; give a local folder|must be a folder or a name", SettingError)


@pytest.mark.parametrize("name", ["bert-base-uncased", "someone/some-model"])
def test_no_network_is_found_out_within_ten_seconds(name, monkeypatch, tmp_path) -> None:
    """The hub is an address that nobody answers at."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: _api("http://127.0.0.1:9"))
    start = time.monotonic()
    refused(name, "hub cannot be reached .*give a local folder .*encoder='folder'", SettingError)
    assert time.monotonic() - start < 10


def _api(endpoint: str):
    from huggingface_hub.hf_api import HfApi

    return HfApi(endpoint=endpoint)


def test_a_hub_that_does_not_answer(monkeypatch) -> None:
    api = SimpleNamespace(model_info=lambda *_, **__: time.sleep(5))
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
    monkeypatch.setattr(hub, "_WAIT", 0.05)
    refused("someone/model", "TimeoutError: no answer in 0.05 seconds", SettingError)


def test_a_model_of_the_hub_is_downloaded_with_one_kind_of_weights(folder, monkeypatch) -> None:
    asked: list[dict] = []
    files = [SimpleNamespace(rfilename=name) for name in ("model.safetensors", "pytorch_model.bin")]
    api = SimpleNamespace(model_info=lambda *_, **__: SimpleNamespace(siblings=files))

    def download(name, **options):
        if options.get("local_files_only"):
            raise OSError("not there")
        asked.append(options)
        return str(folder)

    monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert Pretrained.load("someone/model").width == 16
    assert "*.safetensors" in asked[0]["allow_patterns"]
    assert "pytorch_model*.bin" not in asked[0]["allow_patterns"]
    monkeypatch.setattr("huggingface_hub.snapshot_download", lambda *_, **__: str(folder))
    monkeypatch.delattr("huggingface_hub.HfApi")
    assert Pretrained.load("someone/model").width == 16  # the copy: the hub is not asked


def test_an_encoder_without_positions_of_its_own_and_of_other_kinds(tmp_path, tiny_folder) -> None:
    """DistilBERT names its width otherwise; RoBERTa's positions begin after the padding."""
    transformers = pytest.importorskip("transformers")
    small = {"vocab_size": 93, "max_position_embeddings": 40}
    distil = transformers.DistilBertConfig(**small, dim=16, n_layers=1, n_heads=2, hidden_dim=16)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    roberta = transformers.RobertaConfig(**small, **sizes, intermediate_size=16, pad_token_id=1)
    for config, most in ((distil, 40), (roberta, 38)):
        folder = tmp_path / config.model_type
        transformers.AutoModel.from_config(config).save_pretrained(folder)
        shutil.copy(tiny_folder / "tokenizer.json", folder)
        pretrained = Pretrained.load(folder)
        assert (pretrained.width, pretrained.most) == (16, most)
        tokeniser = pretrained.tokeniser()
        x = tokeniser.collate(tokeniser.sentences([["the", "dogs"] * 30, ["a"]], [0, 0]))
        for training in ("full", "lora"):
            assert pretrained.net(pool="words", training=training)(x).isfinite().all()
