"""Encoders of the Hugging Face hub: downloaded once, or refused within seconds."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lossnet.encoders.extra import need
from lossnet.errors import DataError, SettingError

#: A folder has a tokenizer if it has one of these files.
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model", "tokenizer.model.*")
#: Weights; the first kind that is there is downloaded.
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_OTHERS = ("*.json", "*.txt", "*.model", "tokenizer.model.*")
#: Seconds to wait for the hub's answer.
_WAIT = 6.0


def check_files(folder: Path) -> None:
    """Raise where a file is missing: transformers makes up an empty tokenizer without a word."""
    if not any(True for pattern in _TOKENIZERS for _ in folder.glob(pattern)):
        wrong = f"the encoder folder {folder} has no tokenizer (tokenizer.json or a vocabulary)"
        raise DataError(f"{wrong}; save the tokenizer there with save_pretrained")
    if not any(True for pattern in _WEIGHTS for _ in folder.glob(pattern)):
        wrong = f"the encoder folder {folder} has no weights (model.safetensors)"
        raise DataError(f"{wrong}; save the model there with save_pretrained")


def downloaded(name: str) -> Path:
    """The folder of a model of the hub; a copy from an earlier download is used as it is."""
    remedy = "give a local folder with its config.json, tokenizer and weights: encoder='folder'"
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name) or name.startswith("."):
        raise SettingError(f"the encoder folder {name} does not exist; {remedy}")
    hub = need("huggingface_hub", f"encoder={name!r}")
    with contextlib.suppress(Exception):
        copy = Path(hub.snapshot_download(name, local_files_only=True))
        check_files(copy)
        return copy
    try:
        info = _within(_WAIT, lambda: hub.HfApi().model_info(name, timeout=_WAIT - 1))
        files = [file.rfilename for file in info.siblings]
        weights = next((p for p in _WEIGHTS if any(Path(f).match(p) for f in files)), _WEIGHTS[0])
        return Path(hub.snapshot_download(name, allow_patterns=[*_OTHERS, weights], etag_timeout=5))
    except hub.errors.RepositoryNotFoundError as error:
        wrong = f"encoder={name!r} is neither a folder nor a model on the Hugging Face hub"
        raise SettingError(f"{wrong}; {remedy}") from error
    except Exception as error:
        wrong = f"encoder={name!r} is not a folder, and the Hugging Face hub cannot be reached"
        raise SettingError(f"{wrong} ({type(error).__name__}: {error}); {remedy}") from error


def _within(seconds: float, call: Callable[[], Any]) -> Any:
    """The result of a call, or an error after some seconds: looking a name up has no time limit."""
    found: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not found:
        raise TimeoutError(f"no answer in {seconds:g} seconds")
    return found[0]
