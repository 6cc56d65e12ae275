"""Sentences to tag, and plain text that holds one a line."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lossnet.errors import SettingError
from lossnet.tasks.sequence.layout import Layout, has_parts

if TYPE_CHECKING:
    from lossnet.tasks.sequence.sentences import SequenceData

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Known:
    """What a tagger knows of the data it was trained on.

    Args:
        tags: the names of its tags.
        columns: the columns it reads beside the words, and the values each had in training.
        layout: the columns of the files it was trained on.
        train_checksum: of the training part; None where the model was saved without.
        train_sentences: the same without the numbers of documents.
        source: the data that training was given.
    """

    tags: list[str]
    columns: Mapping[str, Collection[str]]
    layout: Layout
    train_checksum: str | None = None
    train_sentences: str | None = None
    source: str | None = None


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


def is_text(source: str, kind: str | None, known: Known) -> bool:
    """Whether a source is plain text: standard input, or a .txt file unless told otherwise."""
    from lossnet.data.text import extension
    from lossnet.data.utf8 import utf8_text
    from lossnet.tasks.sequence.folders import is_xml

    if source == STANDARD_INPUT:
        if kind == "conll":
            raise SettingError("--format conll: standard input is text, a sentence a line")
        return True
    if kind is None and extension(source) == ".txt" and not has_parts(source):
        text = utf8_text(source)
        _check_no_conll(text, source, known)
        return not is_xml(text)
    return kind == "text"


def read_text(source: str) -> Sentences:
    """One sentence a line, tokens between spaces or tabs; empty lines keep their place."""
    from lossnet.data.utf8 import decoded, utf8_text
    from lossnet.tasks.sequence.sentences import SequenceData

    if source == STANDARD_INPUT:
        name, text = "standard input", decoded(sys.stdin.buffer.read(), "standard input")
    else:
        name, text = Path(source).name, utf8_text(source)
    # Not str.split(): a no-break space may be a token or stand inside one.
    lines = [re.findall("[^ \t]+", line) for line in text.removesuffix("\n").split("\n")]
    places = [k for k, tokens in enumerate(lines) if tokens]
    return Sentences(SequenceData([lines[k] for k in places], name=name), places, len(lines))


def _check_no_conll(text: str, source: str, known: Known) -> None:
    """Raise where every line has the columns of the training data, with a tag among them."""
    lines = [line.split() for line in text.split("\n") if line.strip()]
    place, width = known.layout.tag_column, known.layout.width
    if place is None or not all(len(cells) == width for cells in lines):
        return
    if all(cells[place] in known.tags for cells in lines):
        raise SettingError(
            f"every line of {source} is a token with a tag, as in a CoNLL file; add --format "
            "conll, or --format text where each line is a sentence"
        )
