"""Folders of the commands: checked before a run, never left behind empty."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.errors import DataError, SettingError
from lossnet.files import check_form, write_text
from lossnet.tasks.model_folder import (
    CHECKPOINT,
    DATA,
    entry_of,
    holds_model,
    read_config,
    read_data,
    write_data,
)

if TYPE_CHECKING:
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.task import Known, Task


@contextlib.contextmanager
def writable(path: str | Path) -> Iterator[Path]:
    """A folder that can be written to; where it is still empty in the end, it is removed.

    Only folders made here are removed.
    """
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{folder} is a file; expected a folder to write to")
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
    """Raise where the folder holds a model or an unfinished run and no option says what to do."""
    if overwrite or resume:
        return
    if (folder / CHECKPOINT).exists():
        raise SettingError(
            f"{folder} holds an unfinished run: add --resume to continue it, or --overwrite to "
            "start again"
        )
    if holds_model(folder):
        raise SettingError(
            f"{folder} already holds a model: choose another folder, or add --overwrite"
        )


def check_finished(folder: Path, model: Any, parts: Parts[Any]) -> None:
    """Raise where a finished run was made with other settings or data."""
    from lossnet.checks import describe

    stored = entry_of(read_config(folder), "parameters", dict, folder)
    wanted = model.resolved_params()
    changed = sorted(k for k in wanted if k != "verbose" and stored.get(k) != describe(wanted[k]))
    if changed:
        raise SettingError(
            f"{folder} holds a finished run with other settings ({', '.join(changed)} differ); "
            "choose another folder, or add --overwrite in place of --resume"
        )
    data = read_data(folder)
    if data is not None and data.get("train_checksum") != parts.train.checksum():
        raise SettingError(
            f"{folder} holds a finished run on other data ({data.get('source')}); choose "
            "another folder, or add --overwrite in place of --resume"
        )


def save_data(folder: Path, task: Task, parts: Parts[Any], args: argparse.Namespace) -> None:
    """Write what the model saved there must know of its data: names, and its training part."""
    write_data(
        folder,
        {
            "source": args.data,
            "name": parts.name,
            task.unit: {part: len(data) for part, data in parts.items()},
            "train_checksum": parts.train.checksum(),
            **task.facts(parts.train, args),
        },
    )


def load_model(path: str | Path) -> tuple[Task, Any, Known]:
    """A trained model's task, the model, and what it knows of its data."""
    from lossnet.tasks.registry import task_of_estimator

    folder = Path(path)
    task = task_of_estimator(read_config(folder).get("estimator"), folder)
    model = task.estimator.load(folder)
    facts = read_data(folder)
    if facts is not None:
        check_form(
            facts, {"source": str, "train_checksum": str, **task.facts_form}, str(folder / DATA)
        )
    return task, model, task.known(model) if facts is None else facts
