"""The program ``lossnet``: one module a command, loaded when that command is called.

A command's module imports only what its ``--help`` needs; the rest it imports when it runs, so
that help answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from lossnet import __version__
from lossnet.cli.parser import Parser
from lossnet.cli.terminal import abandon_stdout, safe_streams, tell
from lossnet.errors import LossnetError, unknown

COMMANDS: dict[str, str] = {
    "methods": "every method: what it trains, what it costs, what it predicts with",
    "describe": "what a data set holds: rows and labels, sentences and tags, images and masks",
    "train": "train a model on a data set and save it to a folder",
    "evaluate": "every metric of a trained model on a data set",
    "predict": "the labels, tags or masks that a trained model predicts",
    "compare": "train several methods over several seeds and tabulate them",
    "demo": "see in minutes what a learned loss does, with a table and a picture",
}

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
    """Run the program, an error told in one line."""
    try:
        return _run(arguments)
    except BrokenPipeError:
        return 0  # who read our output has closed it: nobody is left to tell
    except (LossnetError, OSError) as error:
        if os.environ.get("LOSSNET_DEBUG") == "1":
            raise
        tell(f"lossnet: error: {error}")
        return 2
    except KeyboardInterrupt as interrupt:
        tell(f"lossnet: {str(interrupt) or 'interrupted'}")
        return INTERRUPTED


def _note(show: Callable[..., None], message: object, category: type, *where: Any) -> None:
    """Show a warning that is for users as a note, any other as Python does."""
    if issubclass(category, UserWarning):
        tell(f"lossnet: note: {message}")
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
    parsed = parser.parse(rest)
    parsed.command_line = arguments
    code: int = command.run(parsed)
    sys.stdout.flush()
    return code


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name.ljust(width)}  {what}" for name, what in COMMANDS.items()]
    return "\n".join(
        [
            "usage: lossnet COMMAND [OPTIONS]",
            "",
            "Structured prediction with a learned loss: an energy network is trained as the loss",
            "of a feed-forward network, which then predicts alone.",
            "",
            "commands:",
            *lines,
            "",
            "lossnet COMMAND --help tells a command's options; lossnet --version the version.",
            "LOSSNET_DEBUG=1 in the environment shows where an error was raised.",
        ]
    )
