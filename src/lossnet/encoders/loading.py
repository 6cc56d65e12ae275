"""Reading an encoder from a folder, with errors that say what is wrong with it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from lossnet.encoders.extra import need
from lossnet.encoders.hub import check_files, downloaded
from lossnet.encoders.pretrained import options_of
from lossnet.errors import DataError, SettingError
from lossnet.files import read_json

#: Sub-words for an encoder that states no most.
_DEFAULT = 512


def load(name: str | Path) -> dict[str, Any]:
    """The fields of a :class:`Pretrained`."""
    if not isinstance(name, str | Path) or not str(name):
        raise SettingError(f"encoder must be a folder or a name on the hub, got {name!r}")
    folder = Path(name).expanduser()
    folder = folder if folder.is_dir() else downloaded(str(name))
    settings = _settings(folder)
    check_files(folder)
    transformers = need("transformers", f"encoder={str(name)!r}")
    with _quiet(transformers):
        config = _config(transformers, folder, settings)
        tokenizer, stated = _tokenizer(transformers, folder)
        model = _model(transformers, folder, config)
    _check_vocabulary(folder, tokenizer, model)
    return {
        "name": str(name),
        "config": json.loads(config.to_json_string(use_diff=False)),
        "tokenizer": tokenizer,
        "width": int(config.hidden_size),
        "most": min(stated, _positions(config, model)),
        "weights": {key: value.detach().clone() for key, value in model.state_dict().items()},
    }


def _settings(folder: Path) -> dict[str, Any]:
    if not (folder / "config.json").is_file():
        wrong = f"the encoder folder {folder} has no config.json"
        raise DataError(f"{wrong}; give a folder that save_pretrained wrote")
    settings = read_json(folder / "config.json")
    if not isinstance(settings, dict) or not isinstance(settings.get("model_type"), str):
        wrong = f"{folder / 'config.json'} has no model_type"
        raise DataError(f"{wrong}; give the config of a transformers model")
    return settings


def _config(transformers: Any, folder: Path, settings: dict[str, Any]) -> Any:
    kind = settings["model_type"]
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    except Exception as error:
        raise DataError(f"transformers cannot read {folder / 'config.json'}: {error}") from error
    if getattr(config, "is_encoder_decoder", False):
        wrong = f"{folder} is an encoder-decoder ({kind})"
        raise SettingError(f"{wrong}; give an encoder such as BERT, RoBERTa or MiniLM")
    known = transformers.MODEL_MAPPING
    model = known.get(type(config), None)
    reads_text = getattr(model, "main_input_name", None) == "input_ids"
    if not reads_text or not isinstance(getattr(config, "hidden_size", None), int):
        wrong = f"{folder} is a {kind} model, which gives no hidden states of a text"
        raise SettingError(f"{wrong}; give an encoder such as BERT, RoBERTa or MiniLM")
    return config


def _tokenizer(transformers: Any, folder: Path) -> tuple[str, int]:
    """The tokenizer as JSON, and the most sub-words it states."""
    tokenizers = need("tokenizers", f"encoder={str(folder)!r}")
    own, more = folder / "tokenizer.json", folder / "tokenizer_config.json"
    try:
        if own.is_file():
            stated = read_json(more).get("model_max_length") if more.is_file() else None
            text = tokenizers.Tokenizer.from_str(own.read_text(encoding="utf-8")).to_str()
        else:
            found = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
            stated, text = found.model_max_length, found.backend_tokenizer.to_str()
    except Exception as error:
        wrong = f"cannot read the tokenizer of the encoder in {folder}: {error}"
        raise DataError(f"{wrong}; it must be a fast one, with a tokenizer.json") from error
    return text, int(stated) if isinstance(stated, int | float) and stated < 1e6 else _DEFAULT


def _model(transformers: Any, folder: Path, config: Any) -> Any:
    try:
        with torch.random.fork_rng(devices=[]):
            model, info = transformers.AutoModel.from_pretrained(
                folder,
                config=config,
                dtype=torch.float32,
                local_files_only=True,
                output_loading_info=True,
                **options_of(config),
            )
    except Exception as error:
        wrong = f"cannot read the weights of the encoder in {folder}: {error}"
        raise DataError(f"{wrong}; the file may be cut off: download or save it again") from error
    if missing := sorted(key for key in info["missing_keys"] if not key.startswith("pooler.")):
        wrong = f"the weights in {folder} lack {len(missing)} tensors, such as {missing[0]}"
        raise DataError(f"{wrong}; they are not those of its config.json")
    return model


def _check_vocabulary(folder: Path, tokenizer: str, model: Any) -> None:
    vocabulary = need("tokenizers", "an encoder").Tokenizer.from_str(tokenizer).get_vocab()
    rows, highest = len(model.get_input_embeddings().weight), max(vocabulary.values(), default=-1)
    if not 0 <= highest < rows:
        wrong = f"the tokenizer in {folder} numbers sub-words up to {highest}"
        raise DataError(f"{wrong}, and the encoder has {rows}; they do not belong together")


def _positions(config: Any, model: Any) -> int:
    """Most positions: RoBERTa's begin after the number of its padding."""
    tables = [m for n, m in model.named_modules() if n.endswith("position_embeddings")]
    taken = [table.padding_idx + 1 for table in tables if getattr(table, "padding_idx", None)]
    return int(getattr(config, "max_position_embeddings", _DEFAULT)) - max(taken, default=0)


@contextlib.contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Without transformers' progress bar and its notes on weights that are not used."""
    logs = transformers.logging
    before, bar = logs.get_verbosity(), logs.is_progress_bar_enabled()
    logs.set_verbosity_error()
    logs.disable_progress_bar()
    try:
        yield
    finally:
        logs.set_verbosity(before)
        if bar:
            logs.enable_progress_bar()
