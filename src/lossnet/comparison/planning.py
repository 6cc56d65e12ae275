"""What a comparison is asked for, checked before anything is trained."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lossnet.checks import check_int
from lossnet.cli.settings import Settings
from lossnet.errors import SettingError, unknown
from lossnet.recipes import METHODS, methods_for
from lossnet.tasks.options import duration, names
from lossnet.tasks.task import Task

#: The method that differences are taken to where it is compared, and that ensembles consist of.
PLAIN = "cross-entropy"
#: Parameters that a baseline does not share with the methods.
_OWN = ("preset", "refine", "decode")


def default_methods(task: Task) -> list[str]:
    """The methods of a comparison that names none."""
    return list(task.compared_methods or dict.fromkeys([PLAIN, task.default_method]))


def seeds_of(given: str | int | Iterable[int]) -> list[int]:
    """The seeds of a number of them, of a list, or of either as text.

    >>> seeds_of("3"), seeds_of("4,7"), seeds_of([5])
    ([0, 1, 2], [4, 7], [5])
    """
    found: Any = given
    if isinstance(given, str):
        numbers = names(given)
        if not numbers or not all(number.isdecimal() for number in numbers):
            rule = "expected a number, or comma-separated seeds such as 0,4"
            raise SettingError(f"--seeds {given or repr(given)}: {rule}")
        found = [*map(int, numbers)] if "," in given else int(given)
    if isinstance(found, int) and not isinstance(found, bool):
        if found < 1:
            raise SettingError(f"the number of seeds must be at least 1, got {found}")
        return list(range(found))
    found = list(dict.fromkeys(found))
    if not found:
        raise SettingError("seeds must have at least one seed, got none")
    for seed in found:
        check_int("a seed", seed, least=0)
    return [int(seed) for seed in found]


def seconds_of(given: str | float | None) -> float | None:
    """A time budget in seconds; None stays None.

    >>> seconds_of("10m"), seconds_of("1h30m"), seconds_of(90)
    (600.0, 5400.0, 90.0)
    """
    if given is None:
        return None
    try:
        found = duration(given) if isinstance(given, str) else float(given)
    except (argparse.ArgumentTypeError, TypeError, ValueError):
        found = 0.0
    if not 0 < found < float("inf"):
        rule = "expected a time above 0 such as 90s, 10m or 2h"
        raise SettingError(f"budget {given!r}: {rule}")
    return found


def baselines_of(task: Task, given: str | Sequence[str], methods: Iterable[str]) -> list[str]:
    """The outside baselines that ``"all"``, ``"none"`` or names stand for.

    A method that is compared is no outside baseline too.
    """
    can_train = {*METHODS} & {*methods_for(task.estimator.provides)}
    known = [name for name in task.baselines if name not in METHODS or name in can_train]
    wanted = names(given) if isinstance(given, str) else list(given)
    if wanted == ["all"]:
        return [name for name in known if name not in set(methods)]
    if wanted == ["none"]:
        return []
    for name in wanted:
        if name not in known:
            raise unknown(f"baseline for {task.name} data", name, [*known, "all", "none"])
    return [name for name in dict.fromkeys(wanted) if name not in set(methods)]


def reference_of(given: str | None, methods: Sequence[str]) -> str:
    """The method that differences are taken to."""
    if given is None:
        return PLAIN if PLAIN in methods else methods[0]
    if given not in methods:
        raise unknown("method to compare against", given, methods)
    return given


def template_of(task: Task, parameters: Mapping[str, Any]) -> Any:
    """An unfitted estimator of plain cross-entropy with these parameters, for baselines."""
    own = {key: value for key, value in parameters.items() if key not in _OWN}
    return Settings(task, PLAIN, {}, own).estimator()
