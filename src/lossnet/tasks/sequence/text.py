"""Plain text that holds one sentence per line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from lossnet.data.text import extension
from lossnet.data.utf8 import decoded, utf8_text
from lossnet.errors import SettingError
from lossnet.tasks.sequence.conll import ConllFormat
from lossnet.tasks.sequence.folders import is_xml
from lossnet.tasks.sequence.sentences import SequenceData

STANDARD_INPUT = "-"


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
    text = utf8_text(source)
    _check_not_conll(text, source, layout, tags)
    return None if is_xml(text) else text


def read_text(text: str, source: str) -> SequenceData:
    """One sentence per line, tokens between spaces or tabs; empty lines keep their place."""
    # Not str.split(): a no-break space may be a token or stand inside one.
    lines = [re.findall("[^ \t]+", line) for line in text.removesuffix("\n").split("\n")]
    return SequenceData(
        [tokens for tokens in lines if tokens],
        name="standard input" if source == STANDARD_INPUT else Path(source).name,
        blank=tuple(k for k, tokens in enumerate(lines) if not tokens),
    )


def _check_not_conll(text: str, source: str, layout: ConllFormat, tags: list[str]) -> None:
    """Raise where every line has the columns of the training data, with a tag among them."""
    lines = [line.split() for line in text.split("\n") if line.strip()]
    place = layout.tag_column
    if place is None or not all(len(cells) == layout.width for cells in lines):
        return
    if all(cells[place] in tags for cells in lines):
        raise SettingError(
            f"every line of {source} is a token with a tag, as in a CoNLL file; add --format "
            "conll, or --format text where each line is a sentence"
        )
