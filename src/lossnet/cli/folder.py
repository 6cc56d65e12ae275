"""Folders of the commands: checked before a run, never left behind empty."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.errors import DataError, SettingError
from lossnet.files import check_form, write_text
from lossnet.tasks import model_folder
from lossnet.tasks.model_folder import read_config, read_data

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
    if (folder / model_folder.CHECKPOINT).exists():
        remedy = "add --resume to continue it, or --overwrite to start again"
        raise SettingError(f"{folder} holds an unfinished run: {remedy}")
    if model_folder.holds_model(folder):
        remedy = "choose another folder, or add --overwrite"
        raise SettingError(f"{folder} already holds a model: {remedy}")


def check_finished(folder: Path, model: Any, parts: Parts[Any]) -> None:
    """Raise where a finished run was made with other settings or data."""
    from lossnet.checks import describe

    stored = model_folder.entry_of(read_config(folder), "parameters", dict, folder)
    wanted = model.resolved_params()
    changed = sorted(k for k in wanted if k != "verbose" and stored.get(k) != describe(wanted[k]))
    data, other = read_data(folder), ""
    if changed:
        other = f"with other settings (different: {', '.join(changed)})"
    elif data is not None and data.get("train_checksum") != parts.train.checksum():
        other = f"on other data ({data.get('source')})"
    if other:
        remedy = "choose another folder, or add --overwrite in place of --resume"
        raise SettingError(f"{folder} holds a finished run {other}; {remedy}")


def save_data(folder: Path, task: Task, parts: Parts[Any], args: argparse.Namespace) -> None:
    """Write what the model saved there must know of its data: names, and its training part."""
    sizes = {part: len(data) for part, data in parts.items()}
    facts = {"train_checksum": parts.train.checksum(), **task.facts(parts.train, args)}
    about = {"source": args.data, "name": parts.name, task.unit: sizes}
    model_folder.write_data(folder, {**about, **facts})


def load_model(path: str | Path) -> tuple[Task, Any, Known]:
    """A trained model's task, the model, and what it knows of its data."""
    from lossnet.tasks.registry import task_of_estimator

    folder = Path(path)
    task = task_of_estimator(read_config(folder).get("estimator"), folder)
    model = task.estimator.load(folder)
    facts = read_data(folder)
    if facts is None:
        return task, model, task.known(model)
    form = {"source": str, "train_checksum": str, **task.facts_form}
    check_form(facts, form, str(folder / model_folder.DATA))
    return task, model, facts
