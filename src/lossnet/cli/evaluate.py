"""Every metric of a trained model: of labels at its own threshold and at 0.5, of tags by type.

Labels, features and columns are matched by name. Without --split: the test part of DATA that has
parts, or that the model was trained on; else all of it.
"""

from __future__ import annotations

import argparse
import json
import sys

from lossnet.cli.parser import add_data
from lossnet.cli.tasks import add_task_options, check_options


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("model", metavar="MODEL", help="a folder that lossnet train wrote")
    add_data(parser)
    parser.add_argument(
        "--split", choices=("train", "validation", "test", "all"), help="which part of DATA"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_task_options(parser, "evaluate")


def run(args: argparse.Namespace) -> int:
    """Load model and data, print the metrics."""
    from lossnet.cli.folder import load_model

    task, model, known = load_model(args.model)
    check_options(args, task, args.model)
    rows = task.load_labelled(args, known)
    for note in rows.notes:
        print(f"lossnet: note: {note}", file=sys.stderr)
    measured = task.measure(model, rows.data, args)
    if args.json:
        about = {"data": args.data, "split": rows.split, task.unit: rows.count}
        facts = task.model_facts(model, args)
        print(json.dumps({**about, **facts, "metrics": measured}, indent=2))
        return 0
    which = "all" if rows.split == "all" else f"the {rows.split} part's"
    texts = [f"{args.data}: {which} {rows.count:,} {task.unit}", task.model_text(model, args)]
    print("; ".join(filter(None, texts)))
    print(task.table({"": measured}))
    return 0
