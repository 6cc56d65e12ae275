"""``lossnet.compare``: a comparison from Python."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lossnet.checks import check_int
from lossnet.comparison.result import Comparison
from lossnet.errors import DataError, SettingError, unknown
from lossnet.tasks.parts import Parts, divide
from lossnet.tasks.registry import task_named, tasks
from lossnet.tasks.task import Task


def compare(
    data: Any,
    y: Any = None,
    *,
    methods: Sequence[str] | Mapping[str, Any] | None = None,
    seeds: int | Sequence[int] = 3,
    out: str | Path | None = None,
    baselines: str | Sequence[str] = "all",
    against: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    budget: str | float | None = None,
    search: int | None = None,
    jobs: int = 1,
    validation: Any = None,
    test: Any = None,
    task: str | None = None,
    quiet: bool = True,
) -> Comparison:
    """Train several methods and outside baselines over several seeds and measure them.

    All have the same parts of the data, the same networks and the same budget. What the folder's
    store holds is not trained again, so that a comparison which was stopped continues, and one
    with more seeds or methods trains only these. A run that fails is listed in
    ``Comparison.failures``.

    Args:
        data: what ``lossnet train`` takes (a file, a folder, a built-in name); a data set, or the
            :class:`~lossnet.tasks.parts.Parts` of one; or inputs as ``fit`` takes them. Undivided
            data is divided 60/20/20, unless validation or test data is given.
        y: the truth of inputs.
        methods: names, or unfitted estimators by a name of your choice; None takes a few.
        seeds: their number, or the seeds.
        out: folder for the results (default: ``comparison-`` and the data's name).
        baselines: ``"all"``, ``"none"``, or names.
        against: the method that differences are taken to (default: cross-entropy, if compared).
        parameters: of the task's estimator, for all methods that are named.
        budget: total time, in seconds or such as ``"10m"``; each run may train for what remains
            divided by the runs that remain.
        search: first search the settings of each method with so many trials on validation data;
            needs the extra ``lossnet[search]``. Its time is not part of the budget.
        jobs: number of processes; with more than 1, call it under ``if __name__ == "__main__":``.
        validation, test: further data, in the form of ``data`` or as pairs of inputs and truth.
        task: the task's name, where the data does not imply it.
        quiet: show no progress.
    """
    from lossnet.comparison.engine import Plan, compare_models
    from lossnet.comparison.planning import (
        baselines_of,
        default_methods,
        reference_of,
        seconds_of,
        seeds_of,
        template_of,
    )

    numbers, total, own = seeds_of(seeds), seconds_of(budget), dict(parameters or {})
    check_int("jobs", jobs)
    if search is not None:
        check_int("search", search)
    chosen = _task_of(data, task)
    models = _models(chosen, default_methods(chosen) if methods is None else methods, own)
    plain = baselines_of(chosen, baselines, models)
    template = template_of(chosen, own) if plain else next(iter(models.values()))
    reference = reference_of(against, list(models))
    args = _arguments(data if isinstance(data, str | Path) else "", validation, test)
    parts = _parts(chosen, data, y, args, validation=validation, test=test)
    shown = ", ".join(f"{name}={value!r}" for name, value in _shown(locals()).items())
    plan = Plan(
        task=chosen,
        parts=parts,
        models=models,
        template=template,
        baselines=plain,
        seeds=numbers,
        reference=reference,
        about=chosen.sizes(parts, args),
        notes=chosen.notes(parts, args),
        command=f"lossnet.compare({shown})",
        budget=total,
        jobs=int(jobs),
        quiet=quiet,
    )
    folder = out or default_folder(parts.name)
    if search is not None:
        from lossnet.comparison.searched import with_searched_models

        plan = with_searched_models(plan, search, folder)
    return compare_models(plan, folder)


def default_folder(name: str) -> str:
    """Where the comparison of a data set goes."""
    from lossnet.reports.store import slug

    return f"comparison-{slug(name)}"


def _shown(given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call that can be written down."""
    left_out = ("y", "out", "validation", "test", "task", "quiet")
    wanted = [name for name in inspect.signature(compare).parameters if name not in left_out]
    found = {name: given[name] for name in wanted if given[name] is not None}
    plain = str | int | float | list | tuple | dict | Path
    return {name: v if isinstance(v, plain) else ... for name, v in found.items()}


def _task_of(data: Any, name: str | None) -> Task:
    """The task that a name says or data implies."""
    if name is not None:
        return task_named(name)
    first = data.train if isinstance(data, Parts) else data
    for task in tasks():
        if isinstance(data, str | Path):
            fits = task.recognises(str(data))
        elif hasattr(first, "labelled"):
            package = type(task).__module__.rpartition(".")[0]
            fits = type(first).__module__.startswith(f"{package}.")
        else:
            fits = task.takes(first)
        if fits:
            return task
    known = " or ".join(repr(task.name) for task in tasks())
    raise SettingError(f"cannot determine the task of a {type(data).__name__}; pass task={known}")


def _models(task: Task, methods: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """Unfitted estimators by name, all checked."""
    from lossnet.cli.settings import check_method_name
    from lossnet.tasks.estimator import StructuredEstimator

    if isinstance(methods, str):
        methods = [methods]
    known = inspect.signature(task.estimator).parameters
    for name in parameters:
        if name not in known or name == "method":
            raise unknown(f"parameter of {task.estimator.__name__}", name, known)
    if not isinstance(methods, Mapping):
        found = {}
        for name in methods:
            check_method_name(task, str(name))
            found[str(name)] = task.estimator(str(name), **parameters)
    else:
        found = {str(name): model for name, model in methods.items()}
    if not found:
        raise SettingError("methods must name at least one method, got none")
    for name, model in found.items():
        if not isinstance(model, StructuredEstimator) or not isinstance(model, task.estimator):
            kind = task.estimator.__name__
            raise SettingError(f"methods[{name!r}] must be a {kind}, got {model!r}")
        model._check_settings()
    if parameters and isinstance(methods, Mapping):
        raise SettingError("parameters are for methods that are named; set them on the models")
    return found


def _arguments(source: str | Path, validation: Any, test: Any) -> argparse.Namespace:
    """What ``lossnet compare`` would parse for this data."""
    from lossnet.cli.compare import add_arguments
    from lossnet.cli.parser import Parser

    parser = Parser(prog="lossnet compare", description=None)
    add_arguments(parser)
    args = parser.parse([str(source)])
    for name, other in (("validation", validation), ("test", test)):
        setattr(args, name, str(other) if isinstance(other, str | Path) else None)
    return args


def _parts(
    task: Task, data: Any, y: Any, args: argparse.Namespace, *, validation: Any, test: Any
) -> Parts[Any]:
    """The parts to train, validate and test on."""
    from lossnet.cli.reading import training_parts

    if isinstance(data, str | Path):
        if y is not None:
            raise DataError(f"{data} holds its truth; leave out y")
        return training_parts(task, args)
    if isinstance(data, Parts):
        return data
    given = {"validation": validation, "test": test}
    read = {name: _data(task, other) for name, other in given.items() if other is not None}
    train = _data(task, (data,) if y is None else (data, y))
    return Parts(train, **read) if read else divide(train)


def _data(task: Task, given: Any) -> Any:
    """Inputs and their truth as the task's data."""
    inputs = given if isinstance(given, tuple) else (given,)
    kind: Any = task.estimator
    return kind()._labelled(inputs, "the data to compare on")
