"""Write what a trained model predicts.

DATA need not be labelled. Rows are numbered from 0 in the order of DATA.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path

from lossnet.cli.parser import (
    PARTS,
    add_decode,
    add_model_and_data,
    add_task_options,
    check_options,
    decide_by,
)
from lossnet.cli.terminal import note
from lossnet.errors import SettingError
from lossnet.tasks.registry import tasks
from lossnet.tasks.task import Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_model_and_data(parser)
    what = f"where predictions go: {_each(_places)} (default: JSON lines to the terminal)"
    parser.add_argument("--out", metavar="FILE", help=what)
    what = f"also write probabilities: {_each(lambda task: task.probabilities)}"
    parser.add_argument("--proba", action="store_true", help=what)
    what = "the part of DATA to use (default: all)"
    parser.add_argument("--split", choices=(*PARTS, "all"), default="all", help=what)
    what = "refine with the loss-net from the task-net's output, from samples of it, or at random"
    parser.add_argument("--refine", choices=("net", "samples", "random"), help=what)
    add_decode(parser, "the model's own")
    add_task_options(parser, "predict")


def run(args: argparse.Namespace) -> int:
    """Load model and data, write the predictions atomically."""
    from lossnet.cli.folder import load_model
    from lossnet.cli.reading import rows_to_predict

    task, model, known = load_model(args.model)
    check_options(args, task, args.model)
    _check_out(task, args.out, args.data)
    decide_by(model, args)
    if args.refine is not None:
        model.set_params(refine=args.refine)
        model._proposal()
    rows = rows_to_predict(task, args, known)
    for text in rows.notes:
        note(text)
    task.write(model, rows.data, args)
    if args.out is not None:
        print(f"{task.count(rows.data):,} predictions in {args.out}")
    return 0


def _each(what: Callable[[Task], str]) -> str:
    """A text of every task that has one."""
    said = [(task.name, what(task)) for task in tasks()]
    return "; ".join(f"{text} for {name} data" for name, text in said if text)


def _places(task: Task) -> str:
    return " or ".join(f"a {kind} file" if kind else "a new folder" for kind in task.outputs)


def _check_out(task: Task, out: str | None, data: str) -> None:
    """Raise where predictions cannot go to ``out``."""
    places = _places(task)
    if out is None:
        if task.outputs[0] != ".jsonl":
            raise SettingError(f"--out is missing: predictions go to {places}")
        return
    path = Path(out)
    if path.exists() and Path(data).exists() and path.samefile(data):
        raise SettingError(f"--out {out} is DATA itself; choose another file")
    is_folder = path.is_dir() or out.endswith(os.sep)
    kind = "" if is_folder else path.suffix.lower()
    if kind not in task.outputs:
        raise SettingError(f"{out}: predictions go to {places}")
    if kind == "" and path.is_dir() and any(path.iterdir()):
        raise SettingError(f"{out} already holds files; choose a new or an empty folder")
