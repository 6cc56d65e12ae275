"""The estimator of a table's cell: by the preset or by default, with which schedule."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from lossnet.papers.data_sets import DATA_SETS
from lossnet.papers.table import Column, Row

#: The library's schedule takes at most this many updates of all nets per batch.
MOST_UPDATES = 5
#: Parameters that change no result, or that others stand for.
_FREE = ("device", "random_state", "verbose", "preset")
#: Parameters that name a file: what counts is which, not where it lies.
_FILES = ("vectors", "encoder")


class Kind(NamedTuple):
    """How a cell is run: ``"preset"`` or ``"default"``, and the schedule of the preset."""

    which: str
    schedule: str = "library"

    @property
    def words(self) -> str:
        """The heading of its column."""
        if self.which == "default":
            return "ours, default"
        return "ours, preset" + (", paper's schedule" if self.schedule == "paper" else "")


KINDS = (Kind("preset"), Kind("preset", "paper"), Kind("default"))


def estimator_of(row: Row, column: Column, kind: Kind, root: Path, seed: int = 0) -> Any | None:
    """The estimator of a cell, unfitted, the preset written out; None where there is no preset."""
    data = DATA_SETS[column.data]
    given = {**data.own_settings(root), **column.settings, **row.settings}
    given |= {"method_params": dict(row.params) or None, "random_state": seed}
    make: Any = data.find_task().estimator
    if kind.which == "default":
        return make(row.method, **given)
    rows, name = make.papers.rows.get(row.method, {}), column.preset.partition(":")[2]
    if not rows or (name and name not in rows):
        return None
    filled = make(row.method, preset=column.preset, **given).resolved_params() | {"preset": None}
    return make(**(filled if kind.schedule == "paper" else _affordable(make, filled)))


def _affordable(make: Any, filled: dict[str, Any]) -> dict[str, Any]:
    """The preset's nets, rates and weights with the library's epochs and few updates per batch.

    Early stopping averages as many crops as the library does; measured are all of the paper's.
    """
    usual: dict[str, Any] = {one.name: one.default for one in fields(make)}
    schedule: list[str] = ["max_epochs", "patience", "average"]
    own = {name: usual[name] for name in schedule if name in usual}
    return {**filled, **own, "method_params": few_updates(filled["method_params"] or {})}


def few_updates(params: Mapping[str, Any]) -> dict[str, Any]:
    """The method's parameters with one round and at most :data:`MOST_UPDATES` updates per batch.

    >>> few_updates({"energy_steps": 12, "task_steps": 1, "rounds": 5})
    {'energy_steps': 4, 'task_steps': 1, 'rounds': 1}
    """
    names = [name for name in ("energy_steps", "task_steps") if name in params]
    steps = {name: int(params[name]) for name in names}
    steps = {name: count // math.gcd(*steps.values()) for name, count in steps.items()}
    rest = MOST_UPDATES - (min(steps.values()) if len(steps) == 2 else 0)
    found = {**params, **{name: min(count, max(rest, 1)) for name, count in steps.items()}}
    if "net_steps" in params:  # next to one step of the energy
        found["net_steps"] = min(int(params["net_steps"]), MOST_UPDATES - 1)
    return found | ({"rounds": 1} if "rounds" in params else {})


def configuration(model: Any) -> dict[str, Any]:
    """Every setting of an estimator that could change a result, as JSON holds it."""
    own = {k: v for k, v in model.resolved_params().items() if k not in _FREE}
    own |= {name: Path(str(own[name])).name for name in _FILES if own.get(name)}
    found: dict[str, Any] = json.loads(json.dumps(own, default=str))
    return found


def usual_configuration(model: Any) -> dict[str, Any]:
    """The same of the estimator with its own defaults; parameters added since as they acted before.

    An estimator's ``added`` holds those whose default does something else than was done before.
    """
    kind = type(model)
    return configuration(kind(model.method)) | dict(getattr(kind, "added", {}))


def same(stored: Mapping[str, Any], wanted: Mapping[str, Any], usual: Mapping[str, Any]) -> bool:
    """Whether a stored run has the settings that are wanted.

    A setting that the stored run does not know was added since: it counts as equal at its value in
    ``usual``, which does what was done before.
    """
    if stored.keys() - wanted.keys():
        return False
    for name, value in wanted.items():
        default = usual.get(name)
        if name not in stored:
            if name not in usual or value != default:
                return False
        elif isinstance(value, dict) and isinstance(stored[name], dict):
            if not same(stored[name], value, default if isinstance(default, dict) else {}):
                return False
        elif stored[name] != value:
            return False
    return True
