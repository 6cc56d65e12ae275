"""List the methods, or show one with its equations and parameters."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lossnet.method import Method


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="a method to show in full")


def run(args: argparse.Namespace) -> int:
    """Print the table, or one method."""
    if args.name == "auto":
        print("\n".join(_automatic()))
        return 0
    print(_table() if args.name is None else _one(args.name))
    return 0


def _automatic() -> list[str]:
    """What ``--method auto`` is, for each task that has it."""
    from lossnet.parameters import joined
    from lossnet.tasks.presets import AUTO
    from lossnet.tasks.registry import tasks

    lines = []
    for task in tasks():
        kind: Any = task.estimator
        if kind().get_params()["method"] == AUTO:
            row = kind()._automatic(vars(kind()))
            own = {key: value for key, value in row.parameters.items() if key != "method"}
            own |= dict(joined("method", row.method_params))
            named = ", ".join(f"{key.replace('__', '.')}={value}" for key, value in own.items())
            lines.append(f"auto, for {task.name} data: {row.parameters['method']} with {named}")
    return lines


def _table() -> str:
    from lossnet.plain_text import aligned
    from lossnet.recipes import METHODS, build, summary

    lines = [["method", "nets", "updates per batch", "predicts with", "what it is"]]
    for name, method in ((name, build(name)) for name in METHODS):
        nets, steps = ", ".join(sorted(method.nets)), method.steps_per_batch.items()
        per_batch = ", ".join(f"{net} {number}" for net, number in steps)
        lines.append([name, nets, per_batch, _predicts(method), summary(name)])
    return "\n".join([aligned(lines), "", *_automatic()])


def _one(name: str) -> str:
    import inspect

    from lossnet.plain_text import aligned
    from lossnet.recipes import METHODS, build, defaults, listing

    rows = list(listing(name, defaults(name)))
    method = build(name)
    shown = [[f"  {key}", str(value), " | ".join(map(str, few))] for key, value, few in rows]
    nets, phases = ", ".join(sorted(method.nets)), "; ".join(_phases(method))
    about = f"nets: {nets}\nphases: {phases}\npredicts with: {_predicts(method)}"
    head = "parameters and their defaults (--set method.NAME=VALUE):"
    by_task = _by_task(name, {key: value for key, value, _ in rows})
    doc = inspect.getdoc(METHODS[name]) or ""
    lines = [head, aligned(shown), *by_task, *_searched(name), *_papers(name)]
    return f"{name}\n\n{doc}\n\n{about}\n\n" + "\n".join(lines)


def _searched(name: str) -> list[str]:
    """A table of what a search tries of the method's parameters."""
    from lossnet.plain_text import aligned
    from lossnet.ranges import declared
    from lossnet.recipes import METHODS

    cells = [[f"  {key}", str(each)] for key, each in declared(METHODS[name]).items()]
    head = "what lossnet search tries (--space method.NAME=LOW..HIGH):"
    return ["", head, aligned(cells)] if cells else []


def _papers(name: str) -> list[str]:
    """For each task a table of what the paper's preset changes, and why the default differs."""
    from lossnet.plain_text import aligned

    lines = []
    for task, kind in _estimators(name):
        if name not in kind.papers.rows:
            continue
        usual, paper = (_flat(name, kind(name, preset=preset)) for preset in (None, "paper"))
        changed = [key for key in paper if paper[key] != usual.get(key)]
        cells = [
            [f"  {key}", str(usual.get(key)), str(paper[key]), kind.papers.reason(key)]
            for key in changed
        ]
        first, *others = kind.papers.rows[name]
        more = f"; others: {', '.join(others)} (--preset paper:{others[0]})" if others else ""
        lines += ["", f"--preset paper for {task} data, row {first}{more}:"]
        lines.append(aligned([["  parameter", "default", "paper", "why they differ"], *cells]))
    return lines


def _flat(name: str, model: Any) -> dict[str, Any]:
    """Every parameter of an estimator and of its method by dotted name, as ``fit`` takes them."""
    from lossnet.recipes import listing, parameters

    own = model.resolved_params()
    values = parameters(name, own.pop("method_params"))
    method = {f"method.{key}": value for key, value, _ in listing(name, values)}
    return {key: own[key] for key in own if key != "preset"} | method


def _estimators(name: str) -> list[tuple[str, Any]]:
    """The tasks that the method serves, and their estimators."""
    from lossnet.recipes import build
    from lossnet.tasks.registry import tasks

    kinds: list[tuple[str, Any]] = [(task.name, task.estimator) for task in tasks()]
    return [(task, kind) for task, kind in kinds if build(name).needs <= kind.provides]


def _by_task(name: str, recipe: dict[str, Any]) -> list[str]:
    """A line for each task that overrides some of a method's defaults."""
    from lossnet.recipes import listing, parameters

    lines = []
    for task, kind in _estimators(name):
        own = listing(name, parameters(name, kind(name)._task_defaults()))
        changed = [f"{key} {value}" for key, value, _ in own if value != recipe.get(key)]
        if changed:
            lines.append(f"for {task} data: {', '.join(changed)}")
    return ["", *lines] if lines else []


def _phases(method: Method) -> list[str]:
    found = []
    for phase in method.phases:
        steps = ", ".join(f"{update.name} {update.steps}" for update in phase.updates)
        times = f"{phase.repeats} times " if phase.repeats > 1 else ""
        found.append(f"{phase.name} ({steps}, {times}per batch)".replace(", per", " per"))
    return found


def _predicts(method: Method) -> str:
    if method.task_net_predicts:
        return "task-net, one pass"
    steps = getattr(method.predict, "steps", None)
    return "energy, exactly" if steps is None else f"energy, {steps} steps"
