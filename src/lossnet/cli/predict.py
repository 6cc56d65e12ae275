"""What a trained model predicts, one row, sentence or picture after another.

DATA need not hold labels, tags or masks. Rows are numbered from 0 in the order of DATA. A model of
sentences reads CoNLL files and, from a .txt file or standard input (-), text: one sentence a line,
its tokens between spaces. A model of images also takes a single picture.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from lossnet.cli.parser import add_data
from lossnet.cli.task_options import add_task_options, check_options
from lossnet.cli.terminal import tell
from lossnet.errors import SettingError
from lossnet.tasks.task import Task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("model", metavar="MODEL", help="a folder that lossnet train wrote")
    add_data(parser)
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="a .jsonl file; for labels also .csv, for tags .conll (default: JSON lines to the "
        "terminal); for masks a new folder of PNG files, or an .npz file",
    )
    parser.add_argument(
        "--proba",
        action="store_true",
        help="probabilities too: of all labels, of the tags chosen, of every pixel (.npz)",
    )
    parser.add_argument(
        "--split",
        choices=("train", "validation", "test", "all"),
        default="all",
        help="which part of DATA (default: all)",
    )
    parser.add_argument(
        "--refine",
        choices=("net", "samples", "random"),
        help="polish with the loss-net, started from the task-net's output, from samples of it, "
        "or at random",
    )
    add_task_options(parser, "predict")


def run(args: argparse.Namespace) -> int:
    """Load model and data, write the predictions whole or not at all."""
    from lossnet.cli.folder import load_model
    from lossnet.cli.reading import rows_to_predict

    task, model, known = load_model(args.model)
    check_options(args, task, args.model)
    _check_out(task, args.out, args.data)
    if args.refine is not None:
        model.set_params(refine=args.refine)
        model._proposal()
    rows = rows_to_predict(task, args, known)
    for note in rows.notes:
        tell(f"lossnet: note: {note}")
    task.write(model, rows.data, args)
    if args.out is not None:
        print(f"{task.count(rows.data):,} predictions in {args.out}")
    return 0


def _check_out(task: Task, out: str | None, data: str) -> None:
    """Raise where predictions cannot go to ``out``."""
    places = " or ".join(f"a {kind or 'folder'}" for kind in task.outputs) + " file"
    if out is None:
        if task.outputs[0] != ".jsonl":
            raise SettingError(f"--out is missing: predictions go to {places}")
        return
    path = Path(out)
    if path.exists() and Path(data).exists() and path.samefile(data):
        raise SettingError(f"--out {out} is DATA itself; give another file")
    is_folder = path.is_dir() or out.endswith(os.sep)
    kind = "" if is_folder else path.suffix.lower()
    if kind not in task.outputs:
        raise SettingError(f"{out}: predictions go to {places}")
    if kind == "" and path.is_dir() and any(path.iterdir()):
        raise SettingError(f"{out} holds files already; give a new folder or an empty one")
