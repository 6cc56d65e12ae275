"""Tasks: what the commands must know of each kind of data. One module each, listed here.

A task is the ``TASK`` of its module, see :class:`~lossnet.tasks.task.Task`. The commands hold
nothing that is true of one task alone.
"""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

from lossnet.errors import DataError, SettingError
from lossnet.tasks.task import Task

#: A source is of the first task that recognises it.
NAMES = ("sequence", "image", "multilabel")


def task_named(name: str) -> Task:
    """The task of that name."""
    task: Task = importlib.import_module(f"lossnet.tasks.{name}.task").TASK
    return task


def tasks() -> list[Task]:
    """Every task."""
    return [task_named(name) for name in NAMES]


def add_task_options(
    parser: argparse.ArgumentParser, command: str, *, choose: bool = False
) -> None:
    """The options of a command that belong to one task, and with ``choose`` also ``--task``."""
    if choose:
        parser.add_argument(
            "--task", choices=sorted(NAMES), help="what DATA is, where its name does not tell"
        )
    owners: dict[str, tuple[str, str]] = {}
    for task in tasks():
        group = parser.add_argument_group(f"{task.name} data")
        task.add_options(group, command)
        for action in group._group_actions:
            owners[action.dest] = (action.option_strings[0], task.name)
    parser.set_defaults(task_options=owners)


def task_of_data(args: argparse.Namespace) -> Task:
    """The task that ``--task`` says or that DATA shows; options of another are an error."""
    if args.task is not None:
        task = task_named(args.task)
    else:
        found = [task for task in tasks() if task.recognises(args.data)]
        if not found:
            raise SettingError(
                f"cannot tell the task of {args.data} from "
                f"{'the names of its files' if Path(args.data).is_dir() else 'its name'}; "
                f"add --task {' or --task '.join(sorted(NAMES))}"
            )
        task = found[0]
    check_options(args, task, args.data)
    return task


def task_of_estimator(name: Any, folder: str | Path) -> Task:
    """The task whose estimator has that name."""
    for task in tasks():
        if task.estimator_name == name:
            return task
    known = ", ".join(task.estimator_name for task in tasks())
    raise DataError(f"{folder} holds the estimator {name}; the program knows {known}")


def check_options(args: argparse.Namespace, task: Task, what: str) -> None:
    """Refuse options that belong to another task than that of ``what``."""
    for dest, (option, owner) in args.task_options.items():
        value = getattr(args, dest)
        if owner != task.name and value is not None and value is not False:
            raise SettingError(
                f"{option} is an option for the task {owner}, and {what} is of the task "
                f"{task.name}: leave it out"
            )
