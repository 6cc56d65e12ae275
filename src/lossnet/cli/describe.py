"""Describe a data set: its size, its parts, its labels, and which of them go together."""

from __future__ import annotations

import argparse

from lossnet.cli.parser import add_data, add_report, add_task_options, check_report, task_of_data
from lossnet.tasks.options import non_negative


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_data(parser)
    what = "number of labels to list (default: 5)"
    parser.add_argument("--top", type=non_negative, default=5, metavar="N", help=what)
    add_report(parser)
    add_task_options(parser, "describe", choose=True)


def run(args: argparse.Namespace) -> int:
    """Print the description, and write its page where asked for."""
    from lossnet.tasks.parts import joined, own_parts

    task = task_of_data(args)
    check_report(args)
    read = task.read(args.data, args, labelled=False)
    found = task.describe(joined(read), own_parts(read), args)
    print(found)
    if args.report is not None:
        from lossnet.comparison.data_page import write_data_page

        print(f"\nreport: {write_data_page(found, args.report, command=args.command)}")
    return 0
