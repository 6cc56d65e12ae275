"""The sentences of a command: to train, to evaluate and to tag, from CoNLL, XML or text."""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lossnet.data.text import decoded, extension, utf8_text
from lossnet.errors import DataError, SettingError
from lossnet.plain_text import some
from lossnet.tasks.parts import joined
from lossnet.tasks.sequence.conll import ConllFormat
from lossnet.tasks.sequence.folders import SequenceFiles, is_xml, part_files
from lossnet.tasks.sequence.sentences import SequenceData
from lossnet.tasks.sequence.trees import TreeData, is_bracketed
from lossnet.tasks.task import Known, once

STANDARD_INPUT = "-"


def read_sentences(
    source: str, args: argparse.Namespace, known: Known | None, *, labelled: bool
) -> dict[str, SequenceData]:
    """See :meth:`lossnet.tasks.task.Task.read`."""
    if known is None:
        files = SequenceFiles(source)
        return files.read(_chosen(files.layout, args), scheme=args.scheme)
    facts = known["layout"]
    trained = ConllFormat(facts["token_column"], facts["tag_column"], tuple(facts["columns"]))
    # Predictions are written next to all columns of their source.
    predicting = "format" in args
    kind = args.format if predicting else None
    text = None if labelled else text_of(source, kind, trained, known["tags"])
    if text is not None:
        if predicting and args.split != "all":
            raise SettingError(f"--split {args.split}: text has no parts; leave it out")
        return _for_model({"": _sentences(text, source)}, known, source)
    files = once(args, source, lambda: SequenceFiles(source))
    options = (args.token_column, args.tag_column, args.columns)
    if source == args.data and any(option is not None for option in options):
        layout = _chosen(trained, args)
    else:
        layout = _matching(files, trained, labelled=labelled)
    scheme = args.scheme or facts["scheme"] if labelled else None
    read = files.read(layout, scheme=scheme, every=predicting)
    found = _for_model(read, known, source, every=predicting)
    for data in () if labelled else found.values():
        data.notes.extend(_strange_values(joined(read), known))
    return found


# Columns -------------------------------------------------------------------------------------


def layout_facts(layout: ConllFormat | None, scheme: str | None) -> dict[str, Any]:
    """What a model folder stores; without a layout that of words and tags."""
    layout = layout or ConllFormat()
    places = {"token_column": layout.token_column, "tag_column": layout.tag_column}
    return {**places, "columns": list(layout.columns or ()), "scheme": scheme}


def _chosen(layout: ConllFormat, args: argparse.Namespace) -> ConllFormat:
    """The layout, or what the options say in its place."""
    names = ("token_column", "tag_column", "columns")
    new = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    if new.get("tag_column") == "none":
        new["tag_column"] = None
    if new.get("columns") == ["none"]:
        new["columns"] = ()
    return replace(layout, **new)


def _matching(files: SequenceFiles, trained: ConllFormat, *, labelled: bool) -> ConllFormat:
    """The layout with its tags or without, whichever has the number of columns of the files."""
    bare = trained.without_tags()
    for found in (trained,) if labelled else (trained, bare):
        if files.width in (None, found.width):
            return found
    columns = ", ".join(["token", *(trained.columns or ()), "tag"])
    tags = "evaluation needs tags" if labelled else f"or {bare.width} without tags"
    raise DataError(
        f"{files.path} has {files.width} columns, and the training data had {trained.width} "
        f"({columns}), {tags}; say which is which with --token-column, --tag-column "
        f"{'' if labelled else '(or none) '}and --columns"
    )


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


# Text ----------------------------------------------------------------------------------------


def text_of(source: str, kind: str | None, layout: ConllFormat, tags: list[str]) -> str | None:
    """The text of a source that is plain text, None for one that is not.

    Standard input is, and a ``.txt`` file, unless ``kind`` (``"conll"`` or ``"text"``) says
    otherwise. A file that may be CoNLL with a training file's layout and tags is an error.
    """
    if source == STANDARD_INPUT:
        if kind == "conll":
            raise SettingError("--format conll: standard input is text, one sentence per line")
        return decoded(sys.stdin.buffer.read(), "standard input")
    if kind == "text":
        return utf8_text(source)
    if kind == "conll" or extension(source) != ".txt" or Path(source).expanduser().is_dir():
        return None
    text, place = utf8_text(source), layout.tag_column
    lines = [line.split() for line in text.split("\n") if line.strip()]
    if place is not None and all(
        len(cells) == layout.width and cells[place] in tags for cells in lines
    ):
        raise SettingError(
            f"every line of {source} is a token with a tag, as in a CoNLL file; add --format "
            "conll, or --format text where each line is a sentence"
        )
    return None if is_xml(text) or is_bracketed(text, source) else text


def _sentences(text: str, source: str) -> SequenceData:
    """One sentence per line, tokens between spaces or tabs; empty lines keep their place."""
    # Not str.split(): a no-break space may be a token or stand inside one.
    lines = [re.findall("[^ \t]+", line) for line in text.removesuffix("\n").split("\n")]
    name = "standard input" if source == STANDARD_INPUT else Path(source).name
    blank = tuple(k for k, tokens in enumerate(lines) if not tokens)
    return SequenceData([tokens for tokens in lines if tokens], name=name, blank=blank)


# Notes ---------------------------------------------------------------------------------------


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
    tokens = f"{counts.total():,} of {data.n_tokens:,} tokens"
    tags = f"tag{'' if len(counts) == 1 else 's'} {some(sorted(counts))} ({tokens})"
    effect = "such a token counts as wrong"
    if isinstance(data, TreeData):
        effect = "their brackets are counted all the same"
    return [f"training never saw the {tags}: {effect}"] if counts else []


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
    also = f"{path.parent} also has {others}: name the folder to use them"
    return [f"{path.name} alone was divided 60/20/20; {also}"]
