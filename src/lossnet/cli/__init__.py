"""The program ``lossnet``: one module per command, loaded when the command is called.

A command's module imports only what its ``--help`` needs; the rest it imports when it runs, so
that help answers at once.
"""

from __future__ import annotations

import importlib
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lossnet import __version__
from lossnet.cli.parser import Parser
from lossnet.cli.terminal import abandon_stdout, note, safe_streams, to_stderr
from lossnet.errors import LossnetError, SettingError, unknown
from lossnet.launch import process_count, process_rank

COMMANDS: dict[str, str] = {
    "methods": "list the methods, or show one with its equations and parameters",
    "describe": "describe a data set",
    "train": "train a model on a data set and save it to a folder",
    "evaluate": "measure trained models on a data set",
    "predict": "write the predictions of a trained model",
    "export": "write a trained model as a folder that runs without lossnet",
    "plan": "print what train would do with a data set, how long it would take, and why",
    "search": "search better settings of a method on validation data",
    "compare": "train several methods over several seeds and tabulate them",
    "reproduce": "run a table or figure of the papers again, next to the paper's numbers",
    "demo": "show in minutes what a learned loss does",
}

HELP = """usage: lossnet COMMAND [OPTIONS]

Structured prediction with a learned loss: an energy network is trained as the loss
of a feed-forward network, which then predicts alone.

commands:
{commands}

lossnet COMMAND --help shows the options of a command, lossnet --version the version.
LOSSNET_DEBUG=1 in the environment shows where an error was raised."""

INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program; return its exit code: 0, 2 for an error, 130 when interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with safe_streams(), warnings.catch_warnings():
            warnings.showwarning = partial(_note, warnings.showwarning)
            return _reported(arguments)
    finally:
        abandon_stdout()


def _reported(arguments: list[str]) -> int:
    """Run the program; an error is one line."""
    try:
        return _run(arguments)
    except BrokenPipeError:
        return 0  # the reader of our output has closed it
    except (LossnetError, OSError) as error:
        if os.environ.get("LOSSNET_DEBUG") == "1":
            raise
        if process_rank() == 0:
            to_stderr(f"lossnet: error: {error}")
        elif not getattr(error, "raised_everywhere", False):
            to_stderr(f"lossnet: error in process {process_rank()}: {error}")
        return 2
    except KeyboardInterrupt as interrupt:
        if process_rank() == 0:
            to_stderr(f"lossnet: {str(interrupt) or 'interrupted'}")
        return INTERRUPTED


def _note(show: Callable[..., None], message: object, category: type, *where: Any) -> None:
    """Show a warning for users as a note, any other as Python does."""
    if issubclass(category, UserWarning):
        note(message)
    else:
        show(message, category, *where)


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_help())
        return 0
    name, *rest = arguments
    if name in ("-V", "--version"):
        print(f"lossnet {__version__}")
        return 0
    if name not in COMMANDS:
        raise unknown("option" if name.startswith("-") else "command", name, COMMANDS)
    command = importlib.import_module(f"lossnet.cli.{name}")
    parser = Parser(prog=f"lossnet {name}", description=command.__doc__)
    command.add_arguments(parser)
    if any(text in ("-h", "--help") for text in rest):
        print(parser.format_help(), end="")
        return 0
    if process_count() > 1 and name != "train":
        refused = SettingError(
            f"lossnet {name} runs in one process, and torchrun started {process_count()}; only "
            "train runs in several: start this one without torchrun"
        )
        refused.raised_everywhere = True
        raise refused
    parsed = parser.parse(rest)
    parsed.command_line, parsed.command = arguments, shlex.join(["lossnet", *arguments])
    code: int = command.run(parsed)
    sys.stdout.flush()
    return code


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {what}" for name, what in COMMANDS.items()]
    return HELP.format(commands="\n".join(lines))
