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
    print(_table() if args.name is None else _one(args.name))
    return 0


def _table() -> str:
    from lossnet.plain_text import aligned
    from lossnet.recipes import METHODS, build, summary

    lines = [["method", "nets", "updates per batch", "predicts with", "what it is"]]
    for name, method in ((name, build(name)) for name in METHODS):
        nets, steps = ", ".join(sorted(method.nets)), method.steps_per_batch.items()
        per_batch = ", ".join(f"{net} {number}" for net, number in steps)
        lines.append([name, nets, per_batch, _predicts(method), summary(name)])
    return aligned(lines)


def _one(name: str) -> str:
    import inspect

    from lossnet.plain_text import aligned
    from lossnet.recipes import METHODS, build, defaults, listing

    rows = list(listing(name, defaults(name)))
    method = build(name)
    shown = [[f"  {key}", str(value), " | ".join(few)] for key, value, few in rows]
    nets, phases = ", ".join(sorted(method.nets)), "; ".join(_phases(method))
    about = f"nets: {nets}\nphases: {phases}\npredicts with: {_predicts(method)}"
    head = "parameters and their defaults (--set method.NAME=VALUE):"
    by_task = _by_task(name, {key: value for key, value, _ in rows})
    doc = inspect.getdoc(METHODS[name]) or ""
    return f"{name}\n\n{doc}\n\n{about}\n\n" + "\n".join([head, aligned(shown), *by_task])


def _by_task(name: str, recipe: dict[str, Any]) -> list[str]:
    """A line for each task that overrides some of a method's defaults."""
    from lossnet.recipes import build, listing, parameters
    from lossnet.tasks.registry import tasks

    lines = []
    for task in tasks():
        kind: Any = task.estimator
        if not build(name).needs <= kind.provides:
            continue
        own = listing(name, parameters(name, kind(name)._task_defaults()))
        changed = [f"{key} {value}" for key, value, _ in own if value != recipe.get(key)]
        if changed:
            lines.append(f"for {task.name} data: {', '.join(changed)}")
    return ["", *lines] if lines else []


def _phases(method: Method) -> list[str]:
    return [
        f"{phase.name} (" + ", ".join(f"{u.name} {u.steps}" for u in phase.updates) + " per batch)"
        for phase in method.phases
    ]


def _predicts(method: Method) -> str:
    if method.task_net_predicts:
        return "task-net, one pass"
    steps = getattr(method.predict, "steps", None)
    return "energy, exactly" if steps is None else f"energy, {steps} steps"
