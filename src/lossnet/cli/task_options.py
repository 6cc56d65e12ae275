"""The options of tasks, and the task of a command's data."""

from __future__ import annotations

import argparse
from pathlib import Path

from lossnet.errors import SettingError
from lossnet.tasks.registry import names, task_named, tasks
from lossnet.tasks.task import Task


def add_task_options(
    parser: argparse.ArgumentParser, command: str, *, choose: bool = False
) -> None:
    """The options of a command that belong to one task, and with ``choose`` also ``--task``."""
    if choose:
        parser.add_argument(
            "--task", choices=sorted(names()), help="the task, where DATA does not imply it"
        )
    owners: dict[str, tuple[str, str]] = {}
    for task in tasks():
        group = parser.add_argument_group(f"{task.name} data", task.formats)
        task.add_options(group, command)
        for action in group._group_actions:
            owners[action.dest] = (action.option_strings[0], task.name)
    parser.set_defaults(task_options=owners)


def task_of_data(args: argparse.Namespace) -> Task:
    """The task that ``--task`` names or DATA implies; options of another are an error."""
    if args.task is not None:
        task = task_named(args.task)
    else:
        found = [task for task in tasks() if task.recognises(args.data)]
        if not found:
            shown = "the names of its files" if Path(args.data).is_dir() else "its name"
            raise SettingError(
                f"cannot determine the task of {args.data} from {shown}; "
                f"add --task {' or --task '.join(sorted(names()))}"
            )
        task = found[0]
    check_options(args, task, args.data)
    return task


def check_options(args: argparse.Namespace, task: Task, what: str) -> None:
    """Raise on options that belong to another task than that of ``what``."""
    for dest, (option, owner) in args.task_options.items():
        value = getattr(args, dest)
        if owner != task.name and value is not None and value is not False:
            raise SettingError(
                f"{option} is an option for the task {owner}, and the task of {what} is "
                f"{task.name}; leave it out"
            )
