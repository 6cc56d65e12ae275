"""Train several methods over several seeds on the same data and tabulate them.

Every run goes into a store in the report's folder; a comparison that was stopped, or that is
given more seeds or methods, trains only what the store lacks.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from lossnet.cli.parser import add_data, add_settings, add_task_options, task_of_data
from lossnet.errors import SettingError
from lossnet.tasks.options import names

if TYPE_CHECKING:
    from lossnet.cli.settings import Settings
    from lossnet.reports import Run
    from lossnet.tasks.parts import Parts
    from lossnet.tasks.task import Task


#: What a store holds of a :class:`~lossnet.structure.StructureGain` besides its nats.
NATS_PARTS = ("low", "high", "dependence")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_data(parser)
    what = "comma-separated methods: see lossnet methods"
    parser.add_argument("--methods", metavar="A,B", type=names, required=True, help=what)
    what = "number of seeds, or comma-separated seeds such as 0,4 (default: 3)"
    parser.add_argument("--seeds", default="3", metavar="N", help=what)
    parser.add_argument("--out", metavar="FOLDER", required=True, help="folder for the report")
    add_settings(parser, "METHOD")
    parser.add_argument("--quiet", action="store_true", help="print no progress")
    add_task_options(parser, "compare", choose=True)


def run(args: argparse.Namespace) -> int:
    """Train what the store lacks, print the table and write the report."""
    from lossnet.cli.folder import writable
    from lossnet.cli.reading import training_parts
    from lossnet.files import write_text
    from lossnet.reports import table

    task = task_of_data(args)
    plan = _plan(args, task)
    with writable(args.out) as out:
        parts = training_parts(task, args)
        if parts.validation is None and parts.test is None:
            raise SettingError(f"{args.data} has no validation and no test part to compare on")
        runs = []
        for number, settings in enumerate(plan, 1):
            if not args.quiet:
                print(f"[{number}/{len(plan)}] {settings.method}, seed {settings.seed}", flush=True)
            runs.append(_stored_or_trained(settings, parts, out / "results", args))
        write_text(out / "report.md", _report(task, runs, parts, args))
    shown = table(runs, columns=None, metrics=_columns(task, runs, parts), format="text")
    said = "\n".join(["", *_structure(runs)])
    print(f"\n{shown}\n{said}\nreport: {out / 'report.md'}; runs: {out / 'results'}")
    return 0


def _plan(args: argparse.Namespace, task: Task) -> list[Settings]:
    """Settings of every run, seed by seed, all checked."""
    from lossnet.cli.settings import resolve

    methods = list(dict.fromkeys(args.methods))
    if not methods:
        raise SettingError("--methods names no method")
    pairs = {name: _pairs_of(args.settings, name, methods) for name in methods}
    base = [resolve(task, args, method=name, pairs=pairs[name]) for name in methods]
    return [replace(settings, seed=seed) for seed in _seeds(args.seeds) for settings in base]


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


def _seeds(text: str) -> list[int]:
    numbers = names(text)
    if not numbers or not all(number.isdecimal() for number in numbers):
        raise SettingError(
            f"--seeds {text}: expected a number, or comma-separated seeds such as 0,4"
        )
    if "," in text:
        return list(dict.fromkeys(map(int, numbers)))
    if int(text) < 1:
        raise SettingError(f"--seeds must be at least 1, got {text}")
    return list(range(int(text)))


def _stored_or_trained(
    settings: Settings, parts: Parts[Any], store: Path, args: argparse.Namespace
) -> Run:
    """The run, from the store where it is there."""
    from lossnet.cli.measure import identity, measure_parts, record_run
    from lossnet.reports import get
    from lossnet.reports.tables import NATS
    from lossnet.tasks.structure import gain_or_none

    model = settings.estimator(verbose=0 if args.quiet else 1)
    wanted = identity(settings, model, parts)
    if (found := get(store, **wanted)) is not None:
        return found
    settings.task.check_parts(model, parts)
    model.fit(parts.train, validation_data=parts.validation)
    report = measure_parts(settings.task, model, parts)
    part = wanted["configuration"]["measured_on"]
    metrics = settings.task.flat(report[part])
    if (gain := gain_or_none(model, getattr(parts, part))) is not None:
        known = NATS_PARTS if gain.dependence is not None else NATS_PARTS[:-1]
        metrics |= {NATS: gain.nats, **{f"{NATS}, {name}": getattr(gain, name) for name in known}}
    tags = ["compare", *parts.marks]
    return record_run(store, wanted, model, metrics, command=args.command, tags=tags)


def _columns(task: Task, runs: list[Run], parts: Parts[Any]) -> list[str]:
    from lossnet.reports.tables import NATS

    return [*task.compared(parts), *([NATS] if any(NATS in run.metrics for run in runs) else [])]


def _structure(runs: list[Run]) -> list[str]:
    """For each method whose loss-net gives probabilities, whether structure pays."""
    from lossnet.reports.tables import NATS
    from lossnet.structure import in_words

    lines = []
    for method in dict.fromkeys(run.method for run in runs):
        found: list[Any] = [run.metrics for run in runs if run.method == method]
        names = [NATS, *(f"{NATS}, {part}" for part in NATS_PARTS)]
        values = [[metrics[name] for metrics in found if name in metrics] for name in names]
        if values[0]:
            lines.append(f"{method}: {in_words(*(fmean(value) for value in values if value))}")
    return lines


def _report(task: Task, runs: list[Run], parts: Parts[Any], args: argparse.Namespace) -> str:
    from lossnet.recipes import listing, parameters
    from lossnet.reports import table

    part = runs[0].configuration["measured_on"]
    how = ["mean ± sample deviation over n seeds, in percent", task.measured_how]
    measured = f"Measured on the {part} part: {', '.join(filter(None, how))}; seconds of training."
    shown = table(runs, columns=None, metrics=_columns(task, runs, parts))
    said = "".join(f"{line}\n\n" for line in _structure(runs))
    settings, own = [], {"method", "method_params", *_differing(runs)}
    for method, configuration in {run.method: run.configuration for run in runs}.items():
        recipe = configuration["method"]  # what "auto" stands for
        found = parameters(recipe, configuration["method_params"])
        texts = [f"{key}={value}" for key, value, _ in listing(recipe, found)]
        texts += [f"{key}={configuration[key]}" for key in _differing(runs)]
        settings.append(f"- {method}: {', '.join(texts)}")
    shared = [f"{k}={v}" for k, v in runs[0].configuration.items() if k not in own]
    settings.append(f"- all: {', '.join(shared)}")
    marks = "".join(f" A file is marked {mark!r}." for mark in parts.marks)
    sizes = f"{task.sizes(parts, args)}.{marks}"
    head = f"# {parts.name}\n\n{sizes}\n{measured}\n\n{shown}\n\n{said}"
    return head + "\n".join(["Settings:", "", *settings, "", f"Made by `{args.command}`.", ""])


def _differing(runs: list[Run]) -> list[str]:
    """Parameters of the estimator that a preset sets differently for the methods."""
    configurations = [run.configuration for run in runs]
    keys = [key for key in configurations[0] if key not in ("method", "method_params")]
    return [key for key in keys if any(c[key] != configurations[0][key] for c in configurations)]
