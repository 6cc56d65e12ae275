"""Sentences for a trained tagger: files with or without tags, in its columns."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from lossnet.errors import DataError, SettingError
from lossnet.tasks.sequence.layout import Layout, open_files, read, read_parts
from lossnet.tasks.sequence.parts import unseen_tags
from lossnet.tasks.sequence.text import Known, Sentences, is_text, read_text
from lossnet.tasks.task import Rows, once, part_of, same_source, trained_on

if TYPE_CHECKING:
    from lossnet.tasks.sequence.folders import SequenceFiles
    from lossnet.tasks.sequence.sentences import SequenceData


def load_labelled(args: argparse.Namespace, known: Known) -> Rows:
    """The sentences to evaluate a tagger on.

    Without ``--split``: the test part of a folder, or of a file that the tagger's own training
    part was cut from; else all sentences.
    """
    files = once(args, "files", lambda: open_files(args.data))
    layout = _layout(files, known, args)
    if layout.tag_column is None:
        raise DataError(
            f"{args.data} has {layout.width} columns, one fewer than the model's data "
            f"({_listed(known.layout)}): it seems to have no tags, which evaluation needs; say "
            "which column is which with --token-column, --tag-column and --columns"
        )
    split = args.split or _own_split(files, layout, known)
    if split == "all":
        data = read(files, layout)
    else:
        data = part_of(read_parts(files, layout).parts(), split, args.data, "sentences")
    data = for_model(data, known, args.data)
    notes = [*data.notes, *unseen_tags(data, set(known.tags))]
    notes += trained_on(
        "sentences",
        split,
        same=replace(data, documents=None).checksum() == known.train_sentences,
        given=same_source(known.source, args.data),
        part=_is_own(files, layout, known),
        divided=not files.path.is_dir(),
    )
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
    if is_text(source, kind, known):
        if split != "all":
            raise SettingError(f"--split {split}: text has no parts; leave it out")
        found = read_text(source)
        for_model(found.data, known, source)
        return Rows(found, found.count, "all", [])
    files = open_files(source)
    layout = replace(_layout(files, known, options), scheme=None)
    if split == "all":
        data = read(files, layout)
    else:
        data = part_of(read_parts(files, layout).parts(), split, source, "sentences")
    for_model(data, known, source)
    sentences = Sentences(data, list(range(len(data))), len(data), layout)
    return Rows(sentences, len(data), split, [*data.notes, *_strange_values(data, known)])


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


def _layout(files: SequenceFiles, known: Known, options: argparse.Namespace | None) -> Layout:
    """The columns as the options tell them, else as the source has them."""
    layout = known.layout if options is None else known.layout.changed(options)
    if options is not None and any(
        value is not None for value in (options.token_column, options.tag_column, options.columns)
    ):
        return layout
    return _as_found(files, layout)


def _strange_values(data: SequenceData, known: Known) -> list[str]:
    """A note where most of a column is new, as where another column was taken for it."""
    notes = []
    for name, values in known.columns.items():
        new = sum(value not in values for row in data.columns[name] for value in row)
        if 2 * new > data.n_tokens:
            notes.append(
                f"training never saw {new:,} of {data.n_tokens:,} values in the column {name!r}; "
                "is it another column? say which with --columns"
            )
    return notes


def _listed(layout: Layout) -> str:
    return ", ".join(["token", *(layout.columns or ()), "tag"])


def _own_split(files: SequenceFiles, layout: Layout, known: Known) -> str:
    return "test" if files.path.is_dir() or _is_own(files, layout, known) else "all"


def _is_own(files: SequenceFiles, layout: Layout, known: Known) -> bool:
    """Whether the model was trained on the training part of these files."""
    if known.train_checksum is None or len(read(files, layout)) < 3:
        return False
    train = layout.kept(read_parts(files, layout).train)
    return train.checksum() == known.train_checksum


def _is_iob1(data: SequenceData) -> bool:
    from lossnet.tasks.sequence.tags import detect_scheme, has_spans

    return has_spans(data.tag_names) and detect_scheme(data.tags or []) == "IOB1"


def _as_found(files: SequenceFiles, layout: Layout) -> Layout:
    """The layout with its tags or without, whichever the files have as many columns as."""
    # Without naming columns, to count them; the last are tokens, as CoNLL-U's first are not.
    found = read(files, Layout(token_column=-1, tag_column=None))
    if found.tags is not None:
        # References: they have no columns.
        return Layout(scheme=layout.scheme)
    width = 1 + len(found.columns)
    if width == layout.width:
        return layout
    bare = layout.without_tags()
    if width == bare.width:
        return bare
    raise DataError(
        f"{files.path} has {width} columns, and the model's data had {layout.width} "
        f"({_listed(layout)}), or {bare.width} without tags; say which is which with "
        "--token-column, --tag-column (or none) and --columns"
    )
