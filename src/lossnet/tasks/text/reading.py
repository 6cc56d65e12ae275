"""Texts from a file, a folder or standard input."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lossnet.data.text import decoded, extension, stem, utf8_text
from lossnet.errors import DataError
from lossnet.files import check_form, read_json
from lossnet.plain_text import counted, some
from lossnet.tasks.multilabel.folders import folder_files, part_of_file
from lossnet.tasks.multilabel.loading import read_folder
from lossnet.tasks.parts import Parts, as_parts, joined
from lossnet.tasks.text.records import (
    KINDS,
    Records,
    TextFormat,
    Wanted,
    is_record,
    read_records,
    records_of_lines,
)
from lossnet.tasks.text.texts import TextData

STANDARD_INPUT = "-"
#: Files that name the labels whose numbers a file next to them holds.
NAMES = ("labels.txt", "labels.json")


def load_texts(source: str | Path, *, form: TextFormat | None = None) -> TextData:
    """Read all rows of a data set.

    Args:
        source: a file (.jsonl, .json, .csv, .tsv, each also with .gz), or a folder that holds one
            data set, in one file or a file for each part.
        form: which columns hold texts and labels, where their names do not say.
    """
    return joined(read_parts(source, form or TextFormat(), undivided=True))


def load_text_splits(
    source: str | Path,
    *,
    form: TextFormat | None = None,
    seed: int = 0,
) -> Parts[TextData]:
    """Read a data set's training, validation and test parts.

    A folder: as its files' names say (``a_training.jsonl``, ``dev.tsv``). A single file is divided
    at random, 60/20/20. Every part has the training part's labels first, in their order; labels
    that training never saw follow.

    Args:
        source: as in :func:`load_texts`.
        form: as in :func:`load_texts`.
        seed: of the division at random.
    """
    return as_parts(read_parts(source, form or TextFormat()), str(source), seed=seed)


def read_parts(
    source: str | Path,
    form: TextFormat,
    *,
    known: Mapping[str, Any] | None = None,
    labelled: bool = True,
    undivided: bool = False,
) -> dict[str, TextData]:
    """The parts of a data set by name; ``""`` is the file that holds all rows.

    Args:
        source: as in :func:`load_texts`; without ``labelled`` also a ``.txt`` file or ``-``,
            standard input: a text on each line.
        form: which columns hold texts and labels.
        known: of the training data, ``labels``: the names in their order.
        labelled: whether labels are needed; where not, texts of ``known`` labels come without.
        undivided: of a folder with both a file of all rows and part files, read the former.
    """

    def read(paths: Sequence[Path], name: str | None = None) -> list[TextData]:
        return [_read(path, form, name or stem(path), wanted(path)) for path in paths]

    def wanted(path: Path) -> Wanted:
        # The test part of a folder often holds what is to be predicted.
        named = known is None and form.label_column is not None
        needed = (labelled or named) and part_of_file(path) != "test"
        return "needed" if needed else "none" if known and not labelled else "optional"

    path = Path(source).expanduser()
    if not labelled and (str(source) == STANDARD_INPUT or extension(path) == ".txt"):
        found = {"": _lines(str(source), form)}
    elif path.is_dir():
        found = read_folder(path, folder_files(path, KINDS, NAMES), read, undivided, beside=NAMES)
    else:
        found = {"": read([path])[0]}
    if known is None and "train" not in found:
        return found
    names = known["labels"] if known else found["train"].label_names
    return {part: data.in_columns(names) for part, data in found.items()}


def _read(path: Path, form: TextFormat, name: str, wanted: Wanted) -> TextData:
    names = label_names(path.parent)
    records = read_records(path, form, wanted, names)
    if records.labels is None:
        missing = f"{path.name} has no column of labels (--label-column names one)"
        return TextData(records.texts, name=name, notes=[missing] if wanted == "optional" else [])
    lists = _named(records, names)
    if not any(lists):
        raise DataError(f"{path}: no text has a label")
    return TextData(records.texts, lists, name=name)  # type: ignore[arg-type]  # made a matrix


def label_names(folder: Path) -> list[str]:
    """The names of labels by their numbers, of a file in the folder; none without one."""
    path = next((folder / name for name in NAMES if (folder / name).is_file()), None)
    if path is None:
        return []
    if path.suffix == ".txt":
        return [line.strip() for line in utf8_text(path).split("\n") if line.strip()]
    found = read_json(path)
    if isinstance(found, dict) and all(type(number) is int for number in found.values()):
        found = sorted(found, key=found.get)  # type: ignore[arg-type]  # {name: number}
    elif isinstance(found, dict):
        found = list(found.values())  # {number: name}
    check_form(found, [str], str(path))
    return list(found)


def _named(records: Records, names: list[str]) -> list[list[str]]:
    """The labels of each row; numbers become the names that a file next to it lists."""
    lists = records.label_lists
    if not names or not all(label.isdecimal() for row in lists for label in row):
        return lists
    for row, line in zip(lists, records.lines, strict=True):
        if wrong := [label for label in row if int(label[:9]) >= len(names)]:
            count = f"there are names for {len(names)}, counted from 0"
            raise DataError(f"{records.path}, {line}: label {wrong[0]:.20}, but {count}")
    return [[names[int(label)] for label in row] for row in lists]


def _lines(source: str, form: TextFormat) -> TextData:
    """A text on each line, or JSON lines where the first is an object with a text."""
    given = source == STANDARD_INPUT
    name = "standard input" if given else Path(source).name
    text = decoded(sys.stdin.buffer.read(), name) if given else utf8_text(source)
    lines = text.removesuffix("\n").split("\n")
    if lines[0].startswith("{") and is_record(lines[0], form):
        return TextData(records_of_lines(Path(name), lines, form, "none").texts, name=name)
    return TextData(lines, name=name)


def unseen_labels(data: TextData, known: Sequence[str]) -> list[str]:
    """A note where data has labels that training never saw."""
    seen = set(known)
    new = [k for k, name in enumerate(data.label_names) if name not in seen]
    new = [k for k in new if data.on[:, k].any()]
    if not new:
        return []
    names = f"label{'' if len(new) == 1 else 's'} {some([data.label_names[k] for k in new])}"
    rows = f"{int(data.on[:, new].any(1).sum()):,} of {counted(len(data), 'text')}"
    return [f"training never saw the {names} ({rows}): such a label counts as missed"]
