"""Argument parsing with the errors of this package."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from lossnet.errors import SettingError, unknown


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
        help="a file (.arff, .csv, .tsv, .npz, .svm, .txt; of sentences .conll, .bio, .iob, .xml; "
        "also .gz; of images .npz), a folder, or a built-in name (digits-attributes, "
        "digits-completion, ising; with parameters: ising:coupling=2)",
    )


def add_settings(parser: argparse.ArgumentParser, method_key: str) -> None:
    """``--config`` and ``--set``."""
    parser.add_argument("--config", metavar="FILE", help="settings in a .yaml or .json file")
    parser.add_argument(
        "--set",
        dest="settings",
        metavar="KEY=VALUE",
        nargs="+",
        action="extend",
        default=[],
        help="a setting: max_epochs=30, hidden=[200,200], or of the method: "
        f"{method_key}.samples=40; goes before what the config file says",
    )


def labels(text: str) -> int | list[str]:
    """What ``--labels`` says: a number of columns, or names."""
    try:
        return int(text)
    except ValueError:
        return names(text)


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def whole_number(text: str) -> int:
    """A number from 0 up."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 up")
    return int(text)


def probability(text: str) -> float:
    """A number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return value
