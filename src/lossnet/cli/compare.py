"""Train several methods and outside baselines over several seeds on the same data.

All have the same parts, networks and budget. Every run goes into a store in the folder of --out: a
comparison that was stopped, or that is given more seeds or methods, trains only what the store
lacks. The folder gets a report, and the results as tables and as arrays. A run that fails is
listed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import add_data, add_settings, add_task_options, task_of_data
from lossnet.cli.terminal import note
from lossnet.errors import SettingError
from lossnet.tasks.options import at_least_one, names

if TYPE_CHECKING:
    pass


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_data(parser)
    what = "comma-separated methods: see lossnet methods (default: a few that suit the data)"
    parser.add_argument("--methods", metavar="A,B", type=names, help=what)
    what = "number of seeds, or comma-separated seeds such as 0,4 (default: 3)"
    parser.add_argument("--seeds", default="3", metavar="N", help=what)
    what = "folder for the report (default: comparison-NAME, after the data)"
    parser.add_argument("--out", metavar="FOLDER", help=what)
    what = "outside baselines: all, none, or comma-separated names; labels have "
    what += (
        "logistic-regression, extra-trees, classifier-chain and ensemble, tags crf (default: all)"
    )
    parser.add_argument("--baselines", default="all", metavar="A,B", help=what)
    what = "the method that others are compared with (default: cross-entropy, or the first)"
    parser.add_argument("--against", metavar="METHOD", help=what)
    what = "total time such as 90s, 10m or 2h; a run may train for what remains divided by the "
    what += "runs that remain (default: no limit)"
    parser.add_argument("--budget", metavar="TIME", help=what)
    what = "number of runs at a time, one thread each (default: 1)"
    parser.add_argument("--jobs", type=at_least_one, default=1, metavar="N", help=what)
    what = "first search the settings of each method with N trials on validation data"
    parser.add_argument("--search", type=at_least_one, metavar="N", help=what)
    parser.add_argument("--validation", metavar="DATA", help="data to validate on")
    parser.add_argument("--test", metavar="DATA", help="data to test on")
    add_settings(parser, "METHOD")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    add_task_options(parser, "compare", choose=True)


def run(args: argparse.Namespace) -> int:
    """Train what the store lacks, print the table and write the report."""
    from lossnet.comparison import page, report
    from lossnet.comparison.api import default_folder
    from lossnet.comparison.engine import compare_models

    plan = _plan(args)
    out = args.out or default_folder(plan.parts.name)
    if not args.quiet:
        print(f"{plan.parts.name}: {plan.about}", flush=True)
        for text in plan.notes:
            note(text)
    comparison = compare_models(plan, out)
    name = page.REPORT if Path(out, page.REPORT).exists() else report.REPORT
    print(f"\n{report.summary(comparison)}\nreport: {out}/{name}; runs: {out}/results")
    return 1 if comparison.failures else 0


def _plan(args: argparse.Namespace) -> Any:
    """What to compare, all of it checked before the data is read."""
    from lossnet.cli.reading import training_parts
    from lossnet.cli.settings import resolve
    from lossnet.comparison import planning
    from lossnet.comparison.api import default_folder
    from lossnet.comparison.engine import Plan

    task = task_of_data(args)
    methods = list(
        dict.fromkeys(planning.default_methods(task) if args.methods is None else args.methods)
    )
    if not methods:
        raise SettingError("--methods names no method")
    seeds, budget = planning.seeds_of(args.seeds), planning.seconds_of(args.budget)
    pairs = {name: _pairs_of(args.settings, name, methods) for name in methods}
    settings = [resolve(task, args, method=name, pairs=pairs[name]) for name in methods]
    baselines = planning.baselines_of(task, args.baselines, methods)
    first = settings[0]
    template = planning.template_of(task, first.parameters) if baselines else first.estimator()
    reference = planning.reference_of(args.against, methods)
    parts = training_parts(task, args)
    plan = Plan(
        task=task,
        parts=parts,
        models={one.method: one.estimator() for one in settings},
        template=template,
        baselines=baselines,
        seeds=seeds,
        reference=reference,
        about=task.sizes(parts, args),
        notes=task.notes(parts, args),
        command=args.command,
        budget=budget,
        jobs=args.jobs,
        quiet=args.quiet,
    )
    if args.search is None:
        return plan
    from lossnet.comparison.searched import with_searched_models

    fixed = {one.method: one.given for one in settings}
    out = args.out or default_folder(parts.name)
    return with_searched_models(plan, args.search, out, fixed=fixed)


def _pairs_of(pairs: list[str], method: str, methods: list[str]) -> list[str]:
    """The settings that concern a method: ``seal-nce.samples=40`` is its ``method.samples``."""
    from lossnet.recipes import METHODS

    own = []
    for pair in pairs:
        owner, dot, rest = pair.partition(".")
        if not dot or "=" in owner or owner.strip() not in {*METHODS, *methods}:
            own.append(pair)
        elif owner.strip() not in methods:
            raise SettingError(f"--set {pair}: {owner.strip()} is not among --methods")
        elif owner.strip() == method:
            own.append(f"method.{rest}")
    return own
