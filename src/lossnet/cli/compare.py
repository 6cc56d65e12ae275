"""Train several methods over several seeds on the same data and tabulate them.

Every run goes into a store in the report's folder; a comparison that was stopped, or that is
given more seeds or methods, trains only what the store lacks.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lossnet.cli.parser import add_data, add_settings
from lossnet.cli.task_options import add_task_options, task_of_data
from lossnet.errors import SettingError
from lossnet.tasks.options import names

if TYPE_CHECKING:
    from lossnet.cli.settings import Settings
    from lossnet.reports import Run
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.task import Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_data(parser)
    parser.add_argument(
        "--methods",
        metavar="A,B",
        required=True,
        help="methods between commas: see lossnet methods",
    )
    parser.add_argument(
        "--seeds", default="3", metavar="N", help="how many seeds, or seeds between commas: 0,4,"
    )
    parser.add_argument("--out", metavar="FOLDER", required=True, help="where the report goes")
    add_settings(parser, "METHOD")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    add_task_options(parser, "compare", choose=True)


def run(args: argparse.Namespace) -> int:
    """Train what the store lacks, print the table and write the report."""
    from lossnet.cli.folder import writable
    from lossnet.cli.reading import training_parts
    from lossnet.files import write_text

    task = task_of_data(args)
    plan = _plan(args, task)
    with writable(args.out) as out:
        splits = training_parts(task, args)
        if splits.validation is None and splits.test is None:
            raise SettingError(f"{args.data} has no validation and no test part to compare on")
        runs = []
        for number, settings in enumerate(plan, 1):
            if not args.quiet:
                print(f"[{number}/{len(plan)}] {settings.method}, seed {settings.seed}", flush=True)
            runs.append(_stored_or_trained(settings, splits, out, args))
        text = _report(task, runs, splits, args)
        write_text(out / "report.md", text)
    shown = _table(runs, task.compared(splits), "text")
    print(f"\n{shown}\n\nreport: {out / 'report.md'}; runs: {out / 'results'}")
    return 0


def _plan(args: argparse.Namespace, task: Task) -> list[Settings]:
    """Settings of every run, seed by seed, all checked."""
    from dataclasses import replace

    from lossnet.cli.settings import resolve
    from lossnet.recipes import METHODS

    methods = list(dict.fromkeys(names(args.methods)))
    if not methods:
        raise SettingError("--methods names no method")
    for pair in args.settings:
        owner = pair.partition("=")[0].partition(".")[0].strip()
        if "." in pair.partition("=")[0] and owner in METHODS and owner not in methods:
            raise SettingError(f"--set {pair}: {owner} is not among --methods")
    base = [
        resolve(
            task,
            config=args.config,
            pairs=_pairs_of(args.settings, name),
            method=name,
            parameters=task.parameters(args),
        )
        for name in methods
    ]
    return [replace(settings, seed=seed) for seed in _seeds(args.seeds) for settings in base]


def _pairs_of(pairs: list[str], method: str) -> list[str]:
    """The settings that concern a method: ``seal-nce.samples=40`` is its ``method.samples``."""
    from lossnet.recipes import METHODS

    own = []
    for pair in pairs:
        key, equals, value = pair.partition("=")
        owner, dot, name = key.partition(".")
        if dot and owner in METHODS:
            if owner == method:
                own.append(f"method.{name}{equals}{value}")
        else:
            own.append(pair)
    return own


def _seeds(text: str) -> list[int]:
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    if not pieces or not all(piece.isdecimal() for piece in pieces):
        raise SettingError(f"--seeds {text}: give how many, or the seeds between commas (0,4,7)")
    numbers = [int(piece) for piece in pieces]
    if "," in text:
        return list(dict.fromkeys(numbers))
    if numbers[0] < 1:
        raise SettingError(f"--seeds {text}: give 1 or more")
    return list(range(numbers[0]))


def _stored_or_trained(
    settings: Settings, splits: Parts, out: Path, args: argparse.Namespace
) -> Run:
    """The run, from the store where it is there."""
    from lossnet.cli.measure import configuration, data_checksum, measure_parts, record_run
    from lossnet.reports import find, has

    store = out / "results"
    model = settings.estimator(verbose=0 if args.quiet else 1)
    part = "validation" if splits.test is None else "test"
    described = configuration(model, part)
    checksum = data_checksum(splits)
    if not has(
        store,
        data=splits.name,
        method=settings.method,
        seed=settings.seed,
        configuration=described,
        data_checksum=checksum,
    ):
        settings.task.check_parts(model, splits)
        model.fit(splits.train, validation_data=splits.validation)
        report = measure_parts(settings.task, model, splits)
        command = shlex.join(["lossnet", *args.command_line])
        record_run(store, model, splits, settings, report, command=command, tags=("compare",))
    found = find(
        store, data=splits.name, method=settings.method, seed=settings.seed, damaged="warn"
    )
    return next(run for run in found if run.configuration == described)


def _table(runs: list[Run], metrics: Sequence[str], format: str) -> str:
    from lossnet.reports import table

    return table(runs, columns=None, metrics=metrics, format=format)  # type: ignore[arg-type]


def _report(task: Task, runs: list[Run], splits: Parts, args: argparse.Namespace) -> str:
    from lossnet.recipes import listing, parameters

    part = runs[0].configuration["measured_on"]
    how = ["mean ± sample deviation over n seeds, in percent", task.measured_how]
    lines = [
        f"# {splits.name}",
        "",
        f"{task.sizes(splits, args)}.",
        f"Measured on the {part} part: {', '.join(filter(None, how))}; seconds of training.",
        "",
        _table(runs, task.compared(splits), "markdown"),
        "",
        "Settings:",
        "",
    ]
    for method in dict.fromkeys(run.method for run in runs):
        settings = next(run.configuration for run in runs if run.method == method)
        found = parameters(method, settings["method_params"])
        texts = [f"{key}={value}" for key, value, _ in listing(method, found)]
        lines.append(f"- {method}: {', '.join(texts)}")
    shared = {
        k: v for k, v in runs[0].configuration.items() if k not in ("method", "method_params")
    }
    lines.append("- all: " + ", ".join(f"{k}={v}" for k, v in shared.items()))
    lines += ["", f"Made by `{shlex.join(['lossnet', *args.command_line])}`.", ""]
    return "\n".join(lines)
