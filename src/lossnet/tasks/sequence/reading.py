"""The sentences of a command: to train, to evaluate and to tag, from CoNLL, XML or text."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from lossnet.errors import DataError, SettingError
from lossnet.plain_text import some
from lossnet.tasks.parts import joined
from lossnet.tasks.sequence.conll import ConllFormat
from lossnet.tasks.sequence.folders import SequenceFiles, part_files
from lossnet.tasks.sequence.layout import (
    chosen_layout,
    listed_columns,
    matching_layout,
    trained_layout,
)
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.text import read_text, text_of
from lossnet.tasks.task import Known, once


def read_sentences(
    source: str, args: argparse.Namespace, known: Known | None, *, labelled: bool
) -> dict[str, SequenceData]:
    """See :meth:`lossnet.tasks.task.Task.read`."""
    if known is None:
        files = SequenceFiles(source)
        return files.read(chosen_layout(files.layout, args), scheme=args.scheme)
    trained = trained_layout(known["layout"])
    # Predictions are written next to all columns of their source.
    predicting = "format" in args
    text = None
    if not labelled:
        text = text_of(source, args.format if predicting else None, trained, known["tags"])
    if text is not None:
        if predicting and args.split != "all":
            raise SettingError(f"--split {args.split}: text has no parts; leave it out")
        return _for_model({"": read_text(text, source)}, known, source)
    files = once(args, source, lambda: SequenceFiles(source))
    layout = _layout(files, trained, args, own=source == args.data)
    if labelled and layout.tag_column is None:
        raise DataError(
            f"{source} has {layout.width} columns, one fewer than the training data "
            f"({listed_columns(trained)}): it seems to have no tags, which evaluation needs; say "
            "which column is which with --token-column, --tag-column and --columns"
        )
    scheme = args.scheme or known["layout"]["scheme"] if labelled else None
    read = files.read(layout, scheme=scheme, every=predicting)
    found = _for_model(read, known, source, every=predicting)
    for data in () if labelled else found.values():
        data.notes.extend(_strange_values(joined(read), known))
    return found


def _layout(
    files: SequenceFiles, trained: ConllFormat, args: argparse.Namespace, *, own: bool
) -> ConllFormat:
    """The columns of DATA as the options name them, else as the files have them."""
    options = (args.token_column, args.tag_column, args.columns)
    if own and any(option is not None for option in options):
        return chosen_layout(trained, args)
    return matching_layout(files, trained)


def _for_model(
    read: dict[str, SequenceData], known: Known, source: str, *, every: bool = False
) -> dict[str, SequenceData]:
    """The data with the columns that the model reads, or with ``every``; none may be missing."""
    names = known["columns"]
    for data in read.values():
        if missing := [name for name in names if name not in data.columns]:
            raise DataError(
                f"{source} lacks the column {missing[0]!r} that the model was trained with; give "
                f"CoNLL with the columns {', '.join(['token', *names])}, or train a model without "
                "it (--columns none)"
            )
    return read if every else {part: with_columns(data, names) for part, data in read.items()}


def with_columns(data: SequenceData, names: Iterable[str]) -> SequenceData:
    """The data with these columns alone."""
    return replace(data, columns={name: data.columns[name] for name in names})


def _strange_values(data: SequenceData, known: Known) -> list[str]:
    """A note where most of a column is new, as where another column was taken for it."""
    notes = []
    for name, values in known["columns"].items():
        seen = set(values)
        new = sum(value not in seen for row in data.columns[name] for value in row)
        if 2 * new > data.n_tokens:
            notes.append(
                f"training never saw {new:,} of {data.n_tokens:,} values in the column {name!r}; "
                "is it another column? say which with --columns"
            )
    return notes


def unseen_tags(data: SequenceData, known: Iterable[str]) -> list[str]:
    """A note where data has tags that training never saw."""
    seen = set(known)
    counts = Counter(tag for tags in data.tags or [] for tag in tags if tag not in seen)
    if not counts:
        return []
    return [
        f"training never saw the tag{'' if len(counts) == 1 else 's'} {some(sorted(counts))} "
        f"({sum(counts.values()):,} of {data.n_tokens:,} tokens): such a token counts as wrong"
    ]


def other_parts(source: str) -> list[str]:
    """A note where a training file that was divided has its other parts next to it."""
    path = Path(source).expanduser().resolve()
    try:
        files = part_files(path.parent)
    except DataError:
        return []
    if files["train"].name != path.name or len(files) == 1:
        return []
    others = " and ".join(file.name for part, file in files.items() if part != "train")
    return [
        f"{path.name} alone was divided 60/20/20; {path.parent} also has {others}: name the "
        "folder to use them"
    ]
