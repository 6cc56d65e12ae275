"""The data of a command, read through its task: to train, to evaluate and to predict alike."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lossnet.errors import DataError
from lossnet.tasks.parts import Parts, as_parts, divide, joined, own_parts, part_of
from lossnet.tasks.task import Known, Task


@dataclass(frozen=True)
class Rows:
    """Data for a trained model.

    Args:
        data: the data.
        split: which part it is, or ``"all"``.
        notes: what a user should know of it.
    """

    data: Any
    split: str
    notes: list[str]


def training_parts(
    task: Task, args: argparse.Namespace, read: dict[str, Any] | None = None
) -> Parts[Any]:
    """The parts to train, validate and test on.

    Data without parts of its own is divided 60/20/20, always the same way; where validation or
    test data is given, all of it is for training. ``read`` is DATA if that is read already.
    """
    options = {part: getattr(args, part, None) for part in ("validation", "test")}
    given = {part: other for part, other in options.items() if other is not None}
    read = task.read(args.data, args) if read is None else read
    if given and not own_parts(read):
        read = {"train": read[""]}
    parts = dict(as_parts(read, args.data).items())
    known = task.facts(parts["train"], args)
    for part, other in given.items():
        parts[part] = joined(task.read(other, args, known=known))
    if "test" in parts and not parts["test"].labelled:
        # The test part of a folder often holds what is to be predicted.
        what = f"the test part of {args.data} has no {task.estimator.labels_noun} and is skipped"
        parts["train"].notes.append(f"{what}; see lossnet predict")
        del parts["test"]
    for part, data in parts.items():
        check_labelled(data, f"the {part} part of {args.data}", task)
    return Parts(**parts)


def check_labelled(data: Any, what: str, task: Task) -> None:
    """Raise unless the truth is known."""
    if not data.labelled:
        noun = task.estimator.labels_noun
        raise DataError(f"{what} has no {noun}, which training and evaluation need")


def unlabelled_rows(task: Task, args: argparse.Namespace, train: Any) -> Any:
    """What ``--unlabelled`` names, in the columns of the training part."""
    known = task.facts(train, args)
    return joined(task.read(args.unlabelled, args, known=known, labelled=False)).without_labels()


def rows_to_evaluate(task: Task, args: argparse.Namespace, known: Known) -> Rows:
    """The data to evaluate a model on.

    Without ``--split``: the test part of a source that has parts, or that the model's own training
    part was cut from; else all rows.
    """
    read = task.read(args.data, args, known=known)
    trained = _is_training_part(read, known.get("train_checksum"))
    has_test = "test" in read if own_parts(read) else trained
    split = args.split or ("test" if has_test else "all")
    data = part_of(read, split, args.data)
    check_labelled(data, args.data, task)
    rows = Rows(data, split, [*data.notes, *task.evaluation_notes(data, args, known)])
    rows.notes.extend(_trained_on(task, read, rows, args.data, known, part=trained))
    return rows


def rows_to_predict(task: Task, args: argparse.Namespace, known: Known) -> Rows:
    """The data to predict, whether or not it is labelled."""
    read = task.read(args.data, args, known=known, labelled=False)
    data = part_of(read, args.split, args.data)
    return Rows(data, args.split, list(data.notes))


def _is_training_part(read: dict[str, Any], checksum: str | None) -> bool:
    """Whether the training part of the data that was read has this checksum."""
    parts = own_parts(read)
    if checksum is None or (not parts and len(read[""]) < 3):
        return False
    train = parts.get("train") if parts else divide(read[""]).train
    return train is not None and train.checksum() == checksum


def _trained_on(
    task: Task, read: Any, rows: Rows, source: str, known: Known, *, part: bool
) -> list[str]:
    """A note where a model is evaluated on what it was trained on.

    ``part`` says whether it was trained on the training part of the data that was read.
    """
    given = _same_source(known.get("source"), source)
    if rows.data.checksum() == known.get("train_checksum") or (given and rows.split == "train"):
        which = "these"
    # Given to training, and what is its training part now was not: then all of it may have been.
    elif (given and not own_parts(read) and not part) or ((given or part) and rows.split == "all"):
        which = "some of these"
    else:
        return []
    return [f"the model was trained on {which} {task.unit}: the metrics say little about new ones"]


def _same_source(one: str | None, other: str) -> bool:
    """Whether two names are of the same file, folder or built-in data set."""
    if one is None or one == other:
        return one == other
    return Path(one).expanduser().resolve() == Path(other).expanduser().resolve()
