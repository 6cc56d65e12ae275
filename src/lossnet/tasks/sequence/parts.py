"""Sentences to train on: their parts, and how they go to the tagger."""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from lossnet.errors import DataError
from lossnet.plain_text import some
from lossnet.tasks.sequence.folders import SequenceSplits
from lossnet.tasks.sequence.layout import Layout, default_layout, has_parts, read, read_parts
from lossnet.tasks.sequence.sentences import SequenceData


@dataclass(frozen=True)
class TaggedParts(SequenceSplits):
    """The parts, and which columns their files have."""

    layout: Layout = field(default_factory=Layout)


def load_parts(args: argparse.Namespace) -> TaggedParts:
    """The parts to train, validate and test on."""
    layout = default_layout(args.data).changed(args)
    given = {part: getattr(args, part, None) for part in ("validation", "test")}
    if has_parts(args.data) or not any(given.values()):
        parts = dict(read_parts(args.data, layout).parts())
    else:
        parts = {"train": read(args.data, layout)}
    train = parts["train"]
    layout = layout.resolved(list(train.columns))
    for part, other in given.items():
        if other is not None:
            parts[part] = read(other, layout)
    for data in parts.values():
        _check_columns(data, train)
    kept = {part: layout.kept(data) for part, data in parts.items()}
    return TaggedParts(**kept, layout=layout)


def _check_columns(data: SequenceData, train: SequenceData) -> None:
    if data.tags is None:
        raise DataError(f"{data.name} has no tags; give --tag-column a number")
    if list(data.columns) != list(train.columns):
        raise DataError(
            f"{data.name} has {2 + len(data.columns)} columns and the training data "
            f"{2 + len(train.columns)}; give data with the same columns"
        )


def notes_on(splits: SequenceSplits) -> list[str]:
    """What a user should know before training."""
    notes = list(splits.train.notes)
    known = set(splits.train.tag_names)
    if splits.test is not None:  # in validation data such tags are an error
        notes += [f"test: {note}" for note in unseen_tags(splits.test, known)]
    return notes


def unseen_tags(data: SequenceData, known: set[str]) -> list[str]:
    """A note where data has tags that training never saw."""
    counts = Counter(tag for tags in data.tags or [] for tag in tags if tag not in known)
    if not counts:
        return []
    return [
        f"training never saw the tag{'' if len(counts) == 1 else 's'} {some(sorted(counts))} "
        f"({sum(counts.values()):,} of {data.n_tokens:,} tokens): such a token counts as wrong"
    ]


def other_parts(source: str) -> list[str]:
    """A note where a training file that was divided has its other parts beside it."""
    from lossnet.tasks.sequence.folders import part_files

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
