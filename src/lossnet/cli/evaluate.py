"""Measure trained models on a data set.

Labels and columns are matched by name. Without --split: the test part of DATA that has parts, or
that the model was trained on; otherwise all of it.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lossnet.cli.parser import (
    PARTS,
    add_decode,
    add_model_and_data,
    add_report,
    add_task_options,
    check_options,
    check_report,
    decide_by,
)
from lossnet.cli.terminal import note, to_stderr
from lossnet.errors import SettingError
from lossnet.tasks.task import Judged, Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_model_and_data(parser)
    parser.add_argument("--split", choices=(*PARTS, "all"), help="the part of DATA to use")
    what = "further models of the same task, one column each"
    parser.add_argument("--compare-with", metavar="MODEL", nargs="+", default=[], help=what)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_report(parser)
    add_decode(parser, "the model's own")
    add_task_options(parser, "evaluate")


def run(args: argparse.Namespace) -> int:
    """Load models and data, print the metrics, draw what is asked for."""
    from lossnet.tasks.structure import gain_or_none

    check_report(args)
    task, judged, notes = _load(args)
    measured = {name: task.measure(one.model, one.data, args) for name, one in judged.items()}
    gains = {name: gain_or_none(one.model, one.data) for name, one in judged.items()}
    found = {name: gain for name, gain in gains.items() if gain is not None}
    first, *others = judged
    model, data = judged[first]
    count, split = len(data), args.split
    if args.json:
        about = {"data": args.data, "split": split, task.unit: count}
        facts = task.model_facts(model, args)
        compared = {"compared_with": {name: measured[name] for name in others}} if others else {}
        structure = {name: {**asdict(gain), "words": gain.words} for name, gain in found.items()}
        about |= {**facts, "metrics": measured[first], **compared}
        print(json.dumps({**about, "structure": structure}, indent=2))
    else:
        which = "all" if split == "all" else f"the {split} part's"
        texts = [f"{args.data}: {which} {count:,} {task.unit}"]
        texts += [] if others else [task.model_text(model, args)]
        print("; ".join(filter(None, texts)))
        print(task.table(measured if others else {"": measured[first]}))
        for name, gain in found.items():
            print(f"{name}: {gain}" if others else gain)
    lines = list(task.draw(judged, args))
    if args.report is not None:
        from lossnet.comparison.model_page import write_model_page

        about = {"split": split, "command": args.command, "notes": notes}
        lines.append(f"report: {write_model_page(task, judged, args.report, **about)}")
    for line in lines:
        (to_stderr if args.json else print)(line)
    return 0


def _load(args: argparse.Namespace) -> tuple[Task, dict[str, Judged], list[str]]:
    """The task, by their names MODEL and those compared with it with their data, and the notes."""
    from lossnet.cli.folder import load_model
    from lossnet.cli.reading import rows_to_evaluate

    folders = [args.model, *args.compare_with]
    loaded = dict(zip(_names(folders), map(load_model, folders), strict=True))
    task = next(iter(loaded.values()))[0]
    for folder, (other, _, _) in zip(folders, loaded.values(), strict=True):
        if other.name != task.name:
            tasks = f"is of the task {other.name}, and {args.model} of the task {task.name}"
            raise SettingError(f"--compare-with {folder} {tasks}; evaluate them separately")
    check_options(args, task, args.model)
    for _, model, _ in loaded.values():
        decide_by(model, args)
    task.check_evaluation({name: model for name, (_, model, _) in loaded.items()}, args)
    judged: dict[str, Judged] = {}
    notes: dict[str, Any] = {}
    for name, (_, model, known) in loaded.items():
        rows = rows_to_evaluate(task, args, known)
        # The part that MODEL is evaluated on, whatever the others were trained on.
        args.split = rows.split
        judged[name] = Judged(model, rows.data)
        notes |= dict.fromkeys(rows.notes)
    for text in notes:
        note(text)
    return task, judged, list(notes)


def _names(folders: list[str]) -> list[str]:
    """Names for the models: their folders' names, or their full paths where names repeat."""
    if len(set(folders)) < len(folders):
        raise SettingError("--compare-with names a model twice")
    short = [Path(folder).resolve().name for folder in folders]
    return short if len(set(short)) == len(short) else folders
