"""Model folders: a readable config and the files it names by their checksums; never a pickle.

``config.json`` is replaced last, in one step, and what the old one named is removed only then.
So a folder that is written over holds the old model or the new one, whenever the writer dies.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import lossnet
from lossnet.errors import DataError
from lossnet.files import read_json, write_json, write_whole

CONFIG = "config.json"
FORMAT = 1
"""Version of the folder's layout, raised when an older reader could not read it."""


def write_model(
    folder: str | Path, config: Mapping[str, Any], contents: Mapping[str, bytes]
) -> Path:
    """Write a model folder.

    Args:
        folder: made where it does not exist.
        config: what ``config.json`` says of the model, beside the format and the files.
        contents: bytes by plain name; ``weights.safetensors`` is kept as
            ``weights-1a2b3c4d.safetensors``, after the first digits of its SHA-256.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; give a folder to write the model to")
    files = {}
    for name, content in contents.items():
        checksum = hashlib.sha256(content).hexdigest()
        stored = f"{Path(name).stem}-{checksum[:8]}{Path(name).suffix}"
        _write(folder / stored, content)
        files[name] = {"name": stored, "sha256": checksum}
    head = {"lossnet": lossnet.__version__, "format": FORMAT}
    write_json(folder / CONFIG, {**head, **config, "files": files})
    _remove_others(folder, contents, {entry["name"] for entry in files.values()})
    return folder


def read_model(folder: str | Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The config and, by plain name, the bytes of the files it names, their checksums checked."""
    folder = Path(folder)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a model folder: it does not exist or is a file")
    config = read_json(folder / CONFIG)
    if not isinstance(config, dict) or not isinstance(config.get("format"), int):
        raise DataError(f"{folder / CONFIG} is not the config of a model")
    if config["format"] > FORMAT:
        raise DataError(
            f"the model in {folder} was written by lossnet {config.get('lossnet')} in format "
            f"{config['format']}; this is lossnet {lossnet.__version__}, which reads format "
            f"{FORMAT} and below: upgrade it"
        )
    contents = {}
    for name, entry in entry_of(config, "files", dict, folder).items():
        try:
            path, expected = folder / Path(entry["name"]).name, entry["sha256"]
            content = path.read_bytes()
        except (OSError, KeyError, TypeError) as error:
            raise DataError(f"cannot read {name} of the model in {folder}: {error}") from error
        if hashlib.sha256(content).hexdigest() != expected:
            raise DataError(f"{path} is damaged: its checksum is not the one in {CONFIG}")
        contents[name] = content
    return config, contents


def entry_of(config: Mapping[str, Any], key: str, kind: type, folder: str | Path) -> Any:
    """The config's entry ``key``, or an error where it is missing or of another type."""
    value = config.get(key)
    if not isinstance(value, kind):
        raise DataError(
            f"{Path(folder) / CONFIG} is damaged: {key} is {value!r}, expected {kind.__name__}"
        )
    return value


def json_bytes(value: Any) -> bytes:
    """Readable JSON in UTF-8."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _write(path: Path, content: bytes) -> None:
    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_whole(path, write)


def _remove_others(folder: Path, names: Mapping[str, bytes], keep: set[str]) -> None:
    """Remove files of earlier models, and nothing else."""
    for name in names:
        stem, suffix = re.escape(Path(name).stem), re.escape(Path(name).suffix)
        pattern = re.compile(rf"{stem}-[0-9a-f]{{8}}{suffix}")
        for path in folder.iterdir():
            if pattern.fullmatch(path.name) and path.name not in keep:
                path.unlink(missing_ok=True)
