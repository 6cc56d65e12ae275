"""The folder a run writes to: checked before the run, never left behind empty."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.errors import DataError, SettingError
from lossnet.files import read_json, write_json, write_text

if TYPE_CHECKING:
    from lossnet.cli.tasks.base import Parts, Task

CONFIG, CHECKPOINT = "config.json", "checkpoint.safetensors"
METRICS, DATA = "metrics.json", "data.json"


@contextlib.contextmanager
def writable(path: str | Path) -> Iterator[Path]:
    """A folder that can be written to; when all is over and it is empty, it is removed again.

    Only folders made here are removed.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; give a folder to write to")
    made = [p for p in (folder, *folder.parents) if not p.exists()]
    try:
        write_text(folder / ".lossnet-writable", "").unlink()
        yield folder
    finally:
        for new in made:
            try:
                new.rmdir()
            except OSError:
                break


def check_unused(folder: Path, *, overwrite: bool, resume: bool) -> None:
    """Refuse a folder that holds a model or an unfinished run, unless told what to do with it."""
    if overwrite or resume:
        return
    if (folder / CHECKPOINT).exists():
        raise SettingError(
            f"{folder} holds an unfinished run: add --resume to go on with it, or --overwrite to "
            "start again"
        )
    if holds_model(folder):
        raise SettingError(
            f"{folder} already holds a model: choose another folder, or add --overwrite"
        )


def holds_model(folder: Path) -> bool:
    """Whether a model folder lies there, whole or damaged."""
    return (folder / CONFIG).exists()


def check_finished(folder: Path, model: Any, splits: Parts) -> None:
    """Refuse to call a run finished that was made with other settings or data."""
    from lossnet.cli.settings import plain_params

    config = read_json(folder / CONFIG)
    stored = config.get("parameters", {}) if isinstance(config, dict) else {}
    wanted = plain_params(model)
    changed = sorted(k for k in wanted if k != "verbose" and stored.get(k) != wanted[k])
    if changed:
        raise SettingError(
            f"{folder} holds a finished run with other settings ({', '.join(changed)} differ); "
            "choose another folder, or add --overwrite in place of --resume"
        )
    if (folder / DATA).exists():
        data = read_json(folder / DATA)
        if isinstance(data, dict) and data.get("train_checksum") != splits.train.checksum():
            raise SettingError(
                f"{folder} holds a finished run on other data ({data.get('source')}); choose "
                "another folder, or add --overwrite in place of --resume"
            )


def save_data(folder: Path, task: Task, splits: Parts, args: argparse.Namespace) -> None:
    """Write what the model saved there must know of its data: names, and its training part."""
    write_json(
        folder / DATA,
        {
            "model": _digest(folder / CONFIG),
            "source": args.data,
            "name": splits.name,
            task.unit: {part: task.count(data) for part, data in splits.parts()},
            "train_checksum": splits.train.checksum(),
            **task.data_facts(splits, args),
        },
    )


def load_model(path: str | Path) -> tuple[Task, Any, Any]:
    """A trained model's task, the model, and what it knows of its data."""
    from lossnet.cli.tasks import task_of_estimator

    folder = Path(path)
    if not folder.is_dir():
        raise DataError(f"{folder} is not a model folder: it does not exist or is a file")
    if not (folder / CONFIG).exists():
        unfinished = (folder / CHECKPOINT).exists()
        raise DataError(
            f"{folder} holds {'an unfinished run' if unfinished else 'no model'}; "
            + ("finish it with lossnet train --resume" if unfinished else "see lossnet train")
        )
    config = read_json(folder / CONFIG)
    name = config.get("estimator") if isinstance(config, dict) else None
    task = task_of_estimator(name, folder)
    model = task.estimator().load(folder)
    if not (folder / DATA).exists():
        return task, model, task.known(model, None)
    data = read_json(folder / DATA)
    try:
        if data["model"] != _digest(folder / CONFIG):
            raise DataError(
                f"{folder / DATA} does not belong to the model beside it; finish the run with "
                "lossnet train --resume, or train again"
            )
        known = task.known(model, data)
    except (KeyError, TypeError) as error:
        raise DataError(f"{folder / DATA} is damaged ({error}); train again") from error
    return task, model, known


def finish(folder: Path) -> None:
    """Remove the checkpoint, and what a killed run may have left half-written."""
    (folder / CHECKPOINT).unlink(missing_ok=True)
    for name in ("checkpoint", "config", "data", "history", "labels", "metrics", "weights"):
        for left in folder.glob(f".{name}*.*"):
            left.unlink(missing_ok=True)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
