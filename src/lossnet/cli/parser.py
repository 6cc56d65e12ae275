"""Argument parsing with the errors of this package."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from lossnet.errors import SettingError, unknown

# For tasks that still import them from here.
from lossnet.tasks.options import count_or_names as labels  # noqa: F401
from lossnet.tasks.options import names, probability  # noqa: F401


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises :class:`SettingError` and suggests what was meant."""

    def __init__(self, *, prog: str, description: str | None) -> None:
        super().__init__(
            prog=prog,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

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
    parser.add_argument(
        "data",
        metavar="DATA",
        help="a file, a folder or a built-in name; each task below says which",
    )


def add_settings(parser: argparse.ArgumentParser, method_key: str) -> None:
    """``--config`` and ``--set``."""
    parser.add_argument("--config", metavar="FILE", help="a .yaml or .json file with settings")
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="KEY=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="settings such as max_epochs=30 or hidden=[200,200]; of the method, "
        f"{method_key}.samples=40; they override the config file",
    )
