"""Tasks by name: those of this package, and those that other packages bring as entry points.

A package adds a task with an entry point of the group ``lossnet.tasks``, which names the instance
of its :class:`~lossnet.tasks.task.Task`::

    [project.entry-points."lossnet.tasks"]
    ratings = "my_package.ratings:TASK"
"""

from __future__ import annotations

import importlib
import warnings
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from lossnet.errors import DataError, SettingError, unknown
from lossnet.tasks.task import Task

#: A source is of the first task that recognises it.
BUILT_IN = ("sequence", "roles", "image", "text", "multilabel")
GROUP = "lossnet.tasks"


def names() -> list[str]:
    """The name of every task."""
    return [*_plugins(), *BUILT_IN]


def task_named(name: str) -> Task:
    """The task of that name."""
    if name in BUILT_IN:
        task: Task = importlib.import_module(f"lossnet.tasks.{name}.task").TASK
        return task
    if name not in (plugins := _plugins()):
        raise unknown("task", name, names())
    try:
        found = plugins[name].load()
    except Exception as error:
        where = plugins[name].value
        raise SettingError(f"the task {name!r} ({where}) cannot be loaded: {error}") from error
    if not isinstance(found, Task) or found.name != name:
        raise SettingError(f"{plugins[name].value} must be a lossnet Task named {name!r}")
    return found


def tasks() -> list[Task]:
    """Every task; one of another package that cannot be loaded is left out with a warning."""
    found = []
    for name in names():
        try:
            found.append(task_named(name))
        except SettingError as error:
            warnings.warn(f"{error}; it is left out", stacklevel=2)
    return found


def task_of_estimator(name: Any, folder: object) -> Task:
    """The task whose estimator has that name."""
    found = {task.estimator_path.partition(":")[2]: task for task in tasks()}
    if not isinstance(name, str) or name not in found:
        known = ", ".join(found)
        raise DataError(f"{folder} holds the estimator {name}, which is not one of {known}")
    return found[name]


def _plugins() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in BUILT_IN}
