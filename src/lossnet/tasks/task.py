"""What a task must provide for the commands to train, measure, describe and predict."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from lossnet.errors import SettingError

if TYPE_CHECKING:
    from lossnet.tasks.estimator import LossnetEstimator

D = TypeVar("D")

#: The metrics of one part, in groups: at the model's threshold and at 0.5, or by type of span.
Measured = dict[str, dict[str, float]]


class Parts(Protocol):
    """The parts of a data set."""

    @property
    def train(self) -> Any:
        """What to train on."""

    @property
    def validation(self) -> Any:
        """What to validate on, or None."""

    @property
    def test(self) -> Any:
        """What to test on, or None."""

    @property
    def name(self) -> str:
        """The data set's name."""

    def parts(self) -> Iterator[tuple[str, Any]]:
        """The parts there are, each with its name."""


@dataclass(frozen=True)
class Rows:
    """Data for a trained model.

    Args:
        data: what the task's ``measure`` or ``predict`` takes.
        count: how many rows.
        split: which part they are, or ``"all"``.
        notes: what a user should know of them.
    """

    data: Any
    count: int
    split: str
    notes: list[str]


class Judged(NamedTuple):
    """A trained model and the data it is evaluated on."""

    model: Any
    rows: Rows


def part_of(parts: Iterable[tuple[str, D]], split: str, source: str, unit: str) -> D:
    """One part of the data; an error that tells those there are."""
    found = dict(parts)
    if split not in found:
        have = ", ".join(found)
        raise SettingError(f"{source} has no {split} part; it has {have} (--split all: all {unit})")
    return found[split]


def trained_on(
    unit: str, split: str, *, same: bool, given: bool, part: bool, divided: bool
) -> list[str]:
    """A note where a model is evaluated on what it was trained on.

    Args:
        unit: what an example is called, in the plural.
        split: which part of the data is evaluated.
        same: whether what is evaluated has the checksum of the training part.
        given: whether training was given this data.
        part: whether the training part of the data has that checksum.
        divided: whether the data has no parts of its own.
    """
    # Given to training, and what is its training part now was not: then all of it may have been.
    unclear = given and divided and not part
    if same or (given and split == "train"):
        which = "these"
    elif unclear or ((given or part) and split == "all"):
        which = "some of these"
    else:
        return []
    return [f"the model was trained on {which} {unit}: the metrics say little about new ones"]


def same_source(one: str | None, other: str) -> bool:
    """Whether two names of data are of the same file, folder or built-in data set."""
    if one is None or one == other:
        return one == other
    return Path(one).expanduser().resolve() == Path(other).expanduser().resolve()


def in_order(args: argparse.Namespace, key: Any, read: Callable[[], D]) -> D:
    """What ``read`` gives; several models of one command share what is read under a key."""
    cache: dict[Any, Any] = args.__dict__.setdefault("already_read", {})
    if key not in cache:
        cache[key] = read()
    found: D = cache[key]
    return found


def emit(lines: Iterable[str], out: str | None) -> None:
    """Write text to a file, whole or not at all, or where ``out`` is None to the terminal."""
    from lossnet.files import write_text

    if out is None:
        sys.stdout.writelines(lines)
    else:
        write_text(out, "".join(lines))


class Task(Protocol):
    """One kind of data and its estimator, as the commands see them.

    A module of a task is imported for every ``--help``: it imports what is heavy where it is used.
    """

    #: What ``--task`` calls it.
    name: str
    #: What one example is called, in the plural.
    unit: str
    #: The name of its estimator's class, as a model folder has it.
    estimator_name: str
    #: The estimator's default method, for ``--help``.
    default_method: str
    #: Endings of files that predictions go to. If the first is ``.jsonl`` they may also go to the
    #: terminal; if it is empty, to a folder.
    outputs: tuple[str, ...]
    #: Parameters of the estimator that a config file or ``--set`` cannot hold.
    not_in_files: frozenset[str]

    def add_options(self, group: Any, command: str) -> None:
        """Add the options of a command that this task alone has; not given, they are None/False."""

    def parameters(self, args: argparse.Namespace) -> dict[str, Any]:
        """The estimator's parameters that the task's own options say."""

    def recognises(self, source: str) -> bool:
        """Whether DATA is of this task, as far as names tell."""

    def estimator(self) -> type[LossnetEstimator]:
        """The estimator's class."""

    def load_parts(self, args: argparse.Namespace) -> Parts:
        """The parts to train, validate and test on; ``args`` as ``train`` or ``compare`` has it."""

    def load_spare(self, args: argparse.Namespace, splits: Parts) -> Rows:
        """What ``--unlabelled`` names, in the columns of the training part."""

    def count(self, data: Any) -> int:
        """How many examples a part has."""

    def sizes(self, splits: Parts) -> str:
        """Counts of a data set, for one line."""

    def notes(self, splits: Parts, args: argparse.Namespace) -> list[str]:
        """What a user should know of the data before training."""

    def fit(self, model: Any, splits: Parts, **options: Any) -> None:
        """Train on the training part, with the validation part where there is one."""

    def measure(self, model: Any, data: Any, args: argparse.Namespace | None = None) -> Measured:
        """Every metric on a part or on ``Rows.data``; ``args`` as ``evaluate`` has it."""

    def flat(self, measured: Measured) -> dict[str, float]:
        """The metrics in one mapping, for the results store."""

    def table(self, report: Mapping[str, Measured]) -> str:
        """The metrics of several parts, or of one called ``""``, for a terminal."""

    def compared(self, splits: Parts) -> Sequence[str]:
        """The columns of a comparison, of the names that :meth:`flat` gives."""

    def measured_how(self) -> str:
        """How the columns of a comparison were measured, in words; may be empty."""

    def model_facts(self, model: Any, args: argparse.Namespace | None = None) -> dict[str, Any]:
        """What stands beside the metrics in JSON."""

    def model_text(self, model: Any, args: argparse.Namespace | None = None) -> str:
        """The same in words; may be empty."""

    def data_facts(self, splits: Parts, args: argparse.Namespace) -> dict[str, Any]:
        """What a model folder must know of its data beside counts and checksum."""

    def known(self, model: Any, facts: Mapping[str, Any] | None) -> Any:
        """What a model knows of its data: from a model folder's ``data.json``, or None of it."""

    def load_labelled(self, args: argparse.Namespace, known: Any) -> Rows:
        """The data to evaluate on; ``args`` as ``evaluate`` has it."""

    def load_unlabelled(self, args: argparse.Namespace, known: Any) -> Rows:
        """The data to predict, whether or not it is labelled; ``args`` as ``predict`` has it."""

    def check_evaluation(self, models: Mapping[str, Any], args: argparse.Namespace) -> None:
        """Raise before anything is measured where ``evaluate``'s options do not suit the models."""

    def draw(self, judged: Mapping[str, Judged], args: argparse.Namespace) -> list[str]:
        """Draw what ``evaluate``'s options ask for, of several models; one line each to print."""

    def predict(self, model: Any, known: Any, rows: Rows, args: argparse.Namespace) -> None:
        """Write the predictions to ``args.out``, whole or not at all, or to the terminal.

        The ending of ``args.out`` is one of ``outputs``, or it is None: see :func:`emit`. A folder
        to write to is new or empty: see :func:`lossnet.files.write_folder`.
        """

    def describe(self, args: argparse.Namespace) -> str:
        """What ``describe`` prints."""
