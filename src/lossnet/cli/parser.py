"""Arguments that commands share, and the task that they imply."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from lossnet.errors import SettingError, unknown
from lossnet.tasks.options import non_negative, web_page
from lossnet.tasks.registry import names, task_named, tasks
from lossnet.tasks.task import Task

PARTS = ("train", "validation", "test")


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises :class:`SettingError` and suggests what was meant."""

    def __init__(self, *, prog: str, description: str | None) -> None:
        # An option may belong to several tasks.
        options: Any = {"allow_abbrev": False, "conflict_handler": "resolve"}
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(prog=prog, description=description, formatter_class=formatter, **options)

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The arguments, parsed; anything unknown or missing is an error."""
        options = [o for action in self._actions for o in action.option_strings]
        for text in arguments:
            option = text.partition("=")[0]
            if option.startswith("--") and len(option) > 2 and option not in options:
                raise unknown(f"option of {self.prog}", option, options)
        return self.parse_args(arguments)

    def error(self, message: str) -> NoReturn:
        raise SettingError(f"{message}; see {self.prog} --help")


def add_data(parser: argparse.ArgumentParser) -> None:
    """The positional DATA."""
    what = "a file, a folder or a built-in name: see below"
    parser.add_argument("data", metavar="DATA", help=what)


def add_model_and_data(parser: argparse.ArgumentParser) -> None:
    """The positional MODEL and DATA."""
    parser.add_argument("model", metavar="MODEL", help="a folder that lossnet train wrote")
    add_data(parser)


def add_settings(parser: argparse.ArgumentParser, method_key: str) -> None:
    """``--config``, ``--set`` and ``--preset``."""
    what = "paper, or paper:ROW such as paper:cal500: settings of the paper's experiments where no "
    what += "other is given; see lossnet methods NAME"
    parser.add_argument("--preset", metavar="NAME", help=what)
    parser.add_argument("--config", metavar="FILE", help="a .yaml or .json file with settings")
    examples = f"max_epochs=30 or hidden=[200,200]; of the method, {method_key}.samples=40"
    what = f"settings such as {examples}; they override the config file"
    many: Any = {"nargs": "+", "action": "extend", "default": []}
    parser.add_argument("--set", dest="settings", metavar="KEY=VALUE", help=what, **many)


def add_training(parser: argparse.ArgumentParser) -> None:
    """Everything that decides what is trained, apart from DATA: method, settings, other data."""
    defaults = ", ".join(f"{task.default_method} for {task.name} data" for task in tasks())
    what = f"see lossnet methods (default: {defaults})"
    parser.add_argument("--method", metavar="NAME", help=what)
    add_settings(parser, "method")
    add_decode(parser, "auto")
    parser.add_argument("--validation", metavar="DATA", help="data to validate on")
    parser.add_argument("--test", metavar="DATA", help="data to test on")
    what = "unlabelled data, on which the task-net follows the loss-net"
    parser.add_argument("--unlabelled", metavar="DATA", help=what)
    parser.add_argument("--seed", type=non_negative, metavar="N", help="random seed (default: 0)")


def add_decode(parser: argparse.ArgumentParser, default: str) -> None:
    """``--decode``."""
    what = "how outputs become predictions: argmax (threshold for labels), expected, samples, mode"
    what = f"{what}, known or auto, as far as metric and method allow (default: {default})"
    parser.add_argument("--decode", metavar="RULE", help=what)


def add_report(parser: argparse.ArgumentParser) -> None:
    """``--report``."""
    what = "also write a page with tables and pictures to this .html file"
    parser.add_argument("--report", metavar="FILE", type=web_page, help=what)


def check_report(args: argparse.Namespace) -> None:
    """Raise before any work where the page that ``--report`` asks for cannot be written."""
    if args.report is None:
        return
    for option in ("threshold", "strict"):  # pages show models as they predict
        value = vars(args).get(option)
        if value is not None and value is not False:
            raise SettingError(f"--report and --{option} exclude each other")
    from lossnet.comparison.rendering import check_can_render

    check_can_render()


def decide_by(model: Any, args: argparse.Namespace) -> None:
    """Have a trained model decide by the rule that ``--decode`` names, if it does."""
    if args.decode is None:
        return
    if vars(args).get("threshold") is not None and args.decode != "threshold":
        raise SettingError(f"--decode {args.decode} and --threshold exclude each other")
    if args.decode != "auto" and vars(args).get("refine") is not None:
        raise SettingError(f"--decode {args.decode} and --refine exclude each other")
    model.set_params(decode=args.decode)
    model._check_kept(model._decision())


def add_task_options(
    parser: argparse.ArgumentParser, command: str, *, choose: bool = False
) -> None:
    """The options of a command that belong to one task, and with ``choose`` also ``--task``."""
    if choose:
        what = "the task, where DATA does not imply it"
        parser.add_argument("--task", choices=sorted(names()), help=what)
    owners: dict[str, list[str]] = {}
    for task in tasks():
        group = parser.add_argument_group(f"{task.name} data", textwrap.fill(task.formats, 78))
        task.add_options(group, command)
        for action in group._group_actions:
            owners.setdefault(action.dest, []).append(task.name)
    parser.set_defaults(owners=owners)


def task_of_data(args: argparse.Namespace) -> Task:
    """The task that ``--task`` names or DATA implies; options of another are an error."""
    if args.task is not None:
        task = task_named(args.task)
    else:
        found = [task for task in tasks() if task.recognises(args.data)]
        if not found:
            shown = "the names of its files" if Path(args.data).is_dir() else "its name"
            options = " or ".join(f"--task {name}" for name in sorted(names()))
            raise SettingError(
                f"cannot determine the task of {args.data} from {shown}; add {options}"
            )
        task = found[0]
    check_options(args, task, args.data)
    return task


def check_options(args: argparse.Namespace, task: Task, what: str) -> None:
    """Raise on options that belong to another task than that of ``what``."""
    for name, owners in args.owners.items():
        value = getattr(args, name)
        if task.name not in owners and value is not None and value is not False:
            option = f"--{name.replace('_', '-')} is an option for the task {' or '.join(owners)}"
            raise SettingError(f"{option}, and the task of {what} is {task.name}; leave it out")
