"""Sentences for a trained tagger: CoNLL files with or without tags, and plain text."""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lossnet.cli.tasks.base import Rows
from lossnet.cli.tasks.sequence.layout import Layout, has_parts, read, read_parts
from lossnet.cli.tasks.sequence.parts import unseen_tags
from lossnet.errors import DataError, SettingError

if TYPE_CHECKING:
    from lossnet.data import SequenceData, SequenceSplits

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Known:
    """What a tagger knows of the data it was trained on.

    Args:
        tags: the names of its tags.
        columns: the columns it reads beside the words.
        layout: the columns of the files it was trained on.
        train_checksum: of the training part; None where the model was saved without.
    """

    tags: list[str]
    columns: list[str]
    layout: Layout
    train_checksum: str | None = None


@dataclass(frozen=True)
class Sentences:
    """Sentences to tag.

    Args:
        data: those that are not empty, with all columns of the file.
        places: the row of each of them, counted from 0.
        count: how many rows there are, empty ones too.
        layout: the file's columns; None for plain text.
    """

    data: SequenceData
    places: list[int]
    count: int
    layout: Layout | None = None


def load_labelled(args: argparse.Namespace, known: Known) -> Rows:
    """The sentences to evaluate a tagger on.

    Without ``--split``: the test part of a folder, or of a file that the tagger's own training
    part was cut from; else all sentences.
    """
    if args.tag_column == "none":
        raise SettingError("--tag-column none: evaluation needs tags; give a number")
    layout = known.layout.changed(args)
    split = args.split or _own_split(args.data, layout, known)
    if split == "all":
        data = read(args.data, layout)
    else:
        data = _part(read_parts(args.data, layout), split, args.data)
    data = for_model(data, known, args.data)
    notes = [*data.notes, *unseen_tags(data, set(known.tags))]
    if args.strict and _is_iob1(data):
        notes.append(
            "the tags are IOB1, and --strict counts spans that follow IOB2 alone: add --scheme IOB2"
        )
    return Rows(data, len(data), split, notes)


def load_unlabelled(
    source: str,
    known: Known,
    *,
    options: argparse.Namespace | None = None,
    split: str = "all",
    kind: str | None = None,
) -> Rows:
    """The sentences to tag, whether or not the source holds tags.

    Args:
        source: a CoNLL file or folder; a .txt file, or ``-`` for standard input, with text.
        known: what the model knows.
        options: which columns are which, in place of the model's layout.
        split: which part of the source, or ``"all"``.
        kind: ``"conll"`` or ``"text"``, where the name does not tell.
    """
    if _is_text(source, kind, known):
        if split != "all":
            raise SettingError(f"--split {split}: text has no parts; leave it out")
        found = read_text(source)
        for_model(found.data, known, source)
        return Rows(found, found.count, "all", [])
    if options is None or not _columns_told(options):
        layout = _as_found(source, known.layout)
    else:
        layout = known.layout.changed(options)
    if split == "all":
        data = read(source, layout)
    else:
        data = _part(read_parts(source, layout), split, source)
    for_model(data, known, source)
    sentences = Sentences(data, list(range(len(data))), len(data), layout)
    return Rows(sentences, len(data), split, list(data.notes))


def for_model(data: SequenceData, known: Known, source: str) -> SequenceData:
    """The data with the columns that the model reads; an error where it lacks one."""
    missing = [name for name in known.columns if name not in data.columns]
    if missing:
        raise DataError(
            f"{source} lacks the column {missing[0]!r} that the model was trained with; give "
            f"CoNLL with the columns {', '.join(['token', *known.columns])}, or train a model "
            "without it (--columns none)"
        )
    return replace(data, columns={name: data.columns[name] for name in known.columns})


def read_text(source: str) -> Sentences:
    """One sentence a line, tokens between spaces or tabs; empty lines keep their place."""
    from lossnet.data import SequenceData
    from lossnet.data.utf8 import decoded, utf8_text

    if source == STANDARD_INPUT:
        name, text = "standard input", decoded(sys.stdin.buffer.read(), "standard input")
    else:
        name, text = Path(source).name, utf8_text(source)
    # Not str.split(): a no-break space may be a token or stand inside one.
    lines = [re.findall("[^ \t]+", line) for line in text.removesuffix("\n").split("\n")]
    places = [k for k, tokens in enumerate(lines) if tokens]
    return Sentences(SequenceData([lines[k] for k in places], name=name), places, len(lines))


def _own_split(source: str, layout: Layout, known: Known) -> str:
    from lossnet.data.sequence_folders import split_sentences

    if has_parts(source):
        return "test"
    if known.train_checksum is None:
        return "all"
    whole = layout.kept(read(source, layout))
    own = len(whole) >= 3 and split_sentences(whole).train.checksum() == known.train_checksum
    return "test" if own else "all"


def _part(splits: SequenceSplits, split: str, source: str) -> SequenceData:
    data: SequenceData | None = getattr(splits, split)
    if data is None:
        have = ", ".join(part for part, _ in splits.parts())
        raise SettingError(
            f"{source} has no {split} part; it has {have} (--split all: all sentences)"
        )
    return data


def _is_iob1(data: SequenceData) -> bool:
    from lossnet.data import detect_scheme
    from lossnet.data.tags import has_spans

    return has_spans(data.tag_names) and detect_scheme(data.tags or []) == "IOB1"


def _columns_told(args: argparse.Namespace) -> bool:
    return any(value is not None for value in (args.token_column, args.tag_column, args.columns))


def _is_text(source: str, kind: str | None, known: Known) -> bool:
    """Whether a source is plain text: standard input, or a .txt file unless told otherwise."""
    from lossnet.data.text import extension

    if source == STANDARD_INPUT:
        if kind == "conll":
            raise SettingError("--format conll: standard input is text, a sentence a line")
        return True
    if kind is None and extension(source) == ".txt" and not has_parts(source):
        _check_no_conll(source, known)
        return True
    return kind == "text"


def _check_no_conll(source: str, known: Known) -> None:
    """Raise where every line has the columns of the training data, with a tag among them."""
    from lossnet.data.utf8 import utf8_text

    lines = [line.split() for line in utf8_text(source).split("\n") if line.strip()]
    place, width = known.layout.tag_column, known.layout.width
    if place is None or not all(len(cells) == width for cells in lines):
        return
    if all(cells[place] in known.tags for cells in lines):
        raise SettingError(
            f"every line of {source} is a token with a tag, as in a CoNLL file; add --format "
            "conll, or --format text where each line is a sentence"
        )


def _as_found(source: str, layout: Layout) -> Layout:
    """The layout with its tags or without, whichever the files have as many columns as."""
    from lossnet.data import load_sequences
    from lossnet.data.conll import ConllFormat

    # Without naming columns, to count them.
    found = load_sequences(source, conll=ConllFormat(tag_column=None))
    if found.tags is not None:
        # References: they have no columns.
        return Layout(scheme=layout.scheme)
    width = 1 + len(found.columns)
    if width == layout.width:
        return layout
    bare = layout.without_tags()
    if width == bare.width:
        return bare
    names = ", ".join(["token", *(layout.columns or ())])
    raise DataError(
        f"{source} has {width} columns, and the model's data had {layout.width} ({names}, tag), "
        f"or {bare.width} without tags; say which is which with --token-column, --tag-column (or "
        "none) and --columns"
    )
