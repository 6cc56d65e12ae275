"""Describe a data set: its size, its parts, its labels, and which of them go together."""

from __future__ import annotations

import argparse

from lossnet.cli.parser import add_data, add_task_options, task_of_data
from lossnet.tasks.options import non_negative


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_data(parser)
    what = "number of labels to list (default: 5)"
    parser.add_argument("--top", type=non_negative, default=5, metavar="N", help=what)
    add_task_options(parser, "describe", choose=True)


def run(args: argparse.Namespace) -> int:
    """Print the description."""
    from lossnet.tasks.parts import joined, own_parts

    task = task_of_data(args)
    read = task.read(args.data, args, labelled=False)
    print(task.describe(joined(read), own_parts(read), args))
    return 0
