"""Model folders: the one place that knows their files, and reads and writes them.

A readable config names the other files by their checksums; nothing is a pickle. ``config.json`` is
replaced last, in one step, and what the old one named is removed only then. So a folder that is
written over holds the old model or the new one, whenever the writer dies. ``lossnet train`` adds
what it knows of the data, the metrics and, until it is done, a checkpoint.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import reprlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import lossnet
from lossnet.errors import DataError, FolderInUseError
from lossnet.files import atomic_write, read_json, remove_leftovers, write_json

CONFIG, CHECKPOINT = "config.json", "checkpoint.safetensors"
DATA, METRICS = "data.json", "metrics.json"
#: The history for other programs; in training it is that of the run under way.
HISTORY_FILES = ("history.csv", "history.jsonl")
#: Files that the config names by their checksums.
WEIGHTS, LABELS, HISTORY = "weights.safetensors", "labels.json", "history.json"
VOCABULARY = "vocabulary.json"

FORMAT = 2
"""Version of the folder's layout; a folder of another version is refused."""


def write_model(
    folder: str | Path, config: Mapping[str, Any], contents: Mapping[str, bytes]
) -> Path:
    """Write a model folder.

    Args:
        folder: made where it does not exist.
        config: the entries of ``config.json`` besides the format and the files.
        contents: bytes by plain name; ``weights.safetensors`` is kept as
            ``weights-1a2b3c4d.safetensors``, after the first digits of its SHA-256.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; expected a folder to write the model to")
    files = {}
    for name, content in contents.items():
        checksum = hashlib.sha256(content).hexdigest()
        stored = f"{Path(name).stem}-{checksum[:8]}{Path(name).suffix}"
        atomic_write(folder / stored, partial(Path.write_bytes, data=content))
        files[name] = {"name": stored, "sha256": checksum}
    head = {"lossnet": lossnet.__version__, "format": FORMAT}
    write_json(folder / CONFIG, {**head, **config, "files": files})
    _remove_others(folder, contents, {entry["name"] for entry in files.values()})
    return folder


def read_model(folder: str | Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The config and, by plain name, the bytes of the files it names, their checksums checked."""
    folder = Path(folder)
    config = read_config(folder)
    contents = {}
    for name, entry in entry_of(config, "files", dict, folder).items():
        try:
            path, expected = folder / Path(entry["name"]).name, entry["sha256"]
            content = path.read_bytes()
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"cannot read {name} of the model in {folder}: {error}") from error
        if hashlib.sha256(content).hexdigest() != expected:
            raise DataError(f"{path} is damaged: its checksum is not the one in {CONFIG}")
        contents[name] = content
    return config, contents


def read_config(folder: Path) -> dict[str, Any]:
    """The config of a model folder in this version's format."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a model folder: it does not exist or is a file")
    if not holds_model(folder):
        what = f"no model: {CONFIG} does not exist; see lossnet train"
        if (folder / CHECKPOINT).exists():
            what = "an unfinished run; finish it with lossnet train --resume"
        raise DataError(f"{folder} holds {what}")
    config = read_json(folder / CONFIG)
    if not isinstance(config, dict) or type(config.get("format")) is not int:
        raise DataError(f"{folder / CONFIG} is not the config of a model")
    if config["format"] != FORMAT:
        written = f"by lossnet {config.get('lossnet')} in format {config['format']}"
        here = f"this is lossnet {lossnet.__version__}, which reads format {FORMAT}"
        remedy = "upgrade it" if config["format"] > FORMAT else "train again"
        raise DataError(f"the model in {folder} was written {written}; {here}: {remedy}")
    return config


def holds_model(folder: Path) -> bool:
    """Whether a model lies there, complete or damaged."""
    return (folder / CONFIG).exists()


def write_data(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write what the model there must know of its data."""
    write_json(folder / DATA, {"model": _digest(folder / CONFIG), **facts})


def read_data(folder: Path) -> dict[str, Any] | None:
    """What :func:`write_data` wrote for the model there; None where there is no such file."""
    if not (folder / DATA).exists():
        return None
    facts = read_json(folder / DATA)
    if not isinstance(facts, dict):
        raise DataError(f"{folder / DATA} is damaged: it holds no facts by name; train again")
    if facts.get("model") != _digest(folder / CONFIG):
        remedy = "finish the run with lossnet train --resume, or train again"
        raise DataError(f"{folder / DATA} does not belong to the model next to it; {remedy}")
    return facts


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other trainings out of the folder, and clean up after killed ones.

    The lock is on the folder itself: it ends with the process, and no file is left behind.
    """
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            what = f"another training is writing to {folder}"
            raise FolderInUseError(f"{what}; wait for it, or choose another folder") from error
        except OSError:  # a file system without locks
            pass
        else:
            remove_leftovers(folder)
        yield
    finally:
        os.close(handle)


def entry_of(config: Mapping[str, Any], key: str, kind: type, folder: str | Path) -> Any:
    """The config's entry ``key``, or an error where it is missing or of another type."""
    value = config.get(key)
    if not isinstance(value, kind):
        what = f"{key} is {reprlib.repr(value)}, expected {kind.__name__}"
        raise DataError(f"{Path(folder) / CONFIG} is damaged: {what}")
    return value


def json_bytes(value: Any) -> bytes:
    """Readable JSON in UTF-8."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def _remove_others(folder: Path, names: Mapping[str, bytes], keep: set[str]) -> None:
    """Remove files of earlier models, which are named after their contents, and nothing else."""
    for path in folder.iterdir():
        stem, _, digits = path.stem.partition("-")
        ours = stem + path.suffix in names and len(digits) == 8 and path.is_file()
        if ours and path.name not in keep and _digest(path).startswith(digits):
            path.unlink(missing_ok=True)
